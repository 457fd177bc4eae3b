"""What is said of memory before a start: a warning where a launch cannot fit, and nothing where it may."""

from __future__ import annotations

import pytest

from resolver.geometry.verdict import ORDER
from resolver.views.fit_note import memory_notes, overfull, verdict_of
from resolver.views.suggest import suggest
from tests.explain.requests import ask


@pytest.mark.parametrize("words", [("KV_MEM=30000000000",), ("MAX_LEN=262144",)])
def test_what_cannot_fit_is_warned_of(words: tuple[str, ...]) -> None:
    seen = ask("mtp-fast", *words)
    assert not seen.refused
    (note,) = memory_notes(seen)
    assert note.severity == "warn"
    assert "GiB or more" in note.message
    assert note.fix
    assert overfull(seen)


@pytest.mark.parametrize(
    "profile", ["mtp-fast", "mtp-long", "mtp-huge", "dflash2-fast", "dflash2-long", "dflash2-huge"]
)
@pytest.mark.parametrize("machine", ["rtx-3090", "rtx-3090-wsl2", "rtx-4090"])
def test_what_may_fit_is_not(profile: str, machine: str) -> None:
    seen = ask(profile, on=machine)
    found = verdict_of(seen)
    assert found is None or found.answer in ORDER[:3]
    assert memory_notes(seen) == ()


def test_a_refused_launch_and_one_without_arithmetic_say_nothing() -> None:
    assert ask("mtp-fast", "CTX=none").refused
    assert memory_notes(ask("mtp-fast", "CTX=none")) == ()
    assert memory_notes(ask("mtp-fast", "MODEL=/models/other")) == ()


def test_no_suggestion_that_cannot_fit_stands_beside_one_that_may() -> None:
    for words in (("MAX_LEN=500000",), ("DRAFT_TOKENS=100",), ("GPU_UTIL=0.99",), ("KV_MEM=1000",)):
        found = suggest(ask("mtp-fast", *words))
        assert found, words
        assert len({s.fits for s in found}) == 1, words
        assert all(s.fits != overfull(s.resolution) for s in found)
