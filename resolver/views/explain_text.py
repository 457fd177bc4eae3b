"""Explanations for people: the plain data of `explain` and `whynot` as lines, pairs and tables. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from resolver.views.page import Page

Item = Mapping[str, Any]
NOTHING = "nothing"
ALWAYS = "always"
"""How the condition of a row without one is said."""


def show_explanation(data: Item, page: Page, verbose: bool = False) -> None:
    """Every item, one after the other."""
    for i, item in enumerate(data["items"]):
        if i:
            page.line()
        SHOW[item["kind"]](item, page, verbose)


def _value(item: Item) -> str:
    return NOTHING if item.get("value") is None else str(item["value"]) or '""'


def _read(items: Iterable[Item]) -> str:
    """Inputs in a row: `MAX_SEQS=2 (argument 1), ctx is long (…)`."""
    out = []
    for item in items:
        shown = "unset" if item.get("state") == "unset" and item["value"] is None else _value(item)
        name = f"{item['name']}={shown}" if item["kind"] == "knob" else f"{item['name']} is {shown}"
        out.append(f"{name} ({item['origin']})")
    return ", ".join(out)


def _launch(item: Item, page: Page, verbose: bool) -> None:
    names = item["names"]
    rows: list[tuple[str, str, str]] = []
    for word in item["tokens"]:
        if rows and word["entry"] == rows[-1][2] and not word["text"].startswith("--"):
            rows[-1] = (f"{rows[-1][0]} {word['text']}", rows[-1][1], word["entry"])
        else:
            rows.append((word["text"], _from(word, names, verbose), word["entry"]))
    _sources_of("command", [(words, why) for words, why, _ in rows], page)
    shown = []
    for v in item["variables"]:
        text = {"unset": f"{v['name']} is removed", "first": f"{v['value']} stands first on {v['name']}"}.get(
            v["action"], f"{v['name']}={'(not shown)' if v['value'] is None else v['value']}"
        )
        shown.append((text, _from(v, names, verbose)))
    _sources_of("environment", shown, page)
    left = [(f"{u['what']} {u['value']}", _from(u, names, verbose)) for u in item["left_out"]]
    _sources_of("left out, since nothing in this engine reads it", left, page)
    if item["knobs"]:
        page.line("knobs in force; given back, they give the same launch", "bold")
        page.pairs([(k, _origin(names, k)) for k in item["knobs"]], indent=2)


def _sources_of(title: str, rows: list[tuple[str, str]], page: Page) -> None:
    if rows:
        page.line(title, "bold")
    for words, why in rows:
        page.line(words, indent=2)
        page.line(why, "dim", indent=6)
    if rows:
        page.line()


def _origin(names: Item, variable: str) -> str:
    for about in names.values():
        if about["kind"] == "knob" and about["name"] == variable:
            return f"{_value(about)}  ({about['origin']})"
    return "does nothing in this launch"


def _from(item: Item, names: Item, verbose: bool) -> str:
    if item.get("user"):
        return "your engine flags"
    if not item["from"]:
        return f"always there ({item['entry']})"
    return "; ".join(_why(names[name], verbose) for name in item["from"] if name in names)


def _why(about: Item, verbose: bool) -> str:
    """One name in a few words: the row that gave it, what it read, what it beat."""
    if about["kind"] == "knob":
        text = f"{about['name']}: {about['origin']}"
    elif about["kind"] == "setting":
        row = about["row"]
        text = f"{about['name']}: {row['position'] if row else about['why']}"
        read = about["inputs"] if verbose else [i for i in about["inputs"] if i["kind"] in ("knob", "fact", "flags")]
        if read:
            text += f" by {_read(read)}"
    else:
        text = f"{about['name']}: {about['origin']}"
    beat = next(iter(about.get("beat", ())), None)
    if beat is not None and (about["kind"] == "setting" or verbose):
        text += f", instead of {beat['value'] or NOTHING} ({beat.get('position') or beat.get('origin')})"
    if about.get("hidden_by"):
        text += f", hidden by {', '.join(about['hidden_by'])}"
    return text


def _setting(item: Item, page: Page, verbose: bool) -> None:
    page.line(f"{item['name']} is {_value(item)}", "bold")
    rows: list[tuple[str, str]] = [("what", item["help"])] if item.get("help") else []
    row = item["row"]
    if row is None:
        rows.append(("why", item["why"]))
    else:
        when = "where no row above it holds" if row["when"] == ALWAYS else f"when {row['when']}"
        rows.append(("row", f"{row['position']}, {when}"))
        rows += [("why", row["reason"])] if row.get("reason") else []
    if item["inputs"]:
        rows.append(("read", _read(item["inputs"])))
    rows += [("instead of", f"{b['value'] or NOTHING} ({b['position']})") for b in item["beat"]]
    rows += [("hidden by", text) for text in item.get("hidden_by", ())]
    for passed in item["passed_over"] if verbose or row is None else ():
        rows.append(("passed over", f"{passed['position']}: {_leaves(passed['because'])}"))
    rows += [("rules", ", ".join(item["origins"]))] if item["origins"] else []
    page.pairs(rows, indent=2)


def _leaves(leaves: Iterable[Item]) -> str:
    return ", ".join(f"{leaf['says']}: {'yes' if leaf['true'] else 'no'}, {_read(leaf['now'])}" for leaf in leaves)


def _knob(item: Item, page: Page, verbose: bool) -> None:
    page.line(f"{item['name']} is {_value(item) if item['state'] != 'unset' or item['value'] else 'unset'}", "bold")
    rows: list[tuple[str, str]] = [("what", item["help"]), ("from", item["origin"])]
    rows += [("problem", item["problem"])] if item.get("problem") else []
    rows += [("instead of", f"{_value(b)} ({b['origin']})") for b in item["beat"]]
    rows += [("hidden by", text) for text in item.get("hidden_by", ())]
    rows += [("here", _read(item["gives"]))] if item.get("gives") else []
    rows += [("allowed", ", ".join(item["allowed"]))] if item["allowed"] else [("type", item["type"])]
    rows += [("default", item["default"])] if item["default"] else []
    rows += [("empty means", item["empty_means"])] if item["empty_means"] else []
    rows += [("read by", ", ".join(item["read_by"]))] if item["read_by"] and verbose else []
    rows += [("rules", ", ".join(item["origins"]))] if item["origins"] else []
    page.pairs([*rows, ("declared", item["position"])], indent=2)


def _fact(item: Item, page: Page, verbose: bool) -> None:
    page.line(f"{item['name']} is {item['value'] or 'unknown'}", "bold")
    rows = [("what", item["help"]), ("from", item["origin"]), ("declared", item["position"])]
    page.pairs(rows + ([("read by", ", ".join(item["read_by"]))] if item["read_by"] else []), indent=2)


def _flag(item: Item, page: Page, verbose: bool) -> None:
    page.line(f"{item['name']}: {' '.join(item['words']) or 'not set by the launcher'}", "bold")
    rows: list[tuple[str, str]] = [("in force", WINS.get(item["wins"], str(item["wins"])))]
    rows += [("yours", ", ".join(v or "(no value)" for v in item["user"]))] if item["user"] else []
    rows.append(("engine's default", str(item["engine_default"])))
    rows += [("choices", ", ".join(map(str, item["choices"])))] if item["choices"] else []
    page.pairs(rows, indent=2)
    _sources(item, page, verbose)


def _variable(item: Item, page: Page, verbose: bool) -> None:
    is_set = item["action"] == "set"
    page.line(f"{item['name']}={item['value']}" if is_set else f"{item['name']}: {item['action']}", "bold")
    _sources(item, page, verbose)


def _sources(item: Item, page: Page, verbose: bool) -> None:
    for source in item["from"]:
        SHOW.get(source["kind"], _plain)(source, page, verbose)


def _plain(item: Item, page: Page, verbose: bool) -> None:
    page.line(
        f"{item['name']}: {item.get('value') or item.get('says')} ({item.get('origin') or item.get('where') or 'dropped'})"
    )


def _condition(name: str, condition: Item | None, rows: list[tuple[str, str]]) -> None:
    if condition is None:
        return
    rows.append((name, condition["says"]))
    for leaf in condition["leaves"]:
        rows.append(("", f"{'yes' if leaf['true'] else 'no '}  {leaf['says']}: {_read(leaf['now'])}"))


def _arm(item: Item, page: Page, verbose: bool) -> None:
    state = "is taken" if item["taken"] else f"is not taken; {item['instead'] or 'no arm'} is"
    page.line(f"arm {item['name']} {state}", "bold")
    rows = [("what", item["help"]), ("where", item["position"])]
    _condition("candidate when", item["when"], rows)
    _condition("chosen by", item["chosen_by"], rows)
    _condition("by default when", item["eligible"], rows)
    rows += [("sets", ", ".join(f"{k}={v.removeprefix('= ')}" for k, v in item["sets"].items()))]
    rows += [("needs", need["reason"]) for need in item["needs"]]
    measured = ", ".join(f"{gpu} ({cap})" for cap, gpu in item["measured"].items())
    rows.append(("measured on", measured or "nobody measured it"))
    _evidence(item, rows, verbose)
    page.pairs(rows, indent=2)


def _rule(item: Item, page: Page, verbose: bool) -> None:
    page.line(f"rule {item['name']} {'speaks' if item['fires'] else 'is silent'} here ({item['severity']})", "bold")
    rows = [("says", item["reason"])]
    rows += [("fix", item["fix"])] if item["fix"] else []
    rows += [("instead", ", or ".join(item["instead"]))] if item["instead"] else []
    _condition("when", item["when"], rows)
    rows += [("unknown here", ", ".join(item["unknown"]))] if item["unknown"] else []
    rows += [("since", f"vLLM {item['since']}")] if item["since"] else []
    rows += [("until before", f"vLLM {item['until']}")] if item["until"] else []
    rows.append(("where", item["position"]))
    rows += [("numbered rule", ", ".join(item["origins"]))] if item["origins"] else []
    _evidence(item, rows, verbose)
    page.pairs(rows, indent=2)


def _evidence(item: Item, rows: list[tuple[str, str]], verbose: bool) -> None:
    shown = item["figures"] if verbose else item["figures"][:4]
    for f in shown:
        where = ", ".join(str(f[k] or "unknown") for k in ("hardware", "engine", "date"))
        rows.append(("evidence", f"{f['metric']} {f['value']} ({where}; {f['quality']}, {f['id']})"))
    if len(item["figures"]) > len(shown):
        rows.append(("", f"and {len(item['figures']) - len(shown)} more with --verbose"))
    for kind, examples in item["examples"].items():
        rows += [(f"{kind.replace('_', ' ')}", e) for e in (examples if verbose else examples[:1])]


def _whynot(item: Item, page: Page, verbose: bool) -> None:
    if item["reached"]:
        page.line(f"{item['name']}: it is so in this launch", "good")
        return
    if item["never"]:
        none = "no launch reaches it" if all(item["exact"]) else "no launch was found that reaches it"
        page.line(f"{item['name']}: {none}, whatever the knobs and the machine", "bold")
    elif item["command"]:
        page.line(f"{item['name']}: nothing you chose and nothing of this machine rules it out", "bold")
        page.line(item["command"], indent=2)
        if item["invented"]:
            page.line(
                f"{', '.join(item['invented'])} in it: a value that is accepted, yours to choose", "dim", indent=2
            )
    else:
        proven = any(item["exact"])
        page.line(f"{item['name']} is ruled out" if proven else f"{item['name']}: no launch was found", "bold")
        for i, (conflict, exact) in enumerate(zip(item["conflicts"], item["exact"], strict=True)):
            head = ("and on its own by" if i else "by") if exact else f"{'and none was found ' if i else ''}with"
            page.line(f"{head} " + ", together with ".join(f"{a['says']} ({a['origin']})" for a in conflict), indent=2)
        page.line(_way_out(item["conflicts"]), "dim", indent=2)
    if item["false"]:
        page.line("conditions of the arm that do not hold", "bold")
        rows = [(leaf["of"].replace("_", " "), f"{leaf['says']}: {_read(leaf['now'])}") for leaf in item["false"]]
        page.pairs(rows, indent=2)


def _way_out(conflicts: list[list[dict[str, Any]]]) -> str:
    """What has to change: a launch is known for each conflict without one of its parts, where the rest may change as well."""
    if len(conflicts) > 1:
        several = any(len(conflict) > 1 for conflict in conflicts)
        return "to have it, change one of each of these lines" if several else "to have it, change all of these"
    return "to have it, change " + ("any one of them" if conflicts and len(conflicts[0]) > 1 else "that")


WINS = {"user": "your engine flags", "launcher": "the launcher's"}
SHOW = {
    "launch": _launch,
    "setting": _setting,
    "knob": _knob,
    "fact": _fact,
    "flag": _flag,
    "variable": _variable,
    "arm": _arm,
    "rule": _rule,
    "code": _plain,
    "why-not": _whynot,
}
