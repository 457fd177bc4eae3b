"""How large may a number be that says how much is measured? The same for the options of `measure` and for a matrix file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """From `least` to `most`, both of them allowed; `such` is one to show."""

    least: int
    most: int
    such: str

    def read(self, text: str) -> int | None:
        """Return the number that a text says; 4k is 4000. None where it says none, or one outside."""
        digits, factor = (text[:-1], 1000) if text[-1:] in ("k", "K") else (text, 1)
        if not (digits.isascii() and digits.isdigit() and len(digits) < 11):
            return None
        return self.within(int(digits) * factor)

    def within(self, number: int) -> int | None:
        """Return the number; None where it is outside."""
        return number if self.least <= number <= self.most else None


LIMITS = {
    "contexts": Limit(64, 1 << 24, "1k,8k"),
    "streams": Limit(1, 512, "1"),
    "repeats": Limit(1, 1000, "1"),
    "answer": Limit(8, 65536, "8"),
    "seed": Limit(0, 1 << 31, "0"),
    "rounds": Limit(1, 100, "2"),
}
"""What is asked for -> its limit. Contexts and answers are tokens, streams requests at once, rounds boots of each arm."""
