"""Do as many requests at once as the launch takes all get their answer?

A launch whose CUDA graphs leave no room boots, and dies when the first full batch comes.
"""

from __future__ import annotations

import threading
from functools import partial

from resolver.measure.together import together
from resolver.serving.accept.basis import ROOM, Refuted, Subject
from resolver.serving.client import BadAnswer, NoAnswer

NAME = "full batch"
MOST = 256
PROMPT, ANSWER = 64, 64  # tokens
LOOK = 0.05  # seconds between two looks at how many run


def run(subject: Subject) -> str:
    """As many requests as there are seats, started at one moment, and one more when they are through."""
    seats = min(subject.max_num_seqs, MOST)
    prompt = min(PROMPT, max(1, subject.longest() - ANSWER - ROOM))
    answer = min(ANSWER, max(1, subject.longest() - prompt - ROOM))
    calls = [partial(subject.complete, subject.prompt(f"batch {seat}", prompt), answer) for seat in range(seats)]
    peak = _Peak(subject)
    peak.start()
    try:
        together(calls)
    except (BadAnswer, NoAnswer) as error:
        raise Refuted(
            f"{seats} requests at once are not all answered: {error}",
            "lower MAX_SEQS, CG or KV_MEM, and accept it again",
        ) from None
    finally:
        peak.over.set()
        peak.join()
    try:
        subject.complete(subject.prompt("batch after", prompt), 1)
    except (BadAnswer, NoAnswer) as error:
        raise Refuted(
            f"after {seats} requests at once it answers no more: {error}", "lower MAX_SEQS, CG or KV_MEM"
        ) from None
    steps = f"{seats * subject.query_tokens} query tokens a step"
    graphs = f" of {subject.captured} captured" if subject.captured else ""
    return f"{seats} at once, up to {peak.most} seen in the engine together, {steps}{graphs}"


class _Peak(threading.Thread):
    """Watches how many requests the engine has."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(daemon=True)
        self.subject, self.most, self.over = subject, 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(LOOK):
            self.most = max(self.most, self.subject.server.counters().busy)
