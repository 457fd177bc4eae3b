"""Pick: every choice is accepted and meets the wish, what was measured here stands first, and questions are asked on a terminal only."""

from __future__ import annotations

import io
import json
import sys

import pytest

from resolver.cli import dispatch
from resolver.cli.options import read
from resolver.compile import product_root
from resolver.diagnostics import UsageError
from resolver.machines import inline_machine, names
from resolver.request import build
from resolver.views.evidence import load_evidence
from resolver.views.fit_note import overfull
from resolver.views.pick import USES, Choice, Wish, pick
from tests.explain.requests import machine, resolver


def picked(on: str, wish: Wish) -> list[Choice]:
    return pick(resolver(), machine(on), None, wish)


@pytest.mark.parametrize("use", USES)
def test_every_choice_is_accepted_and_meets_the_wish(use: str) -> None:
    seen = 0
    for name in names(resolver().root):
        for vision in (False, True):
            wish = Wish(USES[use], 50000, 3, vision)
            for choice in picked(name, wish):
                line = read(list(choice.words))
                asked = build(
                    resolver().rules, resolver().table, profile=line.get("--profile"), assignments=line.assignments
                )
                again = resolver().resolve(asked, machine(name))
                assert not again.refused, choice.words
                assert again.setting("arm") == choice.resolution.setting("arm")
                assert again.setting("max_model_len") >= 50000
                assert again.setting("max_num_seqs") >= 3
                assert (again.setting("language_model_only") == "off") == vision
                seen += 1
    assert seen > 50


def test_what_was_measured_on_the_card_stands_first() -> None:
    for use in USES.values():
        found = picked("rtx-3090", Wish(use, 8000, 1))
        assert [c.here for c in found] == sorted((c.here for c in found), reverse=True)
        measured = [c.measured for c in found if not c.here]
        assert measured == sorted(measured, reverse=True)
        assert all(c.why and "\n" not in c.why for c in found)
        arms = [c.resolution.setting("arm") for c in found]
        assert len(arms) == len(set(arms))
    ranked = [
        (not c.cost.repeats, c.cost.context is not None, c.cost.speed)
        for c in picked("rtx-3090", Wish(USES["chat"], 8000, 1))
        if c.here
    ]
    assert len(ranked) > 3
    assert ranked == sorted(ranked, reverse=True)


def test_a_rate_without_a_context_stands_behind_those_that_say_it() -> None:
    """mtp-fast has 114 tok/s of a context that nobody wrote down, mtp-long on Triton 62.7 at 25,000 tokens."""
    found = [c for c in picked("rtx-3090", Wish(USES["chat"], 32000, 1)) if c.here]
    found = [c for c in found if not c.cost.repeats]
    known = [c for c in found if c.cost.context is not None]
    unknown = [c for c in found if c.cost.context is None]
    assert known
    assert unknown
    assert found == [*known, *unknown]
    assert max(c.cost.speed for c in unknown) > min(c.cost.speed for c in known), "the order would be the same anyway"
    assert all("context unknown" in c.why for c in unknown)
    assert not any("context unknown" in c.why for c in known)


def test_of_an_arms_own_figures_one_with_a_context_is_taken() -> None:
    (choice,) = [
        c
        for c in picked("rtx-3090", Wish(USES["chat"], 1000, 1))
        if c.resolution.setting("arm") == "mtp-long-flashinfer-fp8"
    ]
    assert choice.cost.context == 8000, "the arm has figures without a context, which would be nearer to 1,000 tokens"


def test_preferences() -> None:
    by_length = [c for c in picked("rtx-3090", Wish(USES["chat"], 8000, 1, prefer="context")) if c.here]
    assert [c.length for c in by_length] == sorted((c.length for c in by_length), reverse=True)
    by_bits = [c for c in picked("rtx-3090", Wish(USES["chat"], 8000, 1, prefer="quality")) if c.here]
    assert [c.bits for c in by_bits] == sorted((c.bits or 0 for c in by_bits), reverse=True)


def test_nothing_fits() -> None:
    assert picked("cpu-only", Wish(USES["chat"], 100000, 1)) == []
    assert picked("rtx-3090", Wish(USES["chat"], 10**7, 1)) == []


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.main(["pick", "--use", "agent", "--context", "120k", "--machine", "rtx-3090", "--json"]) == 0
    choices = json.loads(capsys.readouterr().out)["choices"]
    assert choices
    assert all(c["max_model_len"] >= 120000 for c in choices)
    assert dispatch.main(["pick", "--use", "chat", "--context", "9000k", "--machine", "rtx-3090"]) == 1
    assert "no launch of this machine meets that" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--use", "chatt"], ["--context", "many"], ["--streams", "0"], ["--use", "chat", "--prefer", "fun"], []])  # fmt: skip
def test_wishes_that_are_none(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(UsageError):
        dispatch.main(["pick", *words, "--machine", "rtx-3090"])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_questions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("agent\n120k\n2\nn\n\n"))
    assert dispatch.main(["pick", "--machine", "rtx-3090"]) == 0
    out, asked = capsys.readouterr()
    assert "agent on rtx-3090: 120000 tokens of context, streams: 2, by speed" in out
    assert asked.count("[") == 5
    monkeypatch.setattr(sys, "stdin", Terminal("agent\n"))
    with pytest.raises(UsageError, match="answers ended"):
        dispatch.main(["pick", "--machine", "rtx-3090"])


def test_a_rate_of_answers_that_repeat_their_prompt_stands_behind_the_others() -> None:
    """A copy is drafted almost for nothing: its rate would promise a chat three times what it gets."""
    found = [c for c in picked("rtx-3090", Wish(USES["chat"], 20000, 1)) if c.here]
    repeating, others = [c for c in found if c.cost.repeats], [c for c in found if not c.cost.repeats]
    assert others
    assert all(found.index(a) < found.index(b) for a in others for b in repeating)
    evidence = load_evidence(product_root())
    for choice in others:
        assert evidence.figures[str(choice.cost.figure)].setup.get("task") not in evidence.repeating_tasks
    for choice in found:
        task = evidence.figures[str(choice.cost.figure)].setup.get("task")
        assert task is None or f"task: {task}" in choice.why


def test_what_cannot_fit_stands_last_and_says_so() -> None:
    """A card of 16 GiB holds none of it, whatever was measured on larger ones of its generation."""
    small = inline_machine(
        product_root(),
        {
            "facts": {
                "device": "cuda",
                "gpu": {"name": "a card", "capability": "8.9", "count": 1, "vram_mib": 16384},
                "wsl": False,
            }
        },
        "small",
    )
    found = pick(resolver(), small, None, Wish(USES["chat"], 8000, 1))
    assert found
    assert [c.fits for c in found] == sorted((c.fits for c in found), reverse=True)
    assert not all(c.fits for c in found)
    for choice in found:
        assert choice.fits != overfull(choice.resolution)
        assert choice.fits != ("does not fit into memory" in choice.why)


def test_cards_that_are_there_are_used_where_one_is_too_small() -> None:
    found = picked("2x-rtx-3080-20gb", Wish(USES["chat"], 8000, 1))
    assert any("TENSOR_PARALLEL_SIZE=2" in c.words for c in found)
    assert found[0].fits
    assert not any("TENSOR_PARALLEL_SIZE=2" in c.words for c in picked("rtx-3090", Wish(USES["chat"], 8000, 1)))
