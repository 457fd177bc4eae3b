"""Does all of it fit on the card? Weights, what runs beside them, and the pool, each with its two ends. All in GiB of one GPU."""

from __future__ import annotations

from typing import NamedTuple

from resolver.geometry.data import Band, Knowledge

GIB = 1 << 30


class Part(NamedTuple):
    """One thing on the card."""

    name: str
    band: Band


class Load(NamedTuple):
    """What the launch puts on one card.

    Attributes:
        checkpoint: `fast`, `base`, or None for one whose weights are known by their bytes on disk only.
        model_bytes: those bytes; None when unknown.
        draft_bytes: bytes of the drafter on disk; None where it is the shipped one, or none.
        drafter, format: what drafts, and the name of the cache format.
        tower: whether the vision tower is on the card.
        embedding_in_host: whether the embedding is in host memory.
        gpus: GPUs that share the weights.
    """

    checkpoint: str | None
    drafter: str
    format: str
    model_bytes: int | None = None
    draft_bytes: int | None = None
    tower: bool = False
    embedding_in_host: bool = False
    gpus: int = 1


class Card(NamedTuple):
    """One GPU: its name, memory and free memory in MiB, and whether it is under WSL."""

    name: str
    mib: int
    free_mib: int | None = None
    wsl: bool = False


def parts(known: Knowledge, load: Load) -> list[Part] | None:
    """What stands beside the pool; None when the weights are unknown."""
    found: list[Part] = []
    weights = known.weights
    if load.checkpoint:
        found.append(Part("weights", weights[load.checkpoint].times(1 / load.gpus)))
    elif load.model_bytes:
        found.append(Part("weights", weights["tolerance"].times(load.model_bytes / GIB / load.gpus)))
    else:
        return None
    if load.drafter == "dflash":
        shipped = weights["drafter"]
        band = weights["tolerance"].times(load.draft_bytes / GIB) if load.draft_bytes else shipped
        found.append(Part("drafter", band.times(1 / load.gpus)))
    if load.tower:
        found.append(Part("vision tower", weights["tower"].times(1 / load.gpus)))
    if load.embedding_in_host:
        off = weights["embedding"]
        found.append(
            Part("embedding in host memory", Band(-off.high, -off.low, off.source, off.figures).times(1 / load.gpus))
        )
    running = known.running.get((load.drafter, load.format), known.other_running)
    found.append(Part("context, peak, graphs", running))
    return found


def total(found: list[Part]) -> Band:
    """The sum of the parts."""
    return Band(sum(p.band.low for p in found), sum(p.band.high for p in found), "sum")


def memory(known: Knowledge, card: Card) -> Band:
    """What CUDA gives of the card, free or not."""
    for name, band in known.cards.items():
        if name in card.name and card.mib <= 24576:
            return band
    whole = card.mib / 1024
    return Band(known.other_cards.low * whole, known.other_cards.high * whole, known.other_cards.source)


def free(known: Knowledge, card: Card) -> Band:
    """What is free before the start: all of it, less what the probe saw in use, less what WSL keeps."""
    band = memory(known, card)
    if card.wsl:
        share = known.wsl_free
        scale = band.low / known.wsl_of, band.high / known.wsl_of
        band = Band(
            min(band.low, share.low * scale[0]), min(band.high, share.high * scale[1]), share.source, share.figures
        )
    if card.free_mib is not None:
        seen = card.free_mib / 1024
        band = Band(min(band.low, seen), min(band.high, seen), "free memory as probed")
    return band
