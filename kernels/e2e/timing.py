# SPDX-License-Identifier: Apache-2.0
"""How long: the first token, cold and from the prefix cache, and a step, by context and streams; and what the GPU does in a step."""

from __future__ import annotations

import random
import statistics
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from e2e.kinds import PROFILED_STEPS, kind_of
from e2e.stepping import Run, Stepper, settle

TEXT_TOKENS = 250
"""Prompts are random bytes: no token of a prompt is a special one."""
STEPS, EDGE = 40, 4


def prompt(seed: int, tokens: int) -> list[int]:
    """A prompt of random tokens; a longer one of the same seed begins with it."""
    return random.Random(seed).choices(range(TEXT_TOKENS), k=tokens)


def pace(run: Run, streams: int) -> dict[str, float]:
    """Milliseconds a step and tokens a step, while all streams decode; the edges are left out."""
    steps = [step for step in run.steps if step.begun == streams][3:-2]
    if len(steps) < 3:
        return {}
    gaps = [1e3 * (b.at - a.at) for a, b in zip(steps, steps[1:], strict=False)]
    return {"ms": round(statistics.fmean(gaps), 3), "ms_median": round(statistics.median(gaps), 3),
            "tokens": round(statistics.fmean(step.tokens for step in steps[1:]), 2)}


def profiled(stepper: Stepper, prompts: list[list[int]]) -> dict[str, Any]:
    """GPU milliseconds a step in all and by kind, over PROFILED_STEPS steps in which every stream decodes."""
    watcher = profile(activities=[ProfilerActivity.CUDA if torch.cuda.is_available() else ProfilerActivity.CPU])
    state = {"from": -1, "stopped": 0}

    def watch(run: Run) -> None:
        full = sum(step.begun == len(prompts) for step in run.steps)
        if state["from"] < 0 and full >= EDGE:
            settle()
            watcher.start()
            state["from"] = full
        elif state["from"] >= 0 and not state["stopped"] and full - state["from"] >= PROFILED_STEPS:
            settle()
            watcher.stop()
            state["stopped"] = 1

    stepper.run(prompts, STEPS, watch=watch)
    if state["from"] < 0 or not state["stopped"]:
        return {}
    kinds: dict[str, float] = {}
    rows = []
    for event in watcher.key_averages():
        micros = event.device_time_total
        if micros:
            kind = kind_of(event.key)
            kinds[kind] = kinds.get(kind, 0.0) + micros
            rows.append([event.key[:80], event.count, round(micros / event.count, 1), kind])
    rows.sort(key=lambda row: -row[1] * row[2])
    each = {kind: round(micros / PROFILED_STEPS / 1e3, 4) for kind, micros in sorted(kinds.items())}
    return {"gpu_ms": round(sum(kinds.values()) / PROFILED_STEPS / 1e3, 4), **each, "top": rows[:8]}


def measure(stepper: Stepper, context: int, streams: tuple[int, ...], cold: bool) -> dict[str, Any]:
    """All figures of one context length. Streams share one prompt, so they share its pages in the prefix cache.

    Without `cold` the prompt is the beginning of a longer one that was seen before, and no cold time is taken.
    """
    text = prompt(context if cold else 0, context)
    out: dict[str, Any] = {"context": context}
    if cold:
        out["ttft_cold"] = round(stepper.run([text], 8).ttft(), 4)
    for name in ("ttft_second", "ttft_warm"):
        run = stepper.run([text], 8)
        out[name] = round(run.ttft(), 4)
        out[name.replace("ttft", "cached")] = next(iter(run.answers.values())).cached
    for number in streams:
        stepper.run([text] * number, 8)                            # first use of a batch size may compile
        out[f"streams_{number}"] = pace(stepper.run([text] * number, STEPS), number)
        out[f"gpu_{number}"] = profiled(stepper, [text] * number)
    return out
