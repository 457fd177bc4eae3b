"""Random command-line words, half of them odd: abbreviations, underscores, dotted keys, attached values, dashes in values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tests.engine import samples

VALUES = (
    "1", "08192", "64k", "1.5K", "4GiB", "auto", "-1", "-0.5", ".5", "", "None", "none", "x", "-x", "-x y", "--x_y", "a=b", "{}",
    '{"a":1}', '{"a": 1k}', "{'a':1}", "[1]", "null", "true", "fp8", "FP8", "a.b", "-a.b", "-O3", "--", "-", "٣", "8_192", "+8", "inf",
)  # fmt: skip
LOOSE = (
    "--",
    "-",
    "x",
    "-O3",
    "-O",
    "2",
    "-O.x=1",
    "-h",
    "--help=all",
    "--bogus",
    "--bogus=1",
    "-z",
    "-",
    "--no-",
    "-n2",
    "",
)
DOTTED = (
    "compilation-config",
    "compilation_config",
    "speculative-config",
    "kv-transfer-config",
    "max-num-seqs",
    "bogus",
    "hf-overrides",
)
KEYS = ("mode", "custom_ops+", "a.b", "max_cudagraph_capture_size", "pass_config.fuse_norm_quant", "")


def respelt(rng: random.Random, spelling: str) -> str:
    """The spelling as it is, shortened, with underscores, in another case, or with one dash less."""
    way = rng.randrange(8)
    if way == 0:
        return spelling[: rng.randrange(2, len(spelling) + 1)]
    if way == 1:
        return spelling[:2] + spelling[2:].replace("-", "_")
    if way == 2 and rng.random() < 0.3:
        return spelling.upper()
    if way == 3 and rng.random() < 0.3:
        return spelling[1:]
    return spelling


def one(rng: random.Random, flags: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The words of one flag, more or less well formed."""
    way = rng.random()
    if way < 0.05:
        return [rng.choice(LOOSE)]
    if way < 0.15:
        head = rng.choice(("--", "-")) + rng.choice(DOTTED) if rng.random() < 0.8 else rng.choice(("-cc", "-sc", "-tp"))
        word, value = f"{head}.{rng.choice(KEYS)}", rng.choice(VALUES)
        return [f"{word}={value}"] if rng.random() < 0.5 else [word, value]
    flag = flags[rng.choice(sorted(flags))]
    if way < 0.5:
        return list(rng.choice(list(samples.accepted(flag))))
    name = respelt(rng, rng.choice([*flag["spellings"], *flag["negative"]]))
    if flag["nargs"] == 0 and rng.random() < 0.7:
        return [name]
    value = (
        rng.choice(VALUES) if rng.random() < 0.6 else samples.TAKES[(flag["type"] or "str").removeprefix("optional_")]
    )
    return [[f"{name}={value}"], [name, value], [f"{name}{value}"], [name]][rng.choice((0, 0, 0, 1, 1, 1, 2, 3))]


def lists(seed: int, count: int, flags: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """`count` lists of words, one to three flags each, the same for the same seed and flags. None reads a file."""
    rng = random.Random(seed)
    usable = {dest: flag for dest, flag in flags.items() if dest not in samples.NO_SAMPLE}
    out: list[list[str]] = []
    while len(out) < count:
        words = [word for _ in range(rng.choice((1, 1, 1, 2, 3))) for word in one(rng, usable)]
        if not any(word.startswith(("--conf", "--model")) for word in words):
            out.append(words)
    return out
