"""A stand-in for NVIDIA's management library: the calls that the probe makes, over cards given as plain data."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

MIB = 1 << 20


class NVMLError(Exception):
    """What the real library raises; its text is the driver's."""


@dataclass
class FakeCard:
    """One card. None, or a missing slice list, makes the call fail as it does on cards that do not support it."""

    name: Any = "NVIDIA GeForce RTX 3090"
    uuid: str | None = "GPU-aaaa"
    capability: Any = (8, 6)
    total: Any = 24576 * MIB
    free: Any = 24000 * MIB
    mig: int | None = None
    slices: list[FakeCard] = field(default_factory=list)


@dataclass
class FakeNvml:
    """The module."""

    cards: list[FakeCard] = field(default_factory=list)
    driver: Any = "580.95.05"
    broken: str | None = None  # the text of the error that nvmlInit raises
    hangs: float = 0.0
    closed: int = 0

    def nvmlInit(self) -> None:
        time.sleep(self.hangs)
        if self.broken:
            raise NVMLError(self.broken)

    def nvmlShutdown(self) -> None:
        self.closed += 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeCard:
        return self.cards[index]

    def _give(self, value: Any) -> Any:
        if value is None:
            raise NVMLError("Not Supported")
        return value

    def nvmlSystemGetDriverVersion(self) -> Any:
        return self._give(self.driver)

    def nvmlDeviceGetName(self, card: FakeCard) -> Any:
        return self._give(card.name)

    def nvmlDeviceGetUUID(self, card: FakeCard) -> Any:
        return self._give(card.uuid)

    def nvmlDeviceGetCudaComputeCapability(self, card: FakeCard) -> Any:
        return self._give(card.capability)

    def nvmlDeviceGetMemoryInfo(self, card: FakeCard) -> Any:
        return SimpleNamespace(total=self._give(card.total), free=self._give(card.free))

    def nvmlDeviceGetMigMode(self, card: FakeCard) -> list[int]:
        return [self._give(card.mig), 0]

    def nvmlDeviceGetMaxMigDeviceCount(self, card: FakeCard) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card: FakeCard, index: int) -> FakeCard:
        if index >= len(card.slices):
            raise NVMLError("Not Found")
        return card.slices[index]
