"""Does a figure still speak of what would run? Not when engine, plugins or the rules behind its launch have changed since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver.masking import HIDDEN

if TYPE_CHECKING:
    from resolver.facts import Machine
    from resolver.resolve import Resolver
    from resolver.views.evidence import Evidence, Figure


@dataclass(frozen=True, slots=True)
class Staleness:
    """What has changed since a figure was measured, and what of it cannot be told; with neither, the figure is as new."""

    changed: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()

    @property
    def stale(self) -> bool | None:
        """Whether something has changed; None when that cannot be told."""
        return True if self.changed else None if self.untold else False

    @property
    def text(self) -> str:
        """In a few words; empty unless something has changed, or the rules have."""
        if self.changed:
            return f"stale: {'; '.join(self.changed)}"
        return "; ".join(part for part in self.untold if part == MAYBE)

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"stale": self.stale, "changed": list(self.changed), "untold": list(self.untold)}


MAYBE = "the rules have changed, and only its own machine can tell whether its launch has"


@dataclass
class Now:
    """What would run today.

    Attributes:
        resolver: the rules.
        engine: the version of the engine here, else the one that launches are resolved for.
        plugins: plugin to version, as installed here; None where no engine is installed here.
        machine: finds out what this machine is; called once, and only when a figure needs it.
    """

    resolver: Resolver
    engine: str
    plugins: Mapping[str, str] | None
    machine: Callable[[], Machine]
    kept_machines: list[Machine] = field(default_factory=list)
    """Machines made of recorded facts: the resolver knows machines by their identity, so they must not go away."""
    _kept: dict[str, Staleness] = field(default_factory=dict)
    _rules: dict[str, str] = field(default_factory=dict)

    def rules(self, engine: str) -> str:
        """The hash of the rules as they are, and of what they know of that engine."""
        from resolver.measure.rules_hash import rules_hash

        if engine not in self._rules:
            self._rules[engine] = rules_hash(self.resolver.root, engine)
        return self._rules[engine]

    @cached_property
    def here(self) -> Machine:
        """This machine."""
        return self.machine()

    @cached_property
    def evidence(self) -> Evidence:
        """The figures, for the names of hardware."""
        from resolver.views.evidence import load_evidence

        return load_evidence(self.resolver.root)

    def judge(self, figure: Figure) -> Staleness:
        """Whether a figure is stale; each is judged once."""
        if figure.id not in self._kept:
            self._kept[figure.id] = judge(figure, self)
        return self._kept[figure.id]


def now(resolver: Resolver, environ: Mapping[str, str]) -> Now:
    """What would run here; nothing is asked of the GPU unless a figure needs it."""
    from resolver.engine import DEFAULT_VERSION
    from resolver.measure.provenance_here import installed_versions
    from resolver.serving.probes.basis import Unknown, World
    from resolver.serving.probes.packages import engine_version

    try:
        version = engine_version(World(resolver.root, environ))
    except Unknown:
        version = None

    def machine() -> Machine:
        from resolver.facts import DiskFiles, machine_from
        from resolver.serving.probe import probe

        found = probe(resolver.root, environ)
        return machine_from(found, "this machine", "probed", files=DiskFiles(str(resolver.root)))

    plugins = installed_versions(resolver.root, environ) if version else None
    return Now(resolver, (version or DEFAULT_VERSION).partition("+")[0], plugins, machine)


def judge(figure: Figure, today: Now) -> Staleness:
    """What has changed since the figure was measured, part by part."""
    changed: list[str] = []
    untold: list[str] = []
    if figure.engine is None:
        untold.append("its engine is not known")
    elif figure.engine != today.engine:
        changed.append(f"engine {figure.engine}, now {today.engine}")
    changed += _plugins(figure, today)
    if figure.provenance.get("configuration") is None:
        untold.append("its launch is not known")
    elif figure.provenance.get("rules") != today.rules(_engine(figure)):
        same = _same_launch(figure, today)
        if same is False:
            changed.append("the rules make another launch of it")
        elif same is None:
            untold.append(MAYBE)
    return Staleness(tuple(changed), tuple(untold))


def _engine(figure: Figure) -> str:
    """The engine as it was recorded, with its overlays."""
    return "+".join((figure.engine or "", *figure.provenance.get("overlays", ())))


def _plugins(figure: Figure, today: Now) -> Iterator[str]:
    if today.plugins is None:
        return
    for name, version in figure.provenance.get("plugins", {}).items():
        there = today.plugins.get(name)
        if there is None:
            yield f"{name} {version}, now not installed"
        elif there != version:
            yield f"{name} {version}, now {there}"


def _same_launch(figure: Figure, today: Now) -> bool | None:
    """Whether its knobs give the same launch with the rules of today; None when no machine like its own is known."""
    from resolver.diagnostics import RulesError, UsageError
    from resolver.measure.hardware import hardware_name
    from resolver.measure.setup import hash_of
    from resolver.request import build

    setup, made = figure.setup, figure.provenance
    args = made.get("args", ())
    if HIDDEN in " ".join(args) or "ctx" not in setup or "spec" not in setup:
        return None
    resolver = today.resolver
    knobs = {"CTX": setup["ctx"], "SPEC": setup["spec"], **setup.get("knobs", {})}
    request = build(
        resolver.rules,
        resolver.table,
        assignments=[(name, str(text), "figure") for name, text in knobs.items() if HIDDEN not in str(text)],
        args=args,
    )
    engine = _engine(figure)
    for machine in _machines(figure, today):
        try:
            resolution = resolver.resolve(request, machine, engine)
        except (UsageError, RulesError):
            return None  # an engine that this product does not know any more
        if hash_of(resolution) == made["configuration"]:
            return True
        if machine is today.here and hardware_name(machine.facts, _gpus(figure, today)) == figure.hardware:
            return False
    return None


def _gpus(figure: Figure, today: Now) -> int:
    found = today.evidence.hardware.get(figure.hardware or "", {}).get("gpus", 1)
    return int(found)


def _machines(figure: Figure, today: Now) -> Iterator[Machine]:
    """The machines on which the launch may be made again: as it was recorded, machine files of its card, this one."""
    from resolver.facts import DiskFiles, Machine
    from resolver.machines import load_machine, names
    from resolver.views.suggest_cost import same_card

    root: Path = today.resolver.root
    facts = figure.provenance.get("facts")
    if facts:
        listed = {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
        recorded = Machine("recorded", listed, figure.engine, DiskFiles(str(root)), "the ledger")
        today.kept_machines.append(recorded)
        yield recorded
    for name in names(root):
        machine = load_machine(root, name)
        if same_card(figure.hardware, str(machine.facts.get("gpu.name") or "")):
            yield machine
    yield today.here
