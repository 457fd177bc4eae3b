"""Named readings of a text, asked as `name.reading` in conditions and expressions. Each is total: a text that has no such reading gives None."""

from __future__ import annotations

import re
from collections.abc import Callable

Reading = str | int | bool | None

_PLAIN = re.compile(r"(0|[1-9][0-9]{0,17})\Z")
_LOOPBACK = re.compile(r"127(\.[0-9]{1,3}){1,3}\Z")
_NEGATIVE = re.compile(r"-[0-9]+\Z|-[0-9]*\.[0-9]+\Z")
_GIB = re.compile(r"[0-9.]{1,20}\Z")


def number(text: str) -> int | None:
    """Plain digits without a leading zero; anything else (`64k`, `auto`, `08192`) has no number."""
    return int(text) if _PLAIN.match(text) else None


def tokens(text: str) -> int | None:
    """The number of tokens that vLLM reads: `64k` is 64,000, `08192` is 8,192; `auto` has none."""
    from resolver.passthrough.types import sized_int  # only where a length is asked about

    stripped = text.strip()
    plain = stripped.isascii() and stripped.isdigit() and len(stripped) <= 18
    return int(stripped) if plain else sized_int(stripped)


def _scaled(text: str, scale: int) -> int | None:
    """A number of digits with at most one dot, times `scale`, exact and truncated; the decimal module costs 4 ms to import."""
    if not _GIB.match(text):
        return None
    whole, _, rest = text.partition(".")
    return int(whole + rest) * scale // 10 ** len(rest) if (whole + rest).isdigit() else None


def gib_bytes(text: str) -> int | None:
    """GiB written with digits and dots, in whole bytes, truncated."""
    return _scaled(text, 1 << 30)


def loopback(text: str) -> bool:
    """Whether a host is reachable from this machine only: 127.x.y.z, localhost, ::1; a name such as 127.example.org is not."""
    return bool(_LOOPBACK.match(text)) or text in ("localhost", "::1")


def length(text: str) -> int:
    """How many characters the text has: all that is ever shown of a secret."""
    return len(text)


def thousandths(text: str) -> int | None:
    """A share such as 0.93 in whole thousandths, truncated."""
    return _scaled(text, 1000)


def expandable(text: str) -> bool | None:
    """What an allocator configuration says of expandable segments; None when it says nothing."""
    found = re.findall(r"expandable_segments\s*:\s*(true|false)", text, re.IGNORECASE)
    return found[-1].lower() == "true" if found else None


def reads_as_flag(text: str) -> bool:
    """Whether the engine's parser would take the word for a flag: it starts with `-`, and is no number and not text with a space."""
    return len(text) > 1 and text.startswith("-") and " " not in text and not _NEGATIVE.match(text)


def mentions_dflash(text: str) -> bool:
    """Whether a path holds the word by which vLLM takes a model for a DFlash drafter."""
    return "dflash" in text.lower()


def mentions_positions(text: str) -> bool:
    """Whether an override of a model's configuration may move the length that the model is made for."""
    return re.search(r"rope|position|max_\w*len|seq_len|n_positions|text_config", text, re.IGNORECASE) is not None


def _json_object(text: str) -> dict[str, object] | None:
    import json  # only where such a text is asked about

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def json_keys(text: str) -> int | None:
    """How many keys a JSON object has."""
    found = _json_object(text)
    return None if found is None else len(found)


def json_method(text: str) -> str | None:
    """The `method` of a speculative configuration."""
    found = (_json_object(text) or {}).get("method")
    return found if isinstance(found, str) else None


def json_connector(text: str) -> str | None:
    """The `kv_connector` of a KV transfer configuration."""
    found = (_json_object(text) or {}).get("kv_connector")
    return found if isinstance(found, str) else None


def json_drafts(text: str) -> int | None:
    """The number of drafts that a speculative configuration names."""
    found = (_json_object(text) or {}).get("num_speculative_tokens")
    return found if type(found) is int else None


def json_graph_mode(text: str) -> str | None:
    """The `cudagraph_mode` of a compilation configuration."""
    found = (_json_object(text) or {}).get("cudagraph_mode")
    return found.upper() if isinstance(found, str) else None


def json_captured(text: str) -> int | None:
    """The largest batch of query tokens that a compilation configuration has captured."""
    found = _json_object(text) or {}
    most, sizes = found.get("max_cudagraph_capture_size"), found.get("cudagraph_capture_sizes")
    if type(most) is int:
        return most
    return max((n for n in sizes if type(n) is int), default=None) if isinstance(sizes, list) else None


READINGS: dict[str, Callable[[str], Reading]] = {
    "number": number,
    "tokens": tokens,
    "gib_bytes": gib_bytes,
    "loopback": loopback,
    "length": length,
    "thousandths": thousandths,
    "expandable": expandable,
    "reads_as_flag": reads_as_flag,
    "mentions_dflash": mentions_dflash,
    "mentions_positions": mentions_positions,
    "json_keys": json_keys,
    "json_method": json_method,
    "json_connector": json_connector,
    "json_drafts": json_drafts,
    "json_graph_mode": json_graph_mode,
    "json_captured": json_captured,
}


def read(reading: str, value: object) -> Reading:
    """Apply a reading to a value of the launch; a whole number reads as its digits, null as null."""
    if value is None or isinstance(value, bool):
        return None
    return READINGS[reading](str(value))
