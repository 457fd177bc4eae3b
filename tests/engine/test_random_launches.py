"""Law 6 beyond the recorded runs: 500 random launches that the product accepts on stock vLLM, each put to the real engine."""

from __future__ import annotations

import random

import pytest

from resolver.compile import open_resolver
from resolver.machines import load_machine
from resolver.request import build
from resolver.resolution import Resolution
from tests.engine.real_config import Launch, check_many, with_stand_ins
from tests.engine.test_launches import STOCK, needs, recorded

COUNT = 500
MACHINES = ("rtx-3090-stock", "rtx-4090", "rtx-5090", "a100-40gb", "h200", "2x-rtx-3080-20gb")
ALSO = {
    "ATTENTION_BACKEND": ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION"),
    "TENSOR_PARALLEL_SIZE": ("1", "2"),
    "PIPELINE_PARALLEL_SIZE": ("1", "2"),
    "DISTRIBUTED_EXECUTOR_BACKEND": ("mp",),
    "TOOL_PARSER": ("hermes", "qwen3_coder"),
}
"""Texts for knobs that the recorded runs do not have, and valid ones where those have invalid ones."""
pytestmark = [pytest.mark.slow, pytest.mark.engine]


def accepted(seed: int) -> list[Resolution]:
    """Random requests of texts that were seen in recorded runs, on shipped machines with stock vLLM; those that are accepted."""
    draw = random.Random(seed)
    resolver = open_resolver()
    pool: dict[str, list[str]] = {}
    for case in recorded():
        for knob, text in case.knobs.items():
            pool.setdefault(knob, []).append(text)
    pool |= {knob: list(texts) for knob, texts in ALSO.items()}
    pool = {knob: sorted(set(texts)) for knob, texts in pool.items() if knob not in ("MODEL", "DRAFT", "CG_MODE")}
    machines = {name: load_machine(resolver.root, name) for name in MACHINES}
    out: list[Resolution] = []
    seen: set[tuple[str, ...]] = set()
    while len(out) < COUNT:
        chosen = draw.sample(sorted(pool), draw.randint(1, 7))
        texts = {knob: draw.choice(pool[knob]) for knob in chosen}
        texts |= {"CTX": draw.choice(("fast", "long", "huge")), "SPEC": draw.choice(("mtp", "dflash2", "off"))}
        machine = machines[draw.choice(MACHINES)]
        resolution = resolver.resolve(
            build(resolver.rules, resolver.table, environ=texts), machine, resolver.engine(STOCK)
        )
        key = (machine.name, *resolution.argv)
        if not resolution.refused and key not in seen:
            seen.add(key)
            out.append(resolution)
    return out


def test_random_accepted_launches_are_accepted_by_the_engine() -> None:
    needs()
    launches = accepted(31)
    asked = [
        Launch(
            with_stand_ins(r.argv),
            r.facts["gpu.capability"],
            devices=8,
            env={k: v for k, v in r.environment().items() if k.startswith(("VLLM_", "PYTORCH_"))},
        )
        for r in launches
    ]
    answers = check_many(STOCK, asked)
    refused = [(r.effective_knobs, a.message[:300]) for r, a in zip(launches, answers, strict=True) if not a.ok]
    assert len({r.setting("arm") for r in launches}) > 12, "too few arms to show anything"
    assert refused == []
