"""Read the examples of guards and arms."""

from __future__ import annotations

from typing import Any

from resolver.conditions import Path
from resolver.load.collect import text_of
from resolver.model import Example
from resolver.yaml12 import Document

_WORDS = ("profile", "machine", "engine", "with", "args", "knobs")


def read_examples(document: Document, data: Any, path: Path) -> tuple[Example, ...]:
    """Examples are mappings; keys other than profile, machine, engine, with, args and knobs are knobs."""
    out = []
    for i, item in enumerate(data or ()):
        knobs = {k: text_of(v) for k, v in item.items() if k not in _WORDS}
        knobs |= {k: text_of(v) for k, v in item.get("knobs", {}).items()}
        out.append(
            Example(
                position=document.position((*path, i)),
                profile=item.get("profile"),
                machine=item.get("machine"),
                engine=item.get("engine"),
                knobs=knobs,
                args=tuple(str(word) for word in item.get("args", ())),
                with_facts=item.get("with", {}),
            )
        )
    return tuple(out)
