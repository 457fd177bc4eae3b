"""What is a GPU, to the probe? One card, or one slice of a card, whichever of the two sources told of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Card:
    """One NVIDIA GPU. None is unknown.

    Attributes:
        uuid: its identity, `GPU-…` or `MIG-…`.
        name: as the driver says it.
        capability: the CUDA compute capability.
        vram_mib: memory in MiB.
        vram_free_mib: of which free, in MiB.
        slices: the MIG devices that it is cut into; None when it is cut and they could not be listed.
    """

    uuid: str | None = None
    name: str | None = None
    capability: tuple[int, int] | None = None
    vram_mib: int | None = None
    vram_free_mib: int | None = None
    slices: tuple[Card, ...] | None = field(default=())

    @property
    def cut(self) -> bool:
        """Whether MIG is on: CUDA then serves its slices and not the card."""
        return self.slices is None or bool(self.slices)


@dataclass(frozen=True)
class Cards:
    """All cards of the machine in the driver's order (by PCI bus), and the driver's version."""

    cards: tuple[Card, ...]
    driver: str | None
    source: str
