"""The tables of the matrix page are computed by several processes; one that is killed is told of, not waited for."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from resolver.serving.errors import LaunchError
from resolver.views.html import compute

CHOICES: Any = SimpleNamespace(machines=("a", "b", "c"), a_machine=7)
NOBODY: Any = None


def table(name: str) -> tuple[str, str]:
    return name, name.upper()


def killed(name: str) -> tuple[str, str]:
    if name == "b":
        os.kill(os.getpid(), signal.SIGKILL)
    return name, ""


@pytest.mark.parametrize("cores", [1, 2])
def test_every_machine_in_its_place(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr(compute, "_table", table)
    told: list[tuple[int, int]] = []
    found = compute.tables(NOBODY, CHOICES, lambda done, of: told.append((done, of)))
    assert list(found.items()) == [("a", "A"), ("b", "B"), ("c", "C")]
    assert told == [(7, 21), (14, 21), (21, 21)]


def test_a_process_that_is_killed_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(compute, "LOOK", 0.2)
    monkeypatch.setattr(compute, "_table", killed)
    with pytest.raises(LaunchError, match="was killed"):
        compute.tables(NOBODY, CHOICES, lambda done, of: None)
