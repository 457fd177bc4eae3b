"""The shipped engine data: valid, sorted, complete, and equal to reference dumps that were made by other code."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tools.engine_data import compare, write
from tools.engine_data.environment import ROOT

ENGINES = ROOT / "rules/engines"
DATA = Path(__file__).with_name("data")
FLAGS_WITH_MODEL_TAG = {"0.28.0": 286, "0.29.0": 294, "0.30.0": 302, "0.31.0": 313, "0.32.0": 318, "0.33.0": 322}
WITH_ATTENTION = ("0.31.0", "0.33.0")
HIDDEN = re.compile(r"0\.33\.0 flag \w+: spellings: \['--no-(enable|disable)-[a-z0-9-]+'\] on one side only")


def document(version: str) -> dict[str, Any]:
    """The shipped file of one version."""
    found: dict[str, Any] = json.loads((ENGINES / f"vllm-{version}.json").read_text(encoding="utf-8"))
    return found


def reference(name: str) -> Any:
    """A reference dump from the test data."""
    with gzip.open(DATA / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)


@pytest.fixture(params=sorted(FLAGS_WITH_MODEL_TAG))
def doc(request: pytest.FixtureRequest) -> dict[str, Any]:
    return document(request.param)


def test_every_file_is_tested() -> None:
    assert {p.stem.removeprefix("vllm-") for p in ENGINES.glob("vllm-*.json")} == set(FLAGS_WITH_MODEL_TAG)


def test_schema(doc: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "rules/schema/engine.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(doc)


def test_text_is_what_the_tool_writes(doc: dict[str, Any]) -> None:
    """Order and layout are the writer's own, so a remade file differs only where the engine does."""
    assert write.text(doc) == (ENGINES / f"vllm-{doc['version']}.json").read_text(encoding="utf-8")


def test_sorted(doc: dict[str, Any]) -> None:
    for part in (doc["flags"], doc["configs"], doc["variables"], doc["other_variables"], doc["source"]):
        assert list(part) == sorted(part)
    for flag in doc["flags"].values():
        assert list(flag) == sorted(flag)
        assert flag["negative"] == sorted(flag["negative"])


def test_flag_count(doc: dict[str, Any]) -> None:
    """The known counts are of argparse actions; one of them is the positional model."""
    assert len(doc["flags"]) + len(doc["positionals"]) == FLAGS_WITH_MODEL_TAG[doc["version"]]


def test_configs(doc: dict[str, Any]) -> None:
    """Every configuration has a schema that is one, and every dataclass flag has a schema."""
    for schema in doc["configs"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    dataclasses = {dest for dest, flag in doc["flags"].items() if (flag["type"] or "").endswith("dataclass")}
    assert dataclasses | {"speculative_config"} <= set(doc["configs"])
    compilation = jsonschema.Draft202012Validator(doc["configs"]["compilation_config"])
    assert compilation.is_valid(
        {"max_cudagraph_capture_size": 32, "custom_ops": ["+rms_norm"], "cudagraph_mode": "FULL"}
    )
    assert not compilation.is_valid({"pass-config": {}})
    assert not compilation.is_valid({"max_cudagraph_capture_size": [32]})


def test_no_spelling_twice(doc: dict[str, Any]) -> None:
    spellings = [s for flag in doc["flags"].values() for s in (*flag["spellings"], *flag["negative"])]
    assert len(spellings) == len(set(spellings))


def test_nothing_of_this_machine(doc: dict[str, Any]) -> None:
    text = json.dumps(doc)
    assert not re.search(r'"/(root|home|tmp|work|usr|opt)\b|0x[0-9a-f]{6,}|localhost\.', text)


def test_equal_to_the_reference(tmp_path: Path) -> None:
    """Flags, choices, defaults, variables and the whole attention table against dumps made by other scripts.

    Known differences, each checked: help hides the `--no-enable-…` spellings of 0.33 from the reference, the parser takes
    them; FlashInfer's constructor in 0.33 is undetermined in the reference, because that run had no stand-in for its
    scratch counters.
    """
    for path in DATA.glob("*.json.gz"):
        (tmp_path / path.name.removesuffix(".gz")).write_bytes(gzip.decompress(path.read_bytes()))
    found = compare.folder(ENGINES, tmp_path)
    hidden = [line for line in found if HIDDEN.fullmatch(line)]
    scratch = [
        line
        for line in found
        if line.startswith("0.33.0 attention") and line.endswith("FLASHINFER serves against unknown []")
    ]
    assert [line for line in found if line not in hidden and line not in scratch] == []
    assert (len(hidden), len(scratch)) == (50, 246)


def causal(version: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Our row and the reference's, for every causal bf16 row of the reference. A missing row fails the test."""
    ours = {
        (r["capability"], r["kv_cache_dtype"], r["block_size"]): r
        for r in document(version)["attention"]["rows"]
        if r["causal"]
    }
    for raw in reference(f"backend_matrix-{version.rsplit('.', 1)[0]}")["rows"]:
        if not raw["use_non_causal"]:
            assert (raw["dtype"], raw["head_size"]) == ("bfloat16", 256)
            yield ours.pop((raw["capability"], raw["kv_cache_dtype"], raw["block_size"])), raw
    assert not ours


def test_attention_of_0_31_both_layers() -> None:
    """Every causal row: the backends that serve are those that the selector and then the constructor accept."""
    rows = 0
    for ours, raw in causal("0.31.0"):
        selector = {b for b, reasons in raw["explicit"].items() if not reasons}
        constructor = {b for b, answer in raw["impl"].items() if answer == "ok"}
        assert set(ours["serves"]) == selector & constructor
        assert {b for b, why in ours["refuses"].items()} | set(ours["serves"]) | set(ours["unknown"]) == set(
            raw["explicit"]
        )
        assert set(ours["serves"]) | set(ours["unknown"]) <= selector
        rows += 1
    assert rows == 324


def test_attention_of_0_33_where_the_reference_knows() -> None:
    rows = 0
    for ours, raw in causal("0.33.0"):
        served = {b for b, reasons in raw["explicit"].items() if not reasons and raw["impl"][b] == "ok"}
        undetermined = {b for b, answer in raw["impl"].items() if answer.startswith("undetermined")}
        assert set(ours["serves"]) - undetermined == served
        assert undetermined <= set(ours["serves"]) | set(ours["unknown"])
        rows += 1
    assert rows == 396


@pytest.mark.parametrize(
    ("capability", "dtype", "serves"),
    [
        ("8.6", "auto", ["FLASHINFER", "FLASH_ATTN", "FLEX_ATTENTION", "TRITON_ATTN"]),
        ("8.6", "fp8", ["FLASHINFER"]),
        ("8.0", "fp8", ["FLASHINFER"]),
        ("8.6", "int8_per_token_head", ["TRITON_ATTN"]),
        ("8.9", "fp8", ["FLASHINFER", "TRITON_ATTN"]),
        ("12.0", "fp8", ["FLASHINFER", "TRITON_ATTN"]),
        ("9.0", "fp8", ["FLASHINFER", "FLASH_ATTN", "TRITON_ATTN"]),
    ],
)
def test_facts_that_the_product_rests_on(capability: str, dtype: str, serves: list[str]) -> None:
    rows = [
        r
        for r in document("0.31.0")["attention"]["rows"]
        if (r["capability"], r["kv_cache_dtype"], r["block_size"], r["causal"]) == (capability, dtype, None, True)
    ]
    assert [r["serves"] for r in rows] == [serves]


def test_other_versions_say_that_attention_is_unknown() -> None:
    for version in FLAGS_WITH_MODEL_TAG:
        assert (document(version)["attention"] is None) == (version not in WITH_ATTENTION)
