"""Turns defaults of the parser into plain JSON values that are the same on every machine."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import getpass
import os
import re
import socket
import sys
import tempfile
from pathlib import PurePath
from typing import Any


def places() -> dict[str, str]:
    """Texts that belong to this machine, longest first, each with the word that stands for it in the data."""
    found = {
        sys.prefix: "{environment}",
        os.path.realpath(sys.prefix): "{environment}",
        os.path.expanduser("~"): "{home}",
        os.getcwd(): "{cwd}",
        tempfile.gettempdir(): "{tmp}",
        socket.gethostname(): "{hostname}",
        socket.getfqdn(): "{hostname}",
    }
    with contextlib.suppress(KeyError, OSError):  # no user name is known here, so none can be in a default
        found[getpass.getuser()] = "{user}"
    short = {k: v for k, v in found.items() if len(k) > 3 and k not in ("root", "localhost")}
    return dict(sorted(short.items(), key=lambda item: -len(item[0])))


def neutral(text: str) -> str:
    """The text with every machine path, host name and user name replaced, where it stands as a whole word or path."""
    for word, stand_in in places().items():
        text = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", stand_in, text)
    return text


def plain(value: Any) -> Any:
    """JSON form of a default: enums by value (or name), dataclasses as mappings of their init fields, sets sorted."""
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, (str, int)) else value.name
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (str, PurePath)):
        return neutral(str(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f.name for f in dataclasses.fields(value) if f.init and not f.name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(v) for v in value)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    if type(value).__name__ == "_UnsetType":  # 0.29 marks "not given" by an object of its own, beside null
        return "UNSET"
    raise TypeError(f"a default of type {type(value).__name__} has no plain form")
