"""A single engine flag is held: a launch of the arm with it is found, or it is proven that there is none, and brute force finds none."""

from __future__ import annotations

import random

import pytest

from resolver.views.whynot import Goal
from resolver.views.whynot_search import Search
from tests.explain.requests import ask, resolver
from tests.explain.whynot_brute import holds_in, others

FLAGS: tuple[tuple[str, ...], ...] = (
    ("--kv-cache-dtype", "fp8"),
    ("--kv-cache-dtype=int8_per_token_head",),
    ("--kv-cache-dtype", "turboquant_k8v4"),
    ("--attention-backend", "FLASHINFER"),
    ("--attention-backend", "triton_attn"),
    ("--attention-backend", "NO_SUCH"),
    ("--block-size", "32"),
    ("--dtype", "float16"),
    ("--max-model-len", "8192"),
    ("--max-num-seqs", "1"),
    ("-tp", "2"),
    ("--speculative-config", '{"method":"ngram","num_speculative_tokens":2}'),
    ("--speculative-config", "{}"),
    ("--kv-transfer-config", '{"kv_connector":"OffloadingConnector","kv_role":"kv_both"}'),
    ("--kv-transfer-config", '{"kv_connector":"X"}'),
    ("--reasoning-parser", "no_such"),
    ("--no-enable-prefix-caching",),
    ("--enforce-eager",),
    ("--seed", "7"),
    ("--port", "nine"),
    ("--no-such-flag", "3"),
    ("stray",),
)
ARMS = tuple(resolver().rules.arms)


def check(words: tuple[str, ...], arm: str, tries: int) -> bool:
    """Whether a launch of the arm with the flag was found; all that is claimed of it is checked."""
    resolution = ask("mtp-fast", args=words)
    goal = Goal(arm=arm)
    search = Search(resolution, goal)
    flags = [a for a in search.assumed if a.kind == "flag"]
    held = flags[:1]
    point, exact = search.ask(held)
    if point is not None:
        assert goal.reached(resolver().resolve(point.request, point.machine, point.engine))
        assert holds_in(resolution, held[0], point)
        return True
    assert exact, f"{arm} with {words}: neither found nor proven impossible"
    for other in others(resolution, goal, held, tries, random.Random(arm)):
        reached = goal.reached(resolver().resolve(other.request, other.machine, other.engine))
        assert not reached, f"{arm} is reached although {words} holds"
    return False


@pytest.mark.parametrize("at", range(len(FLAGS)), ids=lambda at: FLAGS[at][0])
def test_each_flag_with_some_arms(at: int) -> None:
    """Every flag and every arm, but not every pair."""
    for arm in ARMS[at % 9 :: 9]:
        check(FLAGS[at], arm, 40)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("words", FLAGS, ids=lambda words: words[0])
def test_each_flag_with_every_arm(words: tuple[str, ...]) -> None:
    found = [arm for arm in ARMS if check(words, arm, 120)]
    if words[0] in ("--no-such-flag", "stray", "--port") or words[-1] in ("NO_SUCH", "{}"):
        assert not found, "no launch takes this flag"


def test_a_cache_dtype_among_the_flags_does_not_rule_an_arm_out() -> None:
    """What the search once missed: another card serves the arm's backend with that cache."""
    for dtype in ("fp8", "int8_per_token_head"):
        assert check(("--kv-cache-dtype", dtype), "dflash2-fast-triton-bf16", 40)
