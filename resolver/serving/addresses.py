"""Where a server that was told to bind an address is reached from this machine."""

from __future__ import annotations

from resolver.coercions import loopback

ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Every address of the machine, and the one of them that is asked."""


def asked(host: str) -> str:
    """The address that a server which binds `host` is asked at: "every address" on the loopback."""
    return ANYWHERE.get(host, host)


def here(host: str) -> bool:
    """Whether a server at `host` is on this machine."""
    return loopback(asked(host))


def same(one: str, other: str) -> bool:
    """Whether two addresses to bind are asked at one place."""
    return _number(one) == _number(other)


def url(host: str, port: int) -> str:
    """The URL of a server that binds `host`, from this machine."""
    at = asked(host)
    return f"http://{f'[{at}]' if ':' in at else at}:{port}"


def _number(host: str) -> str:
    return "127.0.0.1" if host == "localhost" else asked(host)
