"""Which attention backends serve a case: one table, from the engine's data, for the launch and for every message about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from resolver.attention_facts import attention_facts
from resolver.causes import causes
from resolver.diagnostics import Diagnostic, nearest
from resolver.engine import Engine

if TYPE_CHECKING:
    from resolver.resolution import Resolution

_ASKED_BY = ("extra.last.attention_backend", "extra.last.kv_cache_dtype", "extra.last.block_size", "arm")


class Case(NamedTuple):
    """What is asked of a backend: `backend` None lets the engine choose; `causal` False is the drafter's attention."""

    capability: str
    kv_cache_dtype: str
    block_size: int | None
    causal: bool
    backend: str | None


class Verdict(NamedTuple):
    """`serves`: the backends that run the case; `picked`: what the engine takes by itself; `reasons`: why the asked one does not."""

    served: bool
    serves: tuple[str, ...]
    reasons: tuple[str, ...]


def judge(engine: Engine, case: Case) -> Verdict | None:
    """Look the case up; None when the data does not say."""
    rows = engine.support(case.capability, case.kv_cache_dtype, case.block_size, case.causal)
    if not rows or any(case.backend in row.unknown for row in rows):
        return None
    serves = tuple(dict.fromkeys(backend for row in rows for backend in row.serves))
    picked = next((row.auto for row in rows if row.auto in serves), None)
    reasons = tuple(why for row in rows for why in row.refuses.get(case.backend or "", ()))
    return Verdict(case.backend in serves if case.backend else picked is not None, serves, reasons)


def cases(resolution: Resolution) -> Iterator[tuple[str, Case]]:
    """The cases of a launch: the target's, and the drafter's where there is one. None when the GPU is not known."""
    capability = resolution.facts.get("gpu.capability")
    if resolution.setting("arm") is None or resolution.facts.get("device") != "cuda" or capability is None:
        return
    passed = resolution.passthrough
    backend = passed.last_text.get("attention_backend") or resolution.setting("attention_backend")
    backend = backend.upper() if isinstance(backend, str) else None
    dtype = passed.last_text.get("kv_cache_dtype") or resolution.setting("kv_cache_dtype") or "auto"
    size = passed.last.get("block_size") or resolution.setting("block_size")
    size = size if isinstance(size, int) else None
    yield "the target", Case(capability, dtype, size, True, backend)
    if resolution.lookup("spec") == "dflash2":
        own = resolution.setting("draft_attention_backend") or backend
        yield "the drafter", Case(capability, dtype, size, False, own)


def unserved(resolution: Resolution) -> Iterator[Diagnostic]:
    """One refusal for each part of the launch that no backend, or not the one asked for, can serve."""
    unknown = _unknown_name(resolution)
    if unknown is not None:
        yield unknown
        return
    for whose, case in cases(resolution):
        said = list(_said_by_the_backend(resolution, whose, case))
        yield from said
        verdict = None if said else judge(resolution.engine, case)
        if verdict is None or verdict.served:
            continue
        because = f" ({'; '.join(verdict.reasons)})" if verdict.reasons else ""
        blocks = f" in blocks of {case.block_size}" if case.block_size else ""
        arm = resolution.rules.arms.get(resolution.setting("arm"))
        yield Diagnostic(
            "refuse",
            "backend-does-not-serve-cache",
            f"{case.backend or 'the backend that the engine picks'} does not serve {whose} with a {case.kv_cache_dtype} cache{blocks}"
            f" on compute capability {case.capability} in vLLM {resolution.engine.name}{because}",
            _fix(resolution, case, verdict),
            arm.position if arm else None,
            causes=causes(resolution, iter(_ASKED_BY)),
        )


def _said_by_the_backend(resolution: Resolution, whose: str, case: Case) -> Iterator[Diagnostic]:
    """What a plugin's backend would answer vLLM, said before vLLM asks."""
    records = [r for r in resolution.engine.refusals if r.backend == case.backend]
    facts = attention_facts(resolution, case) if records else {}
    for record in records:
        if record.fires(facts):
            yield Diagnostic(
                "refuse",
                record.id,
                f"{case.backend} for {whose}: {record.refuse}",
                record.fix,
                record.position,
                causes=causes(resolution, iter(_ASKED_BY)),
            )


def _fix(resolution: Resolution, case: Case, verdict: Verdict) -> str:
    """The way out: without --block-size where that is all that stands against it, else another backend or cache."""
    without = judge(resolution.engine, case._replace(block_size=None)) if case.block_size else None
    unsized = "leave out --block-size" if without and without.served else None
    if verdict.serves:
        others = f"use one of the backends that do: {', '.join(verdict.serves)}"
        return f"{unsized}, or {others}" if unsized else others
    return unsized or "choose another CTX or cache dtype: no backend of this engine does"


def _unknown_name(resolution: Resolution) -> Diagnostic | None:
    """A backend among the engine flags that the engine has no such name for: its parser does not check it."""
    asked = resolution.passthrough.last_text.get("attention_backend")
    known = resolution.engine.backends
    if not asked or not known or asked.upper() in known:
        return None
    near = nearest(asked, list(known))
    return Diagnostic(
        "refuse",
        "unknown-attention-backend",
        f"vLLM {resolution.engine.version} has no attention backend {asked!r}",
        f"did you mean {near}?" if near else f"use one of {', '.join(dict.fromkeys(name.upper() for name in known))}",
        causes=causes(resolution, iter(("extra.last.attention_backend",))),
    )
