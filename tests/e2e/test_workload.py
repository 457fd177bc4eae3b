"""What is asked: the same for every engine, every remainder of a length, and answers that outgrow a small pool."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.e2e import machine  # noqa: F401  (the package makes e2e importable)

from e2e import turns, workload  # isort: skip


def test_prompts_are_the_same_every_time() -> None:
    assert workload.mixed() == workload.mixed()
    assert workload.text(7, 50)[:20] == workload.text(7, 20)


def test_two_hundred_prompts_of_all_lengths_and_some_begin_with_another() -> None:
    prompts = workload.mixed().prompts
    lengths = sorted(map(len, prompts))
    assert (len(prompts), lengths[0] < 40, lengths[-1] > 4000) == (200, True, True)
    longs = [prompt for prompt in prompts if len(prompt) >= workload.CACHED_FROM]
    begun = sum(any(prompt[: len(other)] == other for other in longs if other != prompt) for prompt in prompts)
    assert begun >= 30


@pytest.mark.parametrize("block", [400, 416, 800, 816, 864])
def test_every_remainder_of_a_length_is_asked_on_both_sides_of_a_block(block: int) -> None:
    first, again = workload.residues(block)
    lengths = list(map(len, first.prompts))
    assert {length % workload.RESIDUES for length in lengths} == set(range(workload.RESIDUES))
    assert min(lengths) // block < max(lengths) // block
    assert first.prompts == again.prompts


def test_the_crowd_outgrows_its_pages() -> None:
    batch = workload.crowded(816)
    grown = [-(-(len(prompt) + batch.tokens) // 816) - -(-len(prompt) // 816) for prompt in batch.prompts]
    assert min(grown) >= 3


def test_steps_of_an_answer_are_asked_from_its_text() -> None:
    batch = workload.crowded(816)
    tokens = [[place] * batch.tokens for place in range(len(batch.prompts))]
    nowhere: list[list[int]] = [[] for _ in tokens]
    asked = workload.forced(batch, tokens, nowhere)
    assert len(asked) == len(batch.prompts) * workload.FORCED
    for place, step, prompt in asked:
        assert prompt == (*batch.prompts[place], *[place] * step)
    assert max(step for _, step, _ in asked) > 0.9 * batch.tokens


def test_steps_behind_a_pause_are_asked_too() -> None:
    batch = workload.crowded(816)
    tokens = [[place] * 100 for place in range(len(batch.prompts))]
    pauses = [[40, 97], *([] for _ in tokens[1:])]
    asked = [step for place, step, _ in workload.forced(batch, tokens, pauses) if place == 0]
    assert {40, 41, 42, 45, 51, 97, 98, 99} <= set(asked)
    assert max(asked) < 100
    assert len(asked) == len(set(asked))


def test_an_engine_that_died_holds_up_nobody(tmp_path: Path) -> None:
    names = ("a", "b")
    a, b = (turns.Turns(tmp_path, name, names, time.time() + 30) for name in names)
    b.say("up")
    assert not a.all_up(0.2)
    (tmp_path / "a.dead").touch()
    assert b.all_up(5)
    assert b.my_turn()


def test_nobody_is_timed_while_a_server_boots(tmp_path: Path) -> None:
    one = turns.Turns(tmp_path, "a", ("a",), time.time() + 30, ("server",))
    one.say("up")
    assert not one.all_up(0.2)
    (tmp_path / "server.up").touch()
    assert one.all_up(5)


def test_turns_are_taken_in_order(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    order: list[str] = []

    def go(name: str) -> None:
        turn = turns.Turns(tmp_path, name, names, time.time() + 30)
        turn.say("up")
        turn.all_up(10)
        turn.my_turn()
        order.append(name)
        turn.say("timed")

    threads = [threading.Thread(target=go, args=(name,)) for name in ("c", "a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert order == ["a", "b", "c"]
