"""A resolution as plain data for JSON, version 1. Secrets are masked: nothing here can be used to get at one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from resolver.diagnostics import Diagnostic
from resolver.masking import hide_in_word, mask, mask_text
from resolver.resolution import Resolution

SCHEMA = 1


def as_json(resolution: Resolution, notes: Iterable[Diagnostic] = (), request_id: Any = None) -> dict[str, Any]:
    """The whole answer. A refusal has `ok` false and no argv."""
    diagnostics = resolution.diagnostics
    ok = not resolution.refused
    settings = {
        name: hide_in_word(value) if isinstance(value, str) else value
        for name, value in zip(resolution.rules.order, resolution.state.setting_values, strict=True)
        if value is not None
    }
    return {
        "schema": SCHEMA,
        "id": request_id,
        "ok": ok,
        "profile": resolution.request.profile,
        "arm": resolution.setting("arm"),
        "engine": resolution.engine.name,
        "machine": resolution.machine.name,
        "argv": mask(resolution.argv) if ok else None,
        "env": {
            "set": dict(resolution.set_variables) if ok else {},
            "unset": list(resolution.rendered.unset_variables) if ok else [],
            "path_front": engine_bin(resolution) if ok else None,
        },
        "api_key": resolution.setting("api_key_source") or "unset",
        "knobs": shown_knobs(resolution),
        "settings": settings,
        "diagnostics": [d.as_json() for d in (*diagnostics, *notes)],
    }


def shown_knobs(resolution: Resolution) -> dict[str, str]:
    """The effective knobs, with keys among passed-through flags masked."""
    by_variable = resolution.resolver.table.by_variable
    return {
        variable: mask_text(text) if by_variable[variable].type == "words" else text
        for variable, text in resolution.effective_knobs.items()
    }


def engine_bin(resolution: Resolution) -> str:
    """The folder that stands first on the engine's PATH (R115)."""
    word = resolution.setting("engine_binary")
    return os.path.dirname(os.path.abspath(os.path.join(resolution.resolver.root, word)))
