"""One place knows where a server that binds an address is reached, and how much memory of a card counts as in use."""

from __future__ import annotations

import pytest

from resolver.compile import open_resolver
from resolver.conditions import leaves
from resolver.serving import addresses
from resolver.serving.probes.gpu import IN_USE_MIB


@pytest.mark.parametrize(
    ("host", "asked", "here"),
    [
        ("0.0.0.0", "127.0.0.1", True),
        ("::", "::1", True),
        ("", "127.0.0.1", True),
        ("localhost", "localhost", True),
        ("127.0.0.2", "127.0.0.2", True),
        ("::1", "::1", True),
        ("192.0.2.7", "192.0.2.7", False),
        ("127.example.org", "127.example.org", False),
    ],
)
def test_where_it_is_asked(host: str, asked: str, here: bool) -> None:
    assert addresses.asked(host) == asked
    assert addresses.here(host) is here
    assert addresses.same(host, asked)
    assert addresses.url(host, 80) == (f"http://[{asked}]:80" if ":" in asked else f"http://{asked}:80")


def test_localhost_is_the_loopback_and_others_are_not_the_same() -> None:
    assert addresses.same("localhost", "0.0.0.0")
    assert not addresses.same("::1", "127.0.0.1")
    assert not addresses.same("127.0.0.2", "127.0.0.1")


def test_the_guard_and_the_programs_agree_on_what_is_in_use() -> None:
    guard = open_resolver().rules.guards["gpu-memory-in-use-already"]
    (leaf,) = [leaf for leaf in leaves(guard.when) if leaf.name == "gpu_used_mib"]
    assert leaf.op == ">"
    assert leaf.operand in (IN_USE_MIB, (IN_USE_MIB,)), leaf
