"""Numbers that a refusal computes are offered, and are the largest or smallest that will do."""

from __future__ import annotations

import pytest

from resolver.knobs import Given
from resolver.resolution import Resolution
from resolver.views.suggest import suggest
from resolver.views.suggest_numbers import computed
from resolver.views.whynot_points import example_point
from tests.explain.requests import ask, resolver


def offered(resolution: Resolution, limit: int = 3) -> set[str]:
    return {str(change) for item in suggest(resolution, limit=limit) for change in item.changes}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("mtp-huge", "MAX_LEN=262145"), "MAX_LEN=262144"),
        (("mtp-huge", "MAX_LEN=300k"), "MAX_LEN=262144"),
        (("dflash2-fast", "MAX_LEN=72k"), "MAX_LEN=69440"),
        (("mtp-fast", "KV_MEM=3000000000"), "KV_MEM=5113774080"),
        (("mtp-fast", "KV_MEM=3000000000"), "MAX_LEN=34992"),
        (("dflash2-long", "DFLASH_TOKENS=15"), "KV_MEM=6008340480"),
    ],
)
def test_the_number_that_the_refusal_computes(words: tuple[str, ...], wanted: str) -> None:
    assert wanted in offered(ask(*words))


def test_the_knob_that_the_number_was_read_from() -> None:
    """The refusal speaks of MAX_LEN; on dflash2 another knob gave the length. What does not fit the card is not offered."""
    words = ("dflash2-huge", "DFLASH_MAX_LEN=500000", "KV_MEM=")
    assert "DFLASH_MAX_LEN=262144" in offered(ask(*words, on="h200"))
    assert "DFLASH_MAX_LEN=262144" not in offered(ask(*words, on="rtx-3090"))


def test_one_more_is_refused_by_the_same_guard() -> None:
    """Every number that any guard's own examples lead to: it cures the refusal, and it is at the border."""
    tried = 0
    for guard in resolver().rules.guards.values():
        for example in guard.fires if guard.severity == "refuse" else ():
            point = example_point(ask("mtp-fast"), example)
            resolution = resolver().resolve(point.request, point.machine, point.engine)
            for name, text in computed(resolution, guard):
                fires = [_fires(resolution, guard.id, name, int(text) + more) for more in (-1, 0, 1)]
                if not fires[1]:
                    assert fires[0] or fires[2], (guard.id, name, text)
                    tried += 1
    assert tried > 10


def _fires(resolution: Resolution, guard: str, name: str, number: int) -> bool:
    asked = resolution.request
    knobs = {**asked.knobs, name: Given(str(number), "argument")}
    changed = type(asked)(knobs, asked.environ, asked.args, asked.profile)
    again = resolver().resolve(changed, resolution.machine, resolution.engine)
    return any(fired.id == guard for fired in again.fired)


def test_no_number_where_a_flag_wins_over_the_knob() -> None:
    """With --max-model-len among the flags, MAX_LEN changes nothing: it is not offered."""
    assert not any(c.startswith("MAX_LEN=") for c in offered(ask("off-huge", args=("--max-model-len", "1M"))))
