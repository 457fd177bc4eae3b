"""Has the engine the keys of a configuration that the user typed, where its command line takes any JSON and its start fails?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from resolver.causes import flag_causes
from resolver.diagnostics import Diagnostic, nearest
from resolver.masking import hide_in_word

if TYPE_CHECKING:
    from resolver.resolution import Resolution

RULE = "unknown-configuration-key"
ANY_JSON = "optional_json"
"""The type of flags that the engine's parser reads as JSON only, as `--speculative-config`."""


def unknown_keys(resolution: Resolution) -> Iterator[tuple[str, Diagnostic]]:
    """The flag's destination and a refusal, for each key that is none. Values are not judged: the engine converts more than a schema says."""
    engine, passed = resolution.engine, resolution.passthrough
    for dest in sorted(passed.flags & engine.configs.keys()):
        schema = engine.configs[dest]
        if engine.flags[dest]["type"] != ANY_JSON or schema.get("additionalProperties") is not False:
            continue
        known, flag = list(schema["properties"]), engine.flags[dest]["spellings"][0]
        for key in _keys(passed.last_text.get(dest)):
            if key in known:
                continue
            near = nearest(key, known)
            yield (
                dest,
                Diagnostic(
                    "refuse",
                    RULE,
                    f"{flag}: vLLM {engine.version} has no key {hide_in_word(key)} there",
                    f"did you mean {near}?" if near else "leave the key out",
                    causes=tuple(flag_causes(resolution)),
                ),
            )


def _keys(text: str | None) -> list[str]:
    """The keys of a JSON object; none where the text is no such thing, which the parser has refused."""
    try:
        value = json.loads(text or "null")
    except (ValueError, RecursionError):
        return []
    return list(value) if isinstance(value, dict) else []
