"""The engine data and the rules about spellings, against the real parser. Needs PARSER_VENV; says so where it is not set."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from tests.engine import samples
from tests.engine.real_parser import VARIABLE, available, parse_many
from tests.engine.test_engine_files import FLAGS_WITH_MODEL_TAG, document

PINNED = "0.31.0"
pytestmark = pytest.mark.slow

# words behind `vllm serve`, and None (accepted) or a part of the reason
SPELLINGS: list[tuple[list[str], str | None]] = [
    (["m", "--kv-cache-memory", "4G"], None),
    (["m", "--max-num", "4"], "ambiguous option"),
    (["m", "--max_num_s", "4"], "ambiguous option"),
    (["m", "--kv-cache-dt", "fp8"], "ambiguous option"),
    (["m", "--kv-cache-dtype", "fp8"], None),
    (["m", "--kv-cache-dtype-skip", "1"], None),
    (["m", "--no-enable_prefix_caching"], None),
    (["m", "--Max-Num-Seqs", "4"], "unrecognized arguments"),
    (["m", "--max_num-seqs=4"], None),
    (["m", "-max_num_seqs", "4"], "unrecognized arguments"),
    (["m", "--max-num-seqs="], "invalid int value"),
    (["m", "--enable-prefix-caching=true"], "ignored explicit argument"),
    (["m", "--enable-prefix-caching", "true"], "unrecognized arguments: true"),
    (["--enable-prefix-caching", "m"], None),
    (["m", "-tp", "2"], None),
    (["m", "-tp=2"], None),
    (["m", "-tp2"], "unrecognized arguments: -tp2"),
    (["m", "-t", "2"], None),
    (["m", "-t=2"], "unrecognized arguments"),
    (["m", "-n2"], None),
    (["m", "-p", "2"], "ambiguous option"),
    (["m", "--tp", "2"], "unrecognized arguments"),
    (["m", "-O3"], None),
    (["m", "-O", "3"], None),
    (["m", "-O", "4"], "unrecognized arguments"),
    (["m", "--compilation-config.mode", "3"], None),
    (["m", "--compilation_config.mode=3"], None),
    (["m", "-cc.mode=3"], None),
    (["m", "--compilation-c.mode=3"], None),
    (["m", "--cc.mode=3"], "unrecognized arguments"),
    (["m", "--compilation-config.bogus=3"], "unexpected_keyword_argument"),
    (["m", "--compilation-config.mode"], "IndexError"),
    (["m", "--max-num-seqs.x", "4"], "invalid int value"),
    (["m", "--gpu-memory-utilization", "-0.5"], "IndexError"),
    (["m", "--gpu-memory-utilization=-0.5"], None),
    (["m", "--max-num-seqs", "bad", "--max-num-seqs", "5"], "invalid int value"),
    (["m", "--no-headless"], "unrecognized arguments"),
    (["m", "--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3}'], None),
    (["m", "--speculative-config", "{'method':'ngram'}"], "cannot be converted"),
    (["m", "--speculative-config", "None"], None),
    (["m", "--speculative-config", "none"], "cannot be converted"),
    (["m", "--compilation-config", "None"], "json_invalid"),
    (["m", "--compilation-config", '{"max_cudagraph_capture_size": 1k}'], None),
    (["m", "--"], None),
    (["--", "m"], None),
    (["m", "--", "--max-num-seqs", "4"], "unrecognized arguments: --max-num-seqs 4"),
    (["m", "--port", "1", "--"], "unrecognized arguments: --"),
    (["m", "--host", "-x"], "expected one argument"),
    (["m", "--host", "-x y"], None),
    (["m", "--max-num-seqs", "-1"], None),
    (["m", "n"], "unrecognized arguments: n"),
    (["--port", "1", "m"], None),
    ([], None),
    (["m", "--model", "x"], "unrecognized arguments: m"),
    (["--served-model-name", "a", "m"], "ValueError: `model` should be provided as the first positional"),
    (["m", "--config=nowhere.yaml"], None),
    (["m", "--config", "nowhere.yaml"], "FileNotFoundError"),
    (["m", "--config", "nowhere.txt"], "must be of a yaml/yml type"),
    (["m", "--help"], "help or version"),
    (["m", "--max-model-len=auto"], None),
    (["m", "--max-num-batched-tokens=auto"], "invalid human_readable_int"),
    (["m", "--max-model-len=08192"], None),
    (["m", "--max-model-len=1.5K"], "Decimals are not allowed"),
    (["m", "--max-num-seqs=64k"], "invalid int value"),
    (["m", "--dtype", "fp16"], "invalid choice"),
    (["m", "--moe-backend", "Triton"], None),
    (["m", "--attention-backend", "bogus"], None),
    (["m", "--enable-auto-tool-choice"], "validate: TypeError"),
    (["m", "--sse-keep-alive-interval=-3"], "validate: ValueError"),
]


def needs(version: str) -> None:
    """Skips the test, saying why, where there is no parser of this version to ask."""
    if not available(version):
        pytest.skip(f"{VARIABLE} names no parser environment with vLLM {version}")


def test_spellings() -> None:
    needs(PINNED)
    answers = parse_many(PINNED, [words for words, _ in SPELLINGS])
    wrong = [
        (words, wanted, reason)
        for (words, wanted), (ok, reason) in zip(SPELLINGS, answers, strict=True)
        if ok != (wanted is None) or (wanted or "") not in reason
    ]
    assert wrong == []


def sampled(doc: dict[str, Any], make: Callable[[dict[str, Any]], Any]) -> list[list[str]]:
    """One command line for each sample of each flag of a version."""
    flags = [flag for dest, flag in doc["flags"].items() if dest not in samples.NO_SAMPLE]
    return [["m", *words] for flag in flags for words in make(flag)]


@pytest.mark.parametrize("version", sorted(FLAGS_WITH_MODEL_TAG))
def test_data_says_what_the_parser_does(version: str) -> None:
    """Every spelling, choice and type of the data is read by the parser, and what the data excludes is refused."""
    needs(version)
    doc = document(version)
    takes, refuses = sampled(doc, samples.accepted), sampled(doc, samples.refused)
    assert (len(takes) > 600, len(refuses) > 400) == (True, True)
    answers = parse_many(version, [*takes, *refuses])
    late = [
        (w, reason)
        for w, (ok, reason) in zip(takes, answers, strict=False)
        if not ok and not reason.startswith("validate: ")
    ]
    taken = [
        w
        for w, (ok, reason) in zip(refuses, answers[len(takes) :], strict=True)
        if ok or reason.startswith("validate: ")
    ]
    assert (late, taken) == ([], [])


IN_CONFIGS: tuple[Any, ...] = (None, True, 1, 7, -1, 0.5, "", "x", "FULL", [1], ["+rms_norm"], {"a": 1}, {})


def test_config_schemas_take_nothing_that_the_parser_refuses() -> None:
    """Every key of every configuration with many values: what fits the schema is parsed, but for checks that are code.

    Checks that are code show as "Value error" (a validator) or as another exception's name, and no schema can hold them.
    """
    needs(PINNED)
    doc = document(PINNED)
    lines, fits = [], []
    for dest, schema in doc["configs"].items():
        if not doc["flags"][dest]["type"].endswith("dataclass"):
            continue
        validator = jsonschema.Draft202012Validator(schema)
        for key in (*schema["properties"], "no_such_key"):
            for value in IN_CONFIGS:
                config = dict.fromkeys(schema.get("required", ()), "x") | {key: value}
                lines.append(["m", f"{doc['flags'][dest]['spellings'][0]}={json.dumps(config)}"])
                fits.append(validator.is_valid(config))
    answers = parse_many(PINNED, lines)
    code = [not ok and ("Value error" in reason or not reason.startswith("argument ")) for ok, reason in answers]
    wrong = [
        (line[1], reason[:150])
        for line, fit, (ok, reason), by_code in zip(lines, fits, answers, code, strict=True)
        if fit and not ok and not by_code
    ]
    assert sum(fits) > 300
    assert sum(code) < 60
    assert wrong == []
    assert not any(ok for line, (ok, _) in zip(lines, answers, strict=True) if "no_such_key" in line[1])


def test_a_command_line_with_its_program() -> None:
    needs(PINNED)
    assert parse_many(
        PINNED, [["venv/bin/vllm", "serve", "m", "--port", "1"], ["venv/bin/vllm", "serve", "m", "--bogus"]]
    ) == [
        (True, ""),
        (False, "unrecognized arguments: --bogus"),
    ]


def test_without_an_environment_it_says_how_to_make_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.engine_data.environment import ParserEnvironmentError

    monkeypatch.setenv(VARIABLE, json.dumps("nowhere"))
    with pytest.raises(ParserEnvironmentError, match=r"python -m tools\.engine_data env --env"):
        parse_many(PINNED, [["m"]])
