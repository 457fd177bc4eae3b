"""The matrix, cell by cell: context tier x speculator x attention backend x compute capability, and the arm that covers each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from resolver.conditions import All, Any_, Condition, Leaf, Not
from resolver.expressions import Const
from resolver.model import Arm, Rules
from resolver.wording import condition_text

TIERS, SPECS = ("fast", "long", "huge"), ("mtp", "dflash2", "off")
CAPABILITIES = ("8.0", "8.6", "8.9", "9.0", "12.0")
AUTO = "engine's choice"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `arms` are the arms that cover it: one, or none. `measured` names the GPU, None when nobody measured it."""

    ctx: str
    spec: str
    backend: str
    capability: str
    arms: tuple[str, ...]
    kv_cache_dtype: str | None = None
    measured: str | None = None
    chosen: str = ""
    needs: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "ctx": self.ctx,
            "spec": self.spec,
            "backend": self.backend,
            "capability": self.capability,
            "arm": self.arms[0] if self.arms else None,
            "kv_cache_dtype": self.kv_cache_dtype,
            "measured": self.measured,
            "taken": self.chosen,
            "needs": list(self.needs),
        }


def values(condition: Condition, name: str) -> tuple[str, ...]:
    """The values that a `when` allows for a name, where it lists them."""
    if isinstance(condition, Leaf):
        return tuple(map(str, condition.operand)) if condition.name == name and condition.op == "is" else ()
    if isinstance(condition, Not):
        return ()
    return tuple(v for part in condition.parts for v in values(part, name))


def backend_of(arm: Arm) -> str:
    """The attention backend that an arm sets; without one the engine chooses."""
    found = arm.sets.get("attention_backend")
    if isinstance(found, Const) and found.value:
        return str(found.value)
    named = arm.chosen_by and values(arm.chosen_by, "backend")
    return named[0] if named else AUTO


def cells(rules: Rules) -> list[Cell]:
    """Every cell that an arm covers, and every cell of the same backends that none covers, in the order of the matrix."""
    covering: dict[tuple[str, str, str, str], list[Arm]] = {}
    for arm in rules.arms.values():
        capabilities = [c for c in arm.capabilities if c != "unknown"] or ["none"]
        for ctx in values(arm.when, "ctx") or TIERS:
            for spec in values(arm.when, "spec") or SPECS:
                for capability in capabilities:
                    if spec != "none":
                        covering.setdefault((ctx, spec, backend_of(arm), capability), []).append(arm)
    backends = list(dict.fromkeys(backend for _, _, backend, _ in covering))
    for ctx in TIERS:
        for spec in SPECS:
            for backend in backends:
                if backend != AUTO:
                    for capability in CAPABILITIES:
                        covering.setdefault((ctx, spec, backend, capability), [])
    order = {name: i for i, name in enumerate((*TIERS, *SPECS, *backends, *CAPABILITIES, "none"))}
    return [
        _cell(rules, key, arms) for key, arms in sorted(covering.items(), key=lambda item: [order[k] for k in item[0]])
    ]


def _cell(rules: Rules, key: tuple[str, str, str, str], arms: list[Arm]) -> Cell:
    ctx, spec, backend, capability = key
    if not arms:
        return Cell(ctx, spec, backend, capability, ())
    arm = arms[0]
    dtype = arm.sets.get("kv_cache_dtype")
    return Cell(
        ctx,
        spec,
        backend,
        capability,
        tuple(a.name for a in arms),
        str(dtype.value) if isinstance(dtype, Const) else None,
        arm.measured.get(capability),
        how_taken(rules, arm),
        tuple(needs_of(rules, arm)),
    )


def how_taken(rules: Rules, arm: Arm) -> str:
    """What a user does to get the arm: nothing, where it may be taken by default."""
    asked = _asked(rules, arm.chosen_by) if arm.chosen_by is not None else ""
    if arm.eligible is None:
        return f"with {asked}" if asked else "always"
    return f"by default, or with {asked}" if asked else "by default"


def _asked(rules: Rules, condition: Condition) -> str:
    if isinstance(condition, Leaf):
        knob = rules.knobs.get(condition.name)
        if knob and condition.op == "is":
            texts = ["1" if v == "on" else "0" if v == "off" else str(v) for v in condition.operand]
            return f"{knob.env}={' or '.join(texts)}"
    if isinstance(condition, All | Any_):
        word = " and " if isinstance(condition, All) else " or "
        return word.join(_asked(rules, part) for part in condition.parts)
    return condition_text(condition)


def needs_of(rules: Rules, arm: Arm) -> Iterator[str]:
    """What must be there once the arm is taken."""
    for guard in rules.guards.values():
        if guard.arm == arm.name and isinstance(guard.when, All) and isinstance(guard.when.parts[-1], Not):
            text = condition_text(guard.when.parts[-1].inner)
            for name, shown in NAMES.items():
                text = text.replace(name, shown)
            yield text


NAMES = {
    "installed is": "the plugin",
    "engine.choices.": "the engine's ",
    "gpu.capability": "compute capability",
    "fa2_fp8kv is not on": "FA2_FP8KV is not 1",
}
"""How the names in what an arm needs are said."""
