"""An engine driven step by step: which answers were turned out and taken in again is seen from when their tokens came."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.e2e import machine  # noqa: F401  (the package makes e2e importable)


@pytest.fixture
def stepping(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with as much of torch and vLLM as it names."""
    for name, more in (
        ("torch", {"cuda": SimpleNamespace(is_available=lambda: False)}),
        ("vllm", {"SamplingParams": SimpleNamespace}),
        ("vllm.sampling_params", {"RequestOutputKind": SimpleNamespace(DELTA=1)}),
    ):
        module = ModuleType(name)
        vars(module).update(more)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "e2e.stepping", raising=False)
    yield importlib.import_module("e2e.stepping")
    monkeypatch.delitem(sys.modules, "e2e.stepping", raising=False)


class Engine:
    """Gives every open request `width` tokens a step, but nothing to request `out` in the steps of `away`."""

    def __init__(self, away: range, out: str = "x-2", width: int = 1) -> None:
        self.away, self.out, self.width = away, out, width
        self.open: dict[str, int] = {}
        self.steps = 0

    def add_request(self, key: str, prompt: object, sampling: Any) -> None:
        self.open[key] = sampling.max_tokens

    def has_unfinished_requests(self) -> bool:
        return bool(self.open)

    def step(self) -> list[Any]:
        self.steps += 1
        outputs = []
        for key in list(self.open):
            if key == self.out and self.steps in self.away:
                continue
            number = min(self.width, self.open[key])
            self.open[key] -= number
            part = SimpleNamespace(token_ids=[7] * number, logprobs=None)
            outputs.append(
                SimpleNamespace(request_id=key, outputs=[part], finished=not self.open[key], num_cached_tokens=0)
            )
            if not self.open[key]:
                del self.open[key]
        return outputs


@pytest.mark.parametrize(
    ("away", "width", "pauses"),
    [
        (range(0), 1, []),
        (range(10, 40), 1, [9]),
        (range(10, 40), 3, [27]),
        (range(10, 15), 1, []),  # a step or two without a token is no pause
        (range(1, 40), 1, []),  # it waited before it began
    ],
)
def test_a_pause_is_where_others_got_tokens(stepping: Any, away: range, width: int, pauses: list[int]) -> None:
    stepper = stepping.Stepper(Engine(away, width=width), "x")
    run = stepper.run([[1], [2], [3]], 100 * width)
    first, second, third = run.answers.values()
    assert [len(answer.tokens) for answer in (first, second, third)] == [100 * width] * 3
    assert (first.pauses, second.pauses, third.pauses) == ([], pauses, [])


def test_steps_in_which_nobody_got_a_token_are_no_pause(stepping: Any) -> None:
    class Slow(Engine):
        def step(self) -> list[Any]:
            return super().step() if self.steps % 20 == 0 else self._nothing()

        def _nothing(self) -> list[Any]:
            self.steps += 1
            return []

    run = stepping.Stepper(Slow(range(0)), "x").run([[1], [2]], 5)
    assert [answer.pauses for answer in run.answers.values()] == [[], []]
