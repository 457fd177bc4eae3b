"""Requests for the tests of the views: by hand, and at random with most of them refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache

from resolver import request
from resolver.compile import open_resolver
from resolver.facts import Machine
from resolver.machines import load_machine, names
from resolver.model import Knob
from resolver.resolution import Resolution
from resolver.resolve import Resolver

ARGS = (
    ("--kv-cache-dtype", "fp8"),
    ("--kv-cache-dtype=int8_per_token_head",),
    ("--attention-backend", "FLASHINFER"),
    ("--dtype", "float16"),
    ("-tp", "2"),
    ("--no-such-flag", "3"),
    ("--port", "nine"),
    ("--speculative-config", '{"method":"mtp","num_speculative_tokens":2}'),
    ("--kv-transfer-config", '{"kv_connector":"X"}'),
    ("--seed", "7"),
    ("--no-enable-prefix-caching",),
    ("stray",),
)
TEXTS = {
    "tokens": ("8192", "64k", "auto", "lots"),
    "int": ("1", "5", "7", "15", "0", "-3", "many", "4096"),
    "decimal": ("0", "0.5", "4", "-1", "half"),
    "json": ("[[1,3,7],[4,512,3]]", "[[1"),
    "text": ("dspark", "x", "a b'c"),
    "path": ("/models/other", "some where/else"),
    "words": ("--dtype half", "--enforce-eager --kv-cache-dtype fp8", "--bogus", "--hf-overrides '{\"a\": 1}'"),
    "host": ("0.0.0.0", "localhost"),
    "secret": ("not-a-real-key",),
    "ignored": ("x",),
}


@lru_cache(maxsize=1)
def resolver() -> Resolver:
    return open_resolver()


@lru_cache(maxsize=32)
def machine(name: str) -> Machine:
    return load_machine(resolver().root, name)


def ask(
    profile: str | None,
    *assignments: str,
    on: str = "rtx-3090",
    args: tuple[str, ...] = (),
    engine: str | None = None,
    **environ: str,
) -> Resolution:
    """One request as typed: `KNOB=value` words, engine flags, and the environment by keyword."""
    pairs = [word.partition("=") for word in assignments]
    typed = [(name, text, f"argument {i}") for i, (name, _, text) in enumerate(pairs, 1)]
    r = resolver()
    asked = request.build(r.rules, r.table, profile=profile, assignments=typed, environ=environ, args=args)
    return r.resolve(asked, machine(on), engine)


def text_for(knob: Knob, rng: random.Random) -> str:
    """A text that may or may not be good for the knob."""
    if rng.random() < 0.04:
        return ""
    if knob.allowed:
        return rng.choice([*knob.allowed, *knob.allowed, "nonsense"])
    if knob.type in ("switch", "zero_one"):
        return rng.choice(["0", "1", "0", "1", "off", "2"])
    return rng.choice(TEXTS[knob.type])


def random_request(rng: random.Random) -> Resolution:
    """A request of a few knobs over all layers, on any machine."""
    r = resolver()
    knobs = list(r.rules.knobs.values())
    weights = [
        6
        if k.name
        in ("ctx", "spec", "backend", "pth_fa", "fa2_fp8kv", "dynamic_k", "kv_offload_gb", "dflash_tokens", "lookup")
        else 1
        for k in knobs
    ]
    chosen = {k.name: k for k in rng.choices(knobs, weights, k=rng.randint(0, 6))}
    assignments, environ = [], {"PATH": "/bin", "HOME": "/home/user"}
    for knob in chosen.values():
        if rng.random() < 0.5 and not knob.secret:
            assignments.append((knob.env, text_for(knob, rng), f"argument {len(assignments) + 1}"))
        else:
            environ[knob.env] = text_for(knob, rng)
    if rng.random() < 0.03:
        assignments.append((rng.choice(["CTXX", "SPEK", "VLLM_APIKEY", "QWERTY"]), "long", "argument 9"))
    profile = rng.choice([None, *r.rules.profiles, *(["dflash2-lnog"] if rng.random() < 0.2 else [])])
    args = tuple(w for words in rng.sample(ARGS, rng.choice([0, 0, 0, 1, 1, 2])) for w in words)
    asked = request.build(r.rules, r.table, profile=profile, assignments=assignments, environ=environ, args=args)
    return r.resolve(asked, machine(rng.choice(names(r.root))))


def resolutions(count: int, seed: int) -> Iterator[Resolution]:
    rng = random.Random(seed)
    return (random_request(rng) for _ in range(count))


def refusals(count: int, seed: int) -> Iterator[Resolution]:
    """As many refused requests."""
    rng = random.Random(seed)
    found = 0
    while found < count:
        resolution = random_request(rng)
        if resolution.refused:
            found += 1
            yield resolution
