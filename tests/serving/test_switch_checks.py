"""What is looked at before the server that runs is stopped, and what only once it is gone."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver.cli import switch_checks
from resolver.compile import open_resolver
from resolver.machines import load_machine
from resolver.request import build
from resolver.resolution import Resolution
from resolver.resolve import Resolver
from tools.cpu_engine import tiny_model


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


def resolved(resolver: Resolver, profile: str, machine: str, **knobs: str) -> Resolution:
    words = [(name, text, "argument") for name, text in knobs.items()]
    request = build(
        resolver.rules, resolver.table, profile=profile, assignments=words, environ={"PATH": "/usr/bin:/bin"}
    )
    return resolver.resolve(request, load_machine(resolver.root, machine))


def test_a_launch_that_does_not_fit_is_no_reason_to_stop_another(resolver: Resolver) -> None:
    found = switch_checks.before(
        resolved(resolver, "mtp-fast", "rtx-3090", MAX_LEN="64000", KV_MEM=str(20 << 30)), None
    )
    assert any(text.startswith("it does not fit into memory: all of it on the card: ") for text in found), found


def test_what_the_running_server_holds_is_no_reason(resolver: Resolver) -> None:
    """Its memory comes back: the card counts as empty, whatever is free now."""
    resolution = resolved(resolver, "mtp-fast", "rtx-3090")
    resolution.facts = {**resolution.facts, "gpu.vram_free_mib": 500}
    assert not [text for text in switch_checks.before(resolution, None) if "fit" in text]


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield int(other.getsockname()[1])


def test_a_port_counts_once_the_other_server_is_gone(resolver: Resolver, tmp_path: Path, listening: int) -> None:
    tiny_model.make(tmp_path / "tiny")
    resolution = resolved(
        resolver, "cpu-tiny", "cpu-only", PORT=str(listening), HOST="127.0.0.1", MODEL=str(tmp_path / "tiny")
    )
    port = f"something listens on port {listening}"
    assert not [text for text in switch_checks.before(resolution, None) if port in text]
    assert [text for text in switch_checks.after(resolution, None) if port in text]


def test_a_model_that_is_not_there_counts_before(resolver: Resolver, tmp_path: Path) -> None:
    resolution = resolved(resolver, "cpu-tiny", "cpu-only", MODEL=str(tmp_path / "nothing"))
    assert [text for text in switch_checks.before(resolution, None) if "the model folder" in text]
    assert not [text for text in switch_checks.after(resolution, None) if "the model folder" in text]
