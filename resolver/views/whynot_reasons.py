"""Why is a launch refused? For each refusal, the names that it reads: other launches that agree in these are refused as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from resolver.attention import Case, Verdict, cases, judge, unserved
from resolver.configurations import misfits
from resolver.diagnose import needs_a_reader
from resolver.engine import Engine
from resolver.model import Guard
from resolver.parser_names import PLUGINS, unknown_parsers
from resolver.typed_configurations import unknown_keys

if TYPE_CHECKING:
    from resolver.resolution import Resolution

SERVED = (
    "arm",
    "spec",
    "device",
    "gpu.capability",
    "attention_backend",
    "kv_cache_dtype",
    "block_size",
    "draft_attention_backend",
    "extra.last.attention_backend",
    "extra.last.kv_cache_dtype",
    "extra.last.block_size",
)
"""What decides which attention backends serve a launch."""
SERVED_BY_PLUGINS = (
    "kv_tier",
    "extra.last.dtype",
    "extra.last.kv_transfer_config",
    "extra.last.decode_context_parallel_size",
    "extra.last.prefill_context_parallel_size",
)
"""What the backends of plugins ask for besides."""


@dataclass(frozen=True)
class Reason:
    """What one refusal reads: names, a guard's condition, and of the engine either all, or no more than what `engine` makes of it.

    `parsing`: the engine's parser refuses the flags. `alike`: flags whose numbers are all the same to it within a cell.
    """

    names: tuple[str, ...] = ()
    guard: Guard | None = None
    engine: Callable[[Engine], Any] | None = None
    parsing: bool = False
    alike: tuple[str, ...] = ()


def reasons_of(tried: Resolution) -> Iterator[Reason]:
    """One for each refusal; those that follow from a plugin that is missing are left out, as in the diagnostics."""
    passed = tried.passthrough
    for name, reading in tried.readings.items():
        if reading.problem:
            yield Reason((name,))
    if passed.problem:
        names = tuple(f"extra.last.{dest}" for dest in passed.flags)
        yield Reason(names, engine=lambda e: (e.flags, e.configs), parsing=True)
    needs = False
    for guard in tried.fired:
        if guard.severity == "refuse":
            needs = needs or bool(guard.arm)
            yield Reason(guard=guard)
    if needs:
        return
    for unread in (u for u in tried.rendered.unread if needs_a_reader(tried, u)):
        knobs = [k.name for k in tried.rules.knobs.values() if unread.source in k.sets or k.name == unread.source]
        yield Reason(("engine.version", unread.source, *knobs))
    rules = {d.rule for d in unserved(tried)}
    if "unknown-attention-backend" in rules:
        yield Reason(("extra.last.attention_backend",), engine=lambda e: e.backends)
    elif "backend-does-not-serve-cache" in rules:
        asked = [case for _, case in cases(tried)]
        verdicts = partial(_verdicts, asked)
        yield Reason(SERVED, engine=verdicts, alike=("block_size",))
    elif rules:
        yield Reason((*SERVED, *SERVED_BY_PLUGINS, "engine.version"))
    for found in misfits(tried):
        sources = [key.source for key in found.entry.keys if key.source]
        read = [*sources, *([found.entry.gate] if found.entry.gate else []), f"extra.last.{found.dest}"]
        yield Reason(tuple(read), engine=partial(_schema, found.dest))
    for dest, _ in unknown_keys(tried):
        yield Reason((f"extra.last.{dest}",), engine=partial(_schema, dest))
    for refusal in unknown_parsers(tried):
        flag = refusal.rule.removeprefix("unknown-").replace("-", "_")
        typed = passed.last_text.get(flag)
        read = [f"extra.last.{flag}", *([] if typed else [flag]), f"extra.last.{PLUGINS[flag]}"]
        if flag == "tool_call_parser":
            read += ["tools"] if tried.lookup("tools") == "on" else ["extra.last.enable_auto_tool_choice"]
        yield Reason(tuple(read), engine=partial(_parsers, flag))


def _verdicts(asked: list[Case], engine: Engine) -> list[Verdict | None]:
    """What an engine says of the attention that a launch asks for."""
    return [judge(engine, case) for case in asked]


def _schema(dest: str, engine: Engine) -> Any:
    """What an engine takes as a configuration."""
    return engine.configs.get(dest)


def _parsers(flag: str, engine: Engine) -> tuple[Any, ...]:
    """The parsers that an engine has, and whether it has the flags."""
    return engine.parsers.get(flag), flag in engine.flags, PLUGINS[flag] in engine.flags
