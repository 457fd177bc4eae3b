"""What do the visible cards amount to, as facts? Where they differ, the weakest one counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from resolver.serving.probes import nvml, packages, smi
from resolver.serving.probes.basis import Unknown, World
from resolver.serving.probes.cards import Cards
from resolver.serving.probes.visible import Visible, visible

T = TypeVar("T", int, tuple[int, int], str)
IN_USE_MIB = 1024
"""MiB in use before a start that count as none: a driver's own. The guard gpu-memory-in-use-already has the same number."""
OTHER_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/proc/driver/nvidia/version")  # signs of an NVIDIA card or its driver


@dataclass
class Gpus:
    """The cards, asked for once and shared by the facts about them. `sources` are tried in order."""

    world: World
    sources: tuple[Callable[[World], Cards], ...] = (nvml.read, smi.read)
    _seen: Visible | None = field(default=None, init=False)
    _driver: str | None = field(default=None, init=False)
    _failure: str | None = field(default=None, init=False)

    def look(self) -> Visible:
        """Return the visible cards.

        Raises:
            Unknown: no source answers, and the machine has signs of a card.
        """
        if self._failure is not None:
            raise Unknown(self._failure)
        if self._seen is None:
            found = self._find()
            self._driver = found.driver
            self._seen = visible(found, self.world.environ)
        return self._seen

    def _find(self) -> Cards:
        reasons = []
        for source in self.sources:
            try:
                return source(self.world)
            except Unknown as reason:
                reasons.append(str(reason))
        if not any(self.world.at(path).exists() for path in OTHER_DRIVERS):
            return Cards((), None, "no NVIDIA driver")
        self._failure = "; ".join(reasons)
        raise Unknown(self._failure)

    def count(self) -> int:
        """Return how many cards the engine would see."""
        seen = self.look()
        if seen.count is None:
            raise Unknown(seen.why)
        return seen.count

    def capability(self) -> str | None:
        """Return the smallest compute capability, `8.6` say, compared as number pairs."""
        pair = self._weakest([card.capability for card in self.look().cards], "the compute capability")
        return None if pair is None else f"{pair[0]}.{pair[1]}"

    def vram_mib(self) -> int | None:
        """Return the memory of the smallest card, in MiB."""
        return self._weakest([card.vram_mib for card in self.look().cards], "the memory")

    def vram_free_mib(self) -> int | None:
        """Return the free memory of the fullest card, in MiB."""
        seen = self.look()
        if not seen.sure and len(seen.cards) > 1:
            raise Unknown(seen.why)
        return self._weakest([card.vram_free_mib for card in seen.cards], "the free memory")

    def name(self) -> str | None:
        """Return the cards' name; several names joined by " + ", each once, in the driver's order."""
        seen = self.look()
        names = list(dict.fromkeys(card.name for card in seen.cards if card.name))
        if not seen.sure and len(names) > 1:
            raise Unknown(seen.why)
        if seen.cards and not all(card.name for card in seen.cards):
            raise Unknown("a card does not tell its name")
        return " + ".join(names) or None

    def driver(self) -> str | None:
        """Return the driver's version; None on a machine without a card."""
        if self.look().cards and self._driver is None:
            raise Unknown("the driver does not tell its version")
        return self._driver

    def device(self) -> str:
        """Return what the engine would run on: `cpu` for the CPU build or without a card, else `cuda`."""
        if "cpu" in (packages.engine_version(self.world) or "").partition("+")[2]:
            return "cpu"
        return "cuda" if self.count() else "cpu"

    def _weakest(self, values: list[T | None], what: str) -> T | None:
        seen = self.look()
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            raise Unknown(f"a card does not tell {what}" if seen.sure else seen.why)
        if not seen.sure and len(set(known)) > 1:
            raise Unknown(seen.why)
        return min(known, default=None)
