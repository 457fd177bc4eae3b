"""The functions that compiled rules call. All are total: what has no answer is None, and a comparison with None is false."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from resolver.coercions import read as _read


@lru_cache(maxsize=512)
def _version(text: str) -> tuple[int, ...] | None:
    parts = text.split(".")
    return tuple(int(p) for p in parts) if all(p.isascii() and p.isdigit() and len(p) < 10 for p in parts) else None


def _pair(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Both sides as versions (`8.6` is the pair 8, 6); None when they cannot be compared."""
    return _versions(left, right) if type(left) in _COMPARED and type(right) in _COMPARED else None


_COMPARED = frozenset({str, int})


@lru_cache(maxsize=4096)
def _versions(left: str | int, right: str | int) -> tuple[Any, Any] | None:
    if not (isinstance(left, str) and "." in left) and not (isinstance(right, str) and "." in right):
        return None
    a, b = _version(str(left)), _version(str(right))
    if a is None or b is None:
        return None
    width = max(len(a), len(b))
    return a + (0,) * (width - len(a)), b + (0,) * (width - len(b))


def _lt(left: Any, right: Any) -> bool:
    if type(left) is int and type(right) is int:
        return left < right
    if left is None or right is None:
        return False
    pair = _pair(left, right)
    return pair is not None and bool(pair[0] < pair[1])


def _le(left: Any, right: Any) -> bool:
    if type(left) is int and type(right) is int:
        return left <= right
    if left is None or right is None:
        return False
    pair = _pair(left, right)
    return pair is not None and bool(pair[0] <= pair[1])


def _gt(left: Any, right: Any) -> bool:
    if type(left) is int and type(right) is int:
        return left > right
    if left is None or right is None:
        return False
    pair = _pair(left, right)
    return pair is not None and bool(pair[0] > pair[1])


def _ge(left: Any, right: Any) -> bool:
    if type(left) is int and type(right) is int:
        return left >= right
    if left is None or right is None:
        return False
    pair = _pair(left, right)
    return pair is not None and bool(pair[0] >= pair[1])


def _any(wanted: tuple[Any, ...], value: Any) -> bool:
    return any(item in (value or ()) for item in wanted)


_LIMIT = 10**40


def _number(a: Any) -> bool:
    return type(a) is int and -_LIMIT < a < _LIMIT


def _op_add(a: Any, b: Any) -> int | None:
    return int(a + b) if _number(a) and _number(b) else None


def _op_sub(a: Any, b: Any) -> int | None:
    return int(a - b) if _number(a) and _number(b) else None


def _op_mul(a: Any, b: Any) -> int | None:
    return int(a * b) if _number(a) and _number(b) else None


def _op_div(a: Any, b: Any) -> int | None:
    """Truncates toward zero, as shell arithmetic does."""
    if not (_number(a) and _number(b)) or b == 0:
        return None
    q = abs(a) // abs(b)
    return int(q if (a >= 0) == (b >= 0) else -q)


def _op_ceil_div(a: Any, b: Any) -> int | None:
    return int(-(-a // b)) if _number(a) and _number(b) and b > 0 else None


def _op_min(*arguments: Any) -> int | None:
    return int(min(arguments)) if all(map(_number, arguments)) else None


def _op_max(*arguments: Any) -> int | None:
    return int(max(arguments)) if all(map(_number, arguments)) else None


def show(value: Any) -> str:
    """A value as text: what argv and messages get when the user's own text is not there."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    return "" if value is None else str(value)


def _join(*parts: Any) -> str | None:
    return None if any(p is None for p in parts) else "".join(map(show, parts))


HELPERS: dict[str, Any] = {
    "_read": _read,
    "_lt": _lt,
    "_le": _le,
    "_gt": _gt,
    "_ge": _ge,
    "_any": _any,
    "_join": _join,
    "_op_add": _op_add,
    "_op_sub": _op_sub,
    "_op_mul": _op_mul,
    "_op_div": _op_div,
    "_op_ceil_div": _op_ceil_div,
    "_op_min": _op_min,
    "_op_max": _op_max,
}
