"""Variables of the caller's environment that nearly name a knob or a variable of the engine are told of, and no ordinary one is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from resolver import request
from resolver.diagnostics import Diagnostic
from resolver.knobs import FREE_TYPES, read_text
from resolver.near_misses import near_misses_of
from resolver.resolution import Resolution
from tests.explain.requests import machine, resolver, text_for

ORDINARY = [
    name
    for line in (Path(__file__).parent / "data" / "ordinary_variables.txt").read_text().splitlines()
    if not line.startswith("#")
    for name in line.split()
]
TEXTS = ("1", "0", "4", "8192", "64k", "0.5", "long", "off", "none", "int8", "TRITON_ATTN", "/usr/x", "text", "[]", "")


def resolve(environ: dict[str, str], env_file: dict[str, tuple[str, str]] | None = None) -> Resolution:
    r = resolver()
    asked = request.build(r.rules, r.table, profile="mtp-fast", environ=environ, env_file=env_file)
    return r.resolve(asked, machine("rtx-3090"))


def said(**environ: str) -> list[Diagnostic]:
    return [d for d in resolve(environ).diagnostics if d.rule.startswith("variable-that")]


@pytest.mark.parametrize("text", TEXTS)
def test_an_ordinary_environment_is_no_near_miss(text: str) -> None:
    assert len(ORDINARY) > 400
    near_misses = near_misses_of(resolver())
    engine = resolve({}).engine
    others = [n for n in ORDINARY if n not in near_misses.variables and n not in engine.variables]
    assert not {n: near for n in others if (near := near_misses.knob(n, {n: text}))}
    assert said(**dict.fromkeys(others, text)) == []


NEAR = [
    ("MAX_SEQ", "4", "MAX_SEQS"),
    ("MAXSEQS", "4", "MAX_SEQS"),
    ("SEQS_MAX", "4", "MAX_SEQS"),
    ("max_seqs", "4", "MAX_SEQS"),
    ("MAX_NUM_SEQS", "4", "MAX_SEQS"),
    ("VLLM_MAX_SEQS", "4", "MAX_SEQS"),
    ("MAX_MODEL_LEN", "32768", "MAX_LEN"),
    ("MAX_LENGTH", "32k", "MAX_LEN"),
    ("GPU_MEMORY_UTILIZATION", "0.9", "GPU_UTIL"),
    ("GPU_UTILISATION", "0.9", "GPU_UTIL"),
    ("PREFIX_CACHING", "0", "PREFIX_CACHE"),
    ("PREFIX_CAHCE", "0", "PREFIX_CACHE"),
    ("SPEC_ATTENTION", "0", "SPEC_ATTN"),
    ("TENSOR_PARALLEL", "2", "TENSOR_PARALLEL_SIZE"),
    ("ATTENTION_BACKENDS", "TRITON_ATTN", "ATTENTION_BACKEND"),
    ("VLLM_ATTENTION_BACKEND", "TRITON_ATTN", "ATTENTION_BACKEND"),
    ("DYNAMIK_K", "[[1,3,7],[4,512,3]]", "DYNAMIC_K"),
    ("CTXX", "long", "CTX"),
    ("SPEK", "off", "SPEC"),
    ("ctx", "long", "CTX"),
    ("VISON", "1", "VISION"),
    ("VLLM_APIKEY", "not-a-real-key", "VLLM_API_KEY"),
    ("VLM_USE_FLASHINFER_SAMPLER", "1", "VLLM_USE_FLASHINFER_SAMPLER"),
    ("vllm_logging_level", "DEBUG", "VLLM_LOGGING_LEVEL"),
]


@pytest.mark.parametrize(("name", "text", "meant"), NEAR)
def test_a_near_miss_is_a_warning_that_names_the_right_one(name: str, text: str, meant: str) -> None:
    (only,) = said(**{name: text})
    assert only.severity == "warn"
    assert only.message.startswith(f"{name} is in the environment")
    assert only.fix == f"did you mean {meant}?"
    assert text not in only.message or len(text) < 3
    assert not resolve({name: text}).refused


def test_one_letter_less_is_found_in_every_knob_of_several_words() -> None:
    """Any letter but a digit, in any word of three letters or more: the knob is named, or another that is as near."""
    rng = random.Random(3)
    known = near_misses_of(resolver())
    knobs = [k for k in resolver().rules.knobs.values() if "_" in k.env and k.type not in ("ignored", "secret")]
    tried = 0
    for knob in knobs:
        if knob.env.startswith("VLLM_"):
            continue
        texts = [text_for(knob, rng) for _ in range(40)]
        text = next(t for t in texts if t and not read_text(knob, t).problem)
        for i, letter in enumerate(knob.env):
            slip = knob.env[:i] + knob.env[i + 1 :]
            word = knob.env[:i].rpartition("_")[2] + knob.env[i:].partition("_")[0]
            if letter.isalpha() and len(word) > 2 and slip not in known.variables:
                tried += 1
                assert known.knob(slip, {slip: text}), (slip, text)
    assert tried > 200


def test_a_text_that_the_knob_could_not_have_is_somebody_elses() -> None:
    assert said(API_SERVER="2")
    for text in ("https://10.0.0.1:6443", "two", ""):
        assert said(API_SERVER=text) == []
    assert said(CACHE_PREFIX="shop:") == []
    free = [k for k in resolver().rules.knobs.values() if k.type in FREE_TYPES and "_" not in k.env]
    assert {"MODEL", "HOST", "DRAFT"} <= {k.env for k in free}
    for knob in free:
        assert said(**{knob.env + "S": "/srv/x"}) == []


def test_beside_the_right_one_it_is_somebody_elses() -> None:
    assert said(MAX_SEQ="4", MAX_SEQS="3") == []


def test_other_variables_of_the_engine_are_a_note() -> None:
    (only,) = said(VLLM_SOMETHING_OF_MINE="1")
    assert (only.severity, only.fix) == ("note", "unset it, unless a plugin of your own reads it")
    assert said(VLLM_LOGGING_LEVEL="DEBUG", CUDA_PATH="/x", HF_HOME="/x") == []


def test_what_the_env_file_says_is_not_said_again() -> None:
    for environ, count in (({}, 0), ({"MAX_SEQ": "4"}, 1)):
        found = resolve(environ, {"MAX_SEQ": ("4", "env:1:1")}).diagnostics
        assert sum(d.rule == "variable-that-is-no-knob" for d in found) == count
