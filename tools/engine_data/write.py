"""Writes an engine document with one flag, variable or row a line, so that two versions compare well line by line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def _one(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _block(value: object, indent: str) -> str:
    """A mapping or list whose members stand one a line; mappings are sorted by key, lists keep their order."""
    if isinstance(value, Mapping) and value:
        lines = [f"{_one(k)}: {_one(value[k])}" for k in sorted(value)]
        return "{\n" + ",\n".join(f"{indent}  {x}" for x in lines) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{indent}  {_one(x)}" for x in value) + f"\n{indent}]"
    return _one(value)


def text(doc: Mapping[str, Any]) -> str:
    """The file's text. The top level keeps its order (schema, version, source first); everything below is sorted."""
    parts = []
    for key, value in doc.items():
        if key == "attention" and value:
            inner = [
                f"    {_one(k)}: {_block(value[k], '    ') if k == 'rows' else _one(value[k])}" for k in sorted(value)
            ]
            parts.append('  "attention": {\n' + ",\n".join(inner) + "\n  }")
        else:
            parts.append(f"  {_one(key)}: {_block(value, '  ')}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
