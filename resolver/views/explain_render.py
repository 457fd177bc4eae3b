"""Where does each word of argv and each variable come from? The entry of render.yaml and the names behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resolver.expressions import Name
from resolver.masking import mask, mask_text
from resolver.model import Flag, JsonFlag, UserWords, Words
from resolver.views.result import engine_bin

if TYPE_CHECKING:
    from resolver.render import Token
    from resolver.resolution import Resolution


def tokens(resolution: Resolution) -> list[dict[str, Any]]:
    """Every word of argv, in order, keys masked: its text, the names that gave it, and its entry in render.yaml.

    Raises AssertionError when a word belongs to no entry, which would be a word without a provenance.
    """
    words = resolution.rendered.tokens
    shown = mask([token.text for token in words])
    out: list[dict[str, Any]] = []
    at = 0
    for entry in resolution.rules.argv:
        start = at
        position = str(entry.position)
        if isinstance(entry, Words):
            for word in entry.words:
                names = [word.name] if isinstance(word, Name) else []
                out.append({"text": shown[at], "from": names, "entry": position})
                at += 1
        elif isinstance(entry, UserWords):
            while at < len(words) and at - start < len(resolution.passthrough.words):
                out.append({"text": shown[at], "from": [], "entry": position, "user": True})
                at += 1
        else:
            at += _count(entry, words[at : at + 2])
            names = _names(resolution, entry)
            out += [{"text": text, "from": names, "entry": position} for text in shown[start:at]]
    assert at == len(words), f"word {at} of argv has no provenance"
    return [{"index": i, **item} for i, item in enumerate(out)]


def _count(entry: Flag | JsonFlag, ahead: tuple[Token, ...]) -> int:
    """How many of the next words the entry rendered."""
    source = (entry.gate or entry.flag) if isinstance(entry, JsonFlag) else entry.source
    if not ahead or ahead[0].source != source:
        return 0
    head = ahead[0].text
    if isinstance(entry, JsonFlag):
        return 2 if head == entry.flag else 0
    if entry.joined:
        return int(head.startswith(f"{entry.flag}="))
    if entry.bare:
        return int(head in (entry.flag, entry.off))
    return 2 if head == entry.flag else 0


def _names(resolution: Resolution, entry: Flag | JsonFlag) -> list[str]:
    if isinstance(entry, Flag):
        return [entry.source]
    found = [k.source for k in entry.keys if k.source and resolution.render_lookup(k.source)[0] is not None]
    return list(dict.fromkeys([*([entry.gate] if entry.gate else []), *found]))


def variables(resolution: Resolution) -> list[dict[str, Any]]:
    """Every variable that is set or removed, and the caller's own that the knobs gave, with the names behind each."""
    out: list[dict[str, Any]] = []
    rules = resolution.rules
    for name, value in resolution.rendered.set_variables.items():
        declared = rules.variables[name]
        out.append(
            {"name": name, "action": "set", "value": value, "from": [declared.source], "entry": str(declared.position)}
        )
    for name in resolution.rendered.unset_variables:
        declared = rules.variables[name]
        out.append(
            {"name": name, "action": "unset", "value": None, "from": [declared.unset], "entry": str(declared.position)}
        )
    done = {item["name"] for item in out}
    caller = resolution.request.caller
    for knob in rules.knobs.values():
        given = resolution.request.knobs.get(knob.name)
        if not knob.exported or given is None or knob.env in done or caller is None or knob.secret:
            continue
        if resolution.request.environ.get(knob.env) != caller.get(knob.env):
            text = mask_text(given.text) if knob.type == "words" else given.text
            out.append(
                {"name": knob.env, "action": "set", "value": text, "from": [knob.name], "entry": str(knob.position)}
            )
    if not resolution.refused:
        entry = str(rules.settings["engine_binary"].position)
        out.append(
            {
                "name": "PATH",
                "action": "first",
                "value": engine_bin(resolution),
                "from": ["engine_binary"],
                "entry": entry,
            }
        )
        if resolution.setting("api_key_source") == "api_key.txt":
            entry = str(rules.settings["api_key_source"].position)
            out.append(
                {"name": "VLLM_API_KEY", "action": "set", "value": None, "from": ["api_key_source"], "entry": entry}
            )
    return out


def left_out(resolution: Resolution) -> list[dict[str, Any]]:
    """What would have been rendered, had the engine a reader for it."""
    return [
        {"what": u.what, "kind": u.kind, "value": u.value, "from": [u.source], "engine": resolution.engine.name}
        for u in resolution.rendered.unread
    ]
