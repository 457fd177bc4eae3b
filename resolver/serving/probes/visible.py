"""Which of the machine's cards would CUDA show to the engine? CUDA_VISIBLE_DEVICES, read as CUDA reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from resolver.serving.probes.cards import Card, Cards

VARIABLE, ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"


@dataclass(frozen=True)
class Visible:
    """The cards that the engine would see.

    Attributes:
        count: how many; None when unknown.
        cards: which ones. When `sure` is false, those that it may be: what they do not agree on is unknown.
        sure: whether the list is exact.
        why: what is not sure, and how to make it so.
    """

    count: int | None
    cards: tuple[Card, ...]
    sure: bool = True
    why: str = ""


def visible(found: Cards, environ: Mapping[str, str]) -> Visible:
    """Return the visible ones among the machine's cards.

    CUDA takes indices and unique beginnings of UUIDs, and stops at the first entry that names no card. A card that MIG
    cuts into slices shows one slice: the one named, else its first; and no process sees more than one slice.
    """
    text = environ.get(VARIABLE)
    if text is None:
        return _with_slices(found.cards)
    chosen: list[Card] = []
    by_index = False
    for entry in (part.strip() for part in text.split(",")):
        card, hidden = _named(entry, found.cards)
        if hidden:
            return Visible(1, (hidden,), False, f"{VARIABLE} names a MIG slice, and {found.source} does not list them")
        if card is None or card in chosen:
            if card is not None:
                return Visible(0, (), True, f"{VARIABLE}={text} names a card twice: CUDA then shows none")
            break
        by_index = by_index or entry.isdigit()
        chosen.append(card)
    mixed = len({card.name for card in found.cards}) > 1 or len({card.capability for card in found.cards}) > 1
    if by_index and mixed and len(chosen) < len(found.cards) and environ.get(ORDER) != "PCI_BUS_ID":
        return Visible(
            len(chosen),
            found.cards,
            False,
            f"{VARIABLE} counts cards that differ in CUDA's own order: set {ORDER}=PCI_BUS_ID",
        )
    return _with_slices(tuple(chosen))


def _named(entry: str, cards: tuple[Card, ...]) -> tuple[Card | None, Card | None]:
    """Return the card an entry names; or, second, the cut card whose unlisted slice it may name."""
    if entry.isascii() and entry.isdigit():
        return (cards[int(entry)], None) if int(entry) < len(cards) else (None, None)
    if entry.startswith("GPU-"):
        hits = [card for card in cards if card.uuid and card.uuid.startswith(entry)]
        return (hits[0] if len(hits) == 1 else None), None
    if entry.startswith("MIG-"):
        hits = [part for card in cards for part in card.slices or () if part.uuid and part.uuid.startswith(entry)]
        unlisted = [card for card in cards if card.slices is None]
        if not hits and unlisted:
            return None, Card(capability=_same([card.capability for card in unlisted]))
        return (hits[0] if len(hits) == 1 else None), None
    return None, None


def _same(values: list[tuple[int, int] | None]) -> tuple[int, int] | None:
    return values[0] if len(set(values)) == 1 else None


def _with_slices(cards: tuple[Card, ...]) -> Visible:
    if not any(card.cut or (card.uuid or "").startswith("MIG-") for card in cards):
        return Visible(len(cards), cards)
    first = cards[0]
    if (first.uuid or "").startswith("MIG-"):
        return Visible(1, (first,))
    cut = next(card for card in cards if card.cut)
    whole = tuple(card for card in cards if not card.cut)
    if whole:
        return Visible(
            None,
            cards,
            False,
            "some cards are cut into MIG slices and some are not: name the ones to use in " + VARIABLE,
        )
    if cut.slices is None:
        return Visible(
            1,
            (Card(name=cut.name, capability=cut.capability),),
            False,
            "the card is cut into MIG slices, whose memory is not known here",
        )
    return Visible(1, (cut.slices[0],))
