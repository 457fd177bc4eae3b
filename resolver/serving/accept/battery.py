"""All checks, one after the other: each is tried, whatever the others found, unless the server is gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from resolver.measure.server import NotMeasurable
from resolver.serving.accept import (
    batch,
    boot_log,
    free_memory,
    key,
    known_answers,
    long_prompt,
    models,
    prefix_hit,
    tool_call,
)
from resolver.serving.accept.basis import NotApplicable, Refuted, Subject
from resolver.serving.accept.result import Result
from resolver.serving.client import BadAnswer, NoAnswer
from resolver.serving.ready import Failed


class Check(Protocol):
    """One module of the battery."""

    NAME: str

    def run(self, subject: Subject) -> str:
        """Look. Returns what was seen."""


CHECKS: tuple[Check, ...] = (
    models,
    free_memory,
    key,
    tool_call,
    prefix_hit,
    batch,
    long_prompt,
    known_answers,
    boot_log,
)
LOG = "read the engine's log, and accept it again"


def run(subject: Subject, say: Callable[[Result], None] = lambda _: None) -> Iterator[Result]:
    """Yield what each check found; the rest is left out once nobody answers any more."""
    for check in CHECKS:
        result = one(check, subject)
        say(result)
        yield result
        if result.passed is False and not _answers(subject):
            gone = Result("still there", False, f"it answers no more after the check {check.NAME!r}", LOG)
            say(gone)
            yield gone
            return


def one(check: Check, subject: Subject) -> Result:
    """Run one check. Never raises."""
    began = time.monotonic()

    def result(passed: bool | None, detail: str, fix: str = "") -> Result:
        return Result(check.NAME, passed, detail, fix, time.monotonic() - began)

    try:
        return result(True, check.run(subject))
    except NotApplicable as reason:
        return result(None, str(reason))
    except (Refuted, NotMeasurable) as wrong:
        return result(False, wrong.message, wrong.fix)
    except (Failed, NoAnswer, BadAnswer) as wrong:
        return result(False, str(wrong), LOG)
    except Exception as error:  # an answer that no check foresaw is a wrong answer
        return result(False, f"the answer cannot be read ({type(error).__name__})", LOG)


def _answers(subject: Subject) -> bool:
    try:
        return subject.target.client.get("/health")[0] == 200
    except (NoAnswer, BadAnswer):
        return False
