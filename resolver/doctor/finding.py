"""What a check works on, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["problem", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that would go wrong.

    Attributes:
        id: the name that rules/evidence/hazard_places.yaml may use.
        severity: `problem`: the launch fails or answers wrongly; `warning`: it works worse than it could; `note`: worth knowing.
        what: what is so, with its numbers.
        why: what follows.
        source: the rule, hazard or document that says so.
        fix: what mends it, starting with a verb; a command where there is one.
        mend: the name of the function in mends.py that does it; None: nothing safe does.
    """

    id: str
    severity: Severity
    what: str
    why: str
    source: str
    fix: str
    mend: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        out = {name: getattr(self, name) for name in ("id", "severity", "what", "why", "source", "fix")}
        return {**out, "mendable": self.mend is not None}


@dataclass(frozen=True)
class Launch:
    """What the launch that is asked for needs of the machine. Paths are absolute.

    Attributes:
        model, draft: folders; None: none.
        address, port: where it listens.
        drafts_with_model: whether a drafter model is part of it.
        allocator: PYTORCH_CUDA_ALLOC_CONF as it will be set.
        builds_kernels: whether kernels are compiled at the first start by a CUDA compiler.
        toolchain: CUDA_HOME as it will be set.
        tier_bytes: bytes of the offload tier in /dev/shm; 0 without one.
        streams_weights: whether the loader streams instead of mapping the whole model.
        gpus: how many it uses.
        unread: variables in the environment that nothing reads.
        env_file: the file given with --env-file.
        engines: the engine versions that are known here.
        venv: the engine's environment, as the knob says it.
        plugin_engines: plugin -> engine versions that it is made for.
    """

    model: str | None = None
    draft: str | None = None
    address: str = "127.0.0.1"
    port: int = 0
    drafts_with_model: bool = False
    allocator: str | None = None
    builds_kernels: bool = False
    toolchain: str | None = None
    tier_bytes: int = 0
    streams_weights: bool = False
    gpus: int = 1
    unread: tuple[tuple[str, str], ...] = ()
    env_file: str | None = None
    engines: tuple[str, ...] = ()
    venv: str = "venv"
    plugin_engines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scene:
    """The machine and the launch. A fact that is unknown is absent from `facts`: no check guesses."""

    facts: Mapping[str, Any]
    launch: Launch = field(default_factory=Launch)

    def get(self, name: str, otherwise: Any = None) -> Any:
        """The fact, or `otherwise` when it is unknown."""
        value = self.facts.get(name)
        return otherwise if value is None else value

    @property
    def on_gpu(self) -> bool:
        """Whether the engine would run on a GPU, as far as is known."""
        return bool(self.get("device", "cuda") != "cpu")
