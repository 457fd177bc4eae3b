"""What is running, in the words of figures? Tier, speculator, backend, cache, drafts, and the knobs that make another launch of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from resolver.masking import mask_text
from resolver.measure.configuration import configuration_hash, portable

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def hash_of(resolution: Resolution) -> str:
    """The hash of the launch that a resolution stands for."""
    return configuration_hash(resolution.argv, telling_variables(resolution))


def telling_variables(resolution: Resolution) -> dict[str, str]:
    """The engine's variables that make a launch what it is: the rendered ones, and knobs that the engine reads itself, wherever
    they were given. Keys are left out."""
    environ = resolution.environment()
    own = {
        knob.env: environ[knob.env]
        for knob in resolution.rules.knobs.values()
        if knob.exported and not knob.secret and knob.env in environ
    }
    return own | dict(resolution.rendered.set_variables)


def setup_of(resolution: Resolution) -> dict[str, Any]:
    """What runs, by the names that figures use; `knobs` are the given ones that make another launch of it."""
    spec = _text(resolution.render_lookup("spec")[0])
    drafts = resolution.setting("num_speculative_tokens")
    sharing = resolution.setting("tensor_parallel_size")
    knobs = telling_knobs(resolution)
    found = {
        "ctx": _text(resolution.render_lookup("ctx")[0]),
        "spec": "off" if spec == "none" else spec,
        "backend": _text(resolution.setting("effective_attention_backend")),
        "kv_cache_dtype": _text(resolution.setting("effective_kv_cache_dtype")),
        "draft_tokens": drafts if isinstance(drafts, int) and drafts else None,
        "tensor_parallel": sharing if isinstance(sharing, int) and sharing > 1 else None,
        "knobs": knobs or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def telling_knobs(resolution: Resolution) -> dict[str, str]:
    """The given knobs, by variable, without which another launch would result; tier and speculator stand elsewhere."""
    resolver, request, whole = resolution.resolver, resolution.request, hash_of(resolution)

    def without(names: Iterable[str]) -> bool:
        out = set(names)
        left = {name: given for name, given in request.knobs.items() if name not in out}
        variables = {resolution.rules.knobs[name].env for name in out}
        environ = {name: text for name, text in request.environ.items() if name not in variables}
        other = resolver.resolve(replace(request, knobs=left, environ=environ), resolution.machine, resolution.engine)
        return hash_of(other) == whole

    named = {resolver.table.by_variable[variable].name: variable for variable in resolution.effective_knobs}
    idle = [name for name in named if name not in ("ctx", "spec") and without([name])]
    if not without(idle):
        idle = []
    out = {}
    for name, variable in sorted(named.items()):
        if name in ("ctx", "spec") or name in idle:
            continue
        knob, text = resolution.rules.knobs[name], resolution.effective_knobs[variable]
        out[variable] = mask_text(text) if knob.type == "words" else portable(text) if knob.type == "path" else text
    return out


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
