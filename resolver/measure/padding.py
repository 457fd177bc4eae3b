"""Which paddings give every residue of the templated length? Found by asking the server: what a word adds is measured, never assumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

MODULUS = 128
UNITS = (" x", ".", " 1", "\n", "-", " the", "é")
"""What is appended, one after the other, until every residue was met."""
REPEATS = (
    16  # a unit that meets so many known residues in a row is given up: one of two tokens has met its half by then
)


def paddings(count: Callable[[str], int], modulus: int = MODULUS) -> Iterator[tuple[int, str, int]]:
    """Yield (residue, padding, templated length) as residues are met, each once; the server may not give all of them.

    Args:
        count: the templated length with a padding.
        modulus: residues of what.
    """
    met: set[int] = set()
    for unit in UNITS:
        # a unit of one token meets all of them in `modulus` steps; one of two tokens only every other one, over and over
        fresh = 0
        for times in range(2 * modulus):
            padding = unit * times
            length = count(padding)
            residue = length % modulus
            if residue in met:
                fresh += 1
                if fresh > REPEATS:
                    break
                continue
            fresh = 0
            met.add(residue)
            yield residue, padding, length
            if len(met) == modulus:
                return
