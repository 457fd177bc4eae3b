"""A sheet of numbers: each is put once, with its formula, and the formula can be shown with the values in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from resolver.geometry.shapes import Number

NAME = re.compile(r"[a-z][a-z_]*(?![a-z_]*\()")


class Sheet:
    """Numbers by name, in the order they were put."""

    def __init__(self) -> None:
        self._numbers: dict[str, Number] = {}

    def put(self, name: str, value: int, unit: str, formula: str, note: str = "") -> int:
        """Write a number down and return it. A name is written once."""
        if name in self._numbers:
            raise ValueError(f"{name} is there already")
        self._numbers[name] = Number(name, value, unit, formula, note, self._filled(formula))
        return value

    def given(self, name: str, value: int, unit: str, note: str) -> int:
        """Write down a number that no formula gives."""
        return self.put(name, value, unit, "", note)

    def _filled(self, formula: str) -> str:
        def value(found: re.Match[str]) -> str:
            number = self._numbers.get(found[0])
            return found[0] if number is None else f"{number.value}"

        return NAME.sub(value, formula)

    def __getitem__(self, name: str) -> int:
        return self._numbers[name].value

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[Number]:
        return iter(self._numbers.values())

    def get(self, name: str) -> int | None:
        """The value, or None when the sheet has no such number."""
        number = self._numbers.get(name)
        return None if number is None else number.value
