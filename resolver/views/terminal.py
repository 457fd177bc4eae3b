"""A resolution for people, on one screen: what is launched and why, what differs from the profile, what to know, the command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote

from resolver.compile.helpers import show
from resolver.conditions import Condition, Leaf
from resolver.diagnostics import Diagnostic
from resolver.interpret import deciding, holds
from resolver.masking import hide_in_word, mask
from resolver.model import Arm, Flag, JsonFlag
from resolver.request import Request, build
from resolver.resolution import Resolution
from resolver.views.page import Page
from resolver.views.reasons import show_diagnostics
from resolver.views.result import shown_knobs
from resolver.wording import leaf_text

QUIET, NORMAL, VERBOSE = 0, 1, 2


def show_resolution(
    resolution: Resolution,
    page: Page,
    level: int = NORMAL,
    notes: Iterable[Diagnostic] = (),
    command: bool = True,
    base: Resolution | None = None,
) -> None:
    """Show the effective configuration (R30), the diagnostics, and the command.

    `level` QUIET shows refusals, warnings and the command only; VERBOSE adds details and every setting. `command` False leaves the command out.
    `base` is the profile alone on this machine, where it is known already.
    """
    found = (*resolution.diagnostics, *notes)
    if level == QUIET:
        show_diagnostics(page, [d for d in found if d.severity != "note"], level)
        if command and not resolution.refused:
            show_command(resolution, page)
        return
    page.pairs(list(_head(resolution)))
    if level == VERBOSE:
        _passed_over(resolution, page)
        _settings(resolution, page)
    else:
        changes = list(differences(resolution, base))
        if changes:
            page.line()
            page.line("differs from the profile" if resolution.request.profile else "differs from the defaults", "bold")
            page.pairs(changes, indent=2)
    if found:
        page.line()
        show_diagnostics(page, found, level)
    if command and not resolution.refused:
        page.line()
        show_command(resolution, page)


def _head(resolution: Resolution) -> Iterator[tuple[str, str]]:
    """The effective configuration."""
    facts, machine = resolution.facts, resolution.machine
    knows = [
        str(facts[name]) + suffix
        for name, suffix in (("gpu.name", ""), ("gpu.vram_mib", " MiB"))
        if facts.get(name) is not None
    ]
    if facts.get("gpu.capability") is not None:
        knows.append(f"compute capability {facts['gpu.capability']}")
    if facts.get("device") == "cpu":
        knows.append("no GPU")
    count = facts.get("gpu.count")
    if isinstance(count, int) and count > 1:
        knows.append(f"{count} GPUs")
    ctx, spec = resolution.lookup("ctx"), resolution.lookup("spec")
    yield "launch", f"{resolution.request.profile or 'no profile'}: CTX={show(ctx)} SPEC={show(spec)}"
    yield "machine", f"{machine.name} ({', '.join(knows) or 'no GPU is known'})"
    yield "engine", f"vLLM {resolution.engine.name}"
    yield (
        "model",
        f"{show(resolution.setting('served_model'))} on {show(resolution.setting('bind_host'))} port {show(_text(resolution, 'port'))}",
    )
    yield (
        "length",
        f"{show(_text(resolution, 'max_model_len'))} tokens, {show(_text(resolution, 'max_num_seqs'))} requests at once",
    )
    yield "api key", _key(resolution)
    name = resolution.setting("arm")
    if name is not None:
        arm = resolution.rules.arms[name]
        yield "arm", f"{name}: {arm.help}"
        yield "", f"{why_taken(resolution, arm)}; {evidence(resolution, arm)}"


def _text(resolution: Resolution, name: str) -> str:
    value, text = resolution.render_lookup(name)
    return hide_in_word(text or show(value))


def _key(resolution: Resolution) -> str:
    given = resolution.request.knobs.get("vllm_api_key")
    key = f"set ({len(given.text)} characters)" if given and given.text else "unset"
    there = {True: "present", False: "absent", None: "unknown"}[resolution.facts.get("api_key_file")]
    return f"VLLM_API_KEY {key}, api_key.txt {there}"


def why_taken(resolution: Resolution, arm: Arm) -> str:
    """Why the arm is the one: who asked for it, or what made it the default."""
    if arm.chosen_by is not None and holds(resolution, arm.chosen_by):
        return "asked for by " + ", ".join(_asked(resolution, arm.chosen_by))
    if arm.eligible is None:
        return "the only arm here"
    facts = [
        leaf_words(resolution, leaf)
        for leaf in deciding(resolution, arm.eligible, True)
        if leaf.op == "is" and leaf.name in resolution.rules.facts
    ]
    return "the default here" + (f" ({', '.join(facts)})" if facts else "")


def _asked(resolution: Resolution, condition: Condition) -> list[str]:
    out = []
    for leaf in deciding(resolution, condition, True):
        given = resolution.request.knobs.get(leaf.name)
        knob = resolution.rules.knobs.get(leaf.name)
        out.append(f"{knob.env}={given.text} ({given.origin})" if given and knob else leaf_words(resolution, leaf))
    return list(dict.fromkeys(out))


def leaf_words(resolution: Resolution, leaf: Leaf) -> str:
    """A leaf with knobs by their variables and facts as people say them."""
    names = {"gpu.capability": "compute capability", "installed": "installed plugin", "device": "device"}
    text = leaf_text(leaf)
    knob = resolution.rules.knobs.get(leaf.name)
    shown = knob.env if knob else names.get(leaf.name)
    return text.replace(leaf.name, shown, 1) if shown else text


def evidence(resolution: Resolution, arm: Arm) -> str:
    """Who measured the arm, on this capability or on others."""
    capability = resolution.facts.get("gpu.capability")
    if isinstance(capability, str) and capability in arm.measured:
        return f"measured on {arm.measured[capability]}"
    others = ", ".join(f"{gpu} ({cap})" for cap, gpu in arm.measured.items())
    here = f"not measured on compute capability {capability}" if capability else "not measured here"
    return f"{here}, only on {others}" if others else "nobody measured it"


def differences(resolution: Resolution, base: Resolution | None = None) -> Iterator[tuple[str, str]]:
    """The rendered settings that differ from what the profile alone (`base`) gives on this machine, with the knobs behind them."""
    from resolver.causes import causes

    base = base or _base(resolution)
    for name, label in _labels(resolution).items():
        ours, theirs = _text(resolution, name), _text(base, name)
        if ours != theirs:
            behind = ", ".join(
                str(c) for c in causes(resolution, iter([name])) if "profile" not in c.origin.split(" ")[:1]
            )
            came = f"  by {behind}" if behind else ""
            yield label, f"{ours or 'left out'}  instead of {theirs or 'nothing'}{came}"
    if resolution.passthrough.words:
        yield "engine flags", " ".join(quote(word) for word in mask(resolution.passthrough.words))


def _base(resolution: Resolution) -> Resolution:
    resolver = resolution.resolver
    request: Request = build(resolver.rules, resolver.table, profile=resolution.request.profile)
    return resolver.resolve(request, resolution.machine, resolution.engine)


def _labels(resolution: Resolution) -> dict[str, str]:
    """What is rendered, by source: its flag, key or variable."""
    out: dict[str, str] = {}
    for entry in resolution.rules.argv:
        if isinstance(entry, Flag):
            out.setdefault(entry.source, entry.flag)
        elif isinstance(entry, JsonFlag):
            for key in entry.keys:
                if key.source:
                    out.setdefault(key.source, f"{entry.flag} {key.key}")
    for variable in resolution.rules.variables.values():
        if variable.source:
            out.setdefault(variable.source, variable.name)
    out["served_model"] = "model"
    return out


def _passed_over(resolution: Resolution, page: Page) -> None:
    """The candidates before the arm that is launched, each with what spoke against it."""
    taken = resolution.setting("arm")
    for arm in resolution.rules.arms.values():
        if arm.name == taken:
            return
        if holds(resolution, arm.when) and arm.eligible is not None:
            against = [leaf_words(resolution, leaf) for leaf in deciding(resolution, arm.eligible, False)]
            page.line(f"passed over {arm.name}: it takes {', '.join(against)}", "dim")


def _settings(resolution: Resolution, page: Page) -> None:
    page.line()
    page.line("knobs that were given", "bold")
    page.pairs([(k, v) for k, v in shown_knobs(resolution).items()], indent=2)
    page.line()
    page.line("settings", "bold")
    rows = []
    for name in resolution.rules.order:
        row = resolution.winning_row(name)
        if resolution.setting(name) is not None and row is not None:
            rows.append((name, f"{_text(resolution, name)}  ({row.position})"))
    page.pairs(rows, indent=2)


def show_command(resolution: Resolution, page: Page) -> None:
    """The command, broken where a shell allows it, so that it can be read and copied whole."""
    from resolver.views.formats import shell_words

    page.line("command", "bold")
    first, *words = shell_words(resolution)
    pieces: list[str] = []
    for word in words:
        flag = word.startswith("-") and not word[1:2].isdigit()
        if pieces and not flag and pieces[-1].startswith("--") and " " not in pieces[-1]:
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
    lines = [f"cd {quote(str(resolution.resolver.root))} && {first}"]
    for piece in pieces:
        if len(lines[-1]) + 1 + len(piece) <= max(page.width - 6, 20):
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    for i, text in enumerate(lines):
        page.verbatim(("  " if not i else "    ") + text + (" \\" if i + 1 < len(lines) else ""))
