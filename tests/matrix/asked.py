"""One request with its machine and engine, as plain data: what strategies make, laws take, and the corpus keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from resolver.compile import open_resolver
from resolver.facts import Machine, machine_from
from resolver.machines import load_machine, unknown_machine
from resolver.request import Request, build
from resolver.resolution import Resolution
from resolver.resolve import Resolver

Document = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """`given` are words of the command line (variable, text); `machine` is a name, None for unknown, or the nested data of a machine file."""

    profile: str | None = None
    given: Sequence[tuple[str, str]] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    env_file: Mapping[str, str] = field(default_factory=dict)
    args: Sequence[str] = ()
    machine: str | Document | None = None
    engine: str | None = None

    def as_line(self) -> str:
        """One line of JSON, ASCII only."""
        return json.dumps({k: v for k, v in asdict(self).items() if v}, sort_keys=True)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Asked:
        known = {k: v for k, v in data.items() if k in cls.__dataclass_fields__}
        known["given"] = [(name, text) for name, text in known.get("given", ())]
        return cls(**known)


@lru_cache(maxsize=1)
def product() -> Resolver:
    """The resolver of the shipped rules."""
    return open_resolver()


@lru_cache(maxsize=256)
def _machine(key: str) -> Machine:
    data = json.loads(key)
    root = product().root
    if data is None:
        return unknown_machine(root)
    return load_machine(root, data) if isinstance(data, str) else machine_from(data, "inline", "test", str(root))


def machine_of(asked: Asked) -> Machine:
    return _machine(json.dumps(asked.machine, sort_keys=True))


def request_of(asked: Asked, resolver: Resolver) -> Request:
    return build(
        resolver.rules,
        resolver.table,
        profile=asked.profile,
        assignments=[(name, text, "an argument") for name, text in asked.given],
        environ=asked.environ,
        env_file={name: (text, "file.env") for name, text in asked.env_file.items()},
        args=asked.args,
    )


def answer(asked: Asked, resolver: Resolver | None = None) -> Resolution:
    """Resolve with the shipped rules, or others."""
    resolver = resolver or product()
    return resolver.resolve(request_of(asked, resolver), machine_of(asked), asked.engine)
