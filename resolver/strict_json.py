"""Read JSON that a disk or a person may have spoilt: whatever is wrong with it is a ValueError with a text that can be shown."""

from __future__ import annotations

import json
import math
from typing import Any

DIGITS = 19
"""Digits of the largest whole number: nothing that is kept counts further, and more of them overflow a float."""


class OddNumber(ValueError):
    """A number that nothing can be computed with: NaN, an infinity, or a whole one that is too long."""


def loads(text: str | bytes) -> Any:
    """The data of a text. Raises ValueError; OddNumber where all of it but a number is JSON."""
    try:
        return json.loads(text, parse_constant=_constant, parse_float=_float, parse_int=_int)
    except OddNumber:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8") from None
    except ValueError:
        raise ValueError("it is no JSON, or not whole") from None


def _constant(text: str) -> Any:
    raise OddNumber(f"it holds {text}, which is no number")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise OddNumber(f"it holds {text[:20]}, which is too large a number")
    return value


def _int(text: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > DIGITS:
        raise OddNumber(f"it holds a number of {digits} digits")
    return int(text)
