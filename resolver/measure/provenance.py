"""On what was it measured? Engine, plugins, card, driver, launch and rules, as data that names no host, no user and no folder."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from resolver.masking import mask
from resolver.measure.configuration import portable, variables, words
from resolver.measure.provenance_gpu import CardState
from resolver.measure.provenance_parts import odd_part
from resolver.measure.setup import hash_of, setup_of, telling_variables

if TYPE_CHECKING:
    from resolver.resolution import Resolution


@dataclass(frozen=True, slots=True)
class Provenance:
    """Everything that two figures must share to be compared. None and empty are unknown.

    Attributes:
        at: when it was measured, UTC, to the second; its first ten letters are the day.
        arm, profile, args: what was launched; `args` are the engine flags typed by the user, keys hidden.
        setup: what was running, by the names that figures use: ctx, spec, backend, kv_cache_dtype, draft_tokens, knobs.
        engine, overlays, plugins: the vLLM version, overlays on it, and distribution to version of what is installed.
        hardware, capability, gpus, gpu, vram_mib: the card as figures call it, and as the driver does; MiB of one card.
        platform: native, wsl2 or docker.
        power_cap_w, clocks, driver: in watts, in MHz by name, and the driver's version.
        prefix_caching, model: whether the launch caches prefixes, and the last part of the model's path.
        configuration, rules: hashes of the launch and of the rules that made it.
        argv, environment: the words and variables behind `configuration`.
        facts: the facts about the machine that the rules were given.
    """

    at: str
    arm: str | None = None
    profile: str | None = None
    args: tuple[str, ...] = ()
    setup: Mapping[str, Any] = field(default_factory=dict)
    engine: str | None = None
    overlays: tuple[str, ...] = ()
    plugins: Mapping[str, str] = field(default_factory=dict)
    hardware: str | None = None
    capability: str | None = None
    gpus: int | None = None
    gpu: str | None = None
    vram_mib: int | None = None
    platform: str | None = None
    power_cap_w: int | None = None
    clocks: Mapping[str, int] = field(default_factory=dict)
    driver: str | None = None
    prefix_caching: bool | None = None
    model: str | None = None
    configuration: str | None = None
    rules: str | None = None
    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def date(self) -> str:
        """The day, such as 2026-12-01."""
        return self.at[:10]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON takes it, every field in the order above."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Provenance:
        """Return what `as_json` wrote; a field that is not there is unknown, one that is not known is left out.

        Raises:
            ValueError: there is no time of measuring, or a field is of another kind; the text names it.
        """
        if not isinstance(data.get("at"), str):
            raise ValueError("a provenance has no time (`at`)")
        known: dict[str, Any] = {}
        for entry in fields(cls):
            value = data.get(entry.name)
            if value is None:
                continue
            kind = next(python for start, python in _KINDS.items() if str(entry.type).startswith(start))
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise ValueError(
                    f"the field {entry.name} of a provenance is {type(value).__name__}, not {kind.__name__}"
                )
            wrong = odd_part(entry.name, value)
            if wrong:
                raise ValueError(f"the field {wrong} of a provenance is of another kind")
            known[entry.name] = tuple(data[entry.name]) if kind is list else value
        return cls(**known)


_KINDS: dict[str, type] = {"tuple": list, "Mapping": dict, "str": str, "int": int, "bool": bool}
"""How the beginning of a field's type stands in JSON."""


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def gather(
    resolution: Resolution | None,
    *,
    engine: str | None = None,
    plugins: Mapping[str, str] | None = None,
    card: CardState | None = None,
    rules: str | None = None,
    hardware: Iterable[str] = (),
    at: str | None = None,
) -> Provenance:
    """Put together what is known of a launch.

    Args:
        resolution: the launch that is measured; None knows nothing but the engine and the time.
        engine: the version that the server itself reports; None takes the one that was resolved for.
        plugins: distribution to version, as `installed_versions` reads them.
        card: what NVML says of the card.
        rules: the hash of the rules, as `rules_hash` makes it.
        hardware: the names of hardware that figures have already, so that the same card gets the same name.
        at: the time; None is now.
    """
    from resolver.measure.hardware import capability_of, hardware_name, platform_of

    version = engine.partition("+")[0] if engine else None
    found = Provenance(at or now(), engine=version, plugins=dict(plugins or {}), rules=rules)
    if resolution is None:
        return found
    card = card or CardState()
    facts, gpus = resolution.facts, _gpus(resolution)
    driver = card.driver or facts.get("gpu.driver")
    return replace(
        found,
        arm=_text(resolution.setting("arm")),
        profile=resolution.request.profile,
        args=tuple(portable(word) for word in mask(resolution.request.args)),
        setup=setup_of(resolution),
        engine=version or resolution.engine.version,
        overlays=tuple(resolution.engine.overlays),
        hardware=hardware_name(facts, gpus, hardware),
        capability=capability_of(facts),
        gpus=gpus,
        gpu=_text(facts.get("gpu.name")),
        vram_mib=facts.get("gpu.vram_mib"),
        platform=platform_of(facts),
        power_cap_w=card.power_cap_w,
        clocks=dict(card.clocks),
        driver=_text(driver),
        prefix_caching={"on": True, "off": False}.get(str(resolution.setting("caches_prefixes"))),
        model=_last(resolution.setting("served_model")),
        configuration=hash_of(resolution),
        argv=tuple(words(resolution.argv)),
        environment=variables(telling_variables(resolution)),
        facts={
            name: list(value) if isinstance(value, tuple) else value
            for name, value in sorted(facts.items())
            if _portable_fact(name, value)
        },
    )


def _gpus(resolution: Resolution) -> int | None:
    """How many GPUs the launch uses; 0 on a CPU."""
    if resolution.facts.get("device") == "cpu":
        return 0
    count = resolution.setting("gpus_needed")
    return count if isinstance(count, int) and count > 0 else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _last(value: Any) -> str | None:
    return None if value is None else portable(str(value))


def _portable_fact(name: str, value: Any) -> bool:
    """Whether a fact is one of the machine's kind, not of this one host: no path, no free memory, no name of its own."""
    if name in ("root", "machine") or name.startswith("engine.") or "free" in name:
        return False
    return isinstance(value, str | int | bool | list | tuple) and not (isinstance(value, str) and "/" in value)
