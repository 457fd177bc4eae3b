"""Diff: what differs between two launches, on every kind of side, and what the change costs at the next start."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from resolver.cli import dispatch
from resolver.compile import product_root
from resolver.diagnostics import UsageError
from resolver.resolution import Resolution
from resolver.views.diff import diff, saved_side, side_of
from resolver.views.result import as_json
from tests.explain.requests import ask, resolutions, resolver


def compare(a: Resolution, b: Resolution) -> dict[str, Any]:
    return diff(side_of("a", a), side_of("b", b), product_root())


def effect(data: dict[str, Any], kind: str) -> list[str]:
    (found,) = (e for e in data["effects"] if e["kind"] == kind)
    assert found["known"]
    return [w["name"] for w in found["because"]]


def test_a_launch_does_not_differ_from_itself() -> None:
    for resolution in resolutions(60, seed=51):
        data = compare(resolution, resolution)
        assert data["same"]
        assert not data["knobs"]


def test_every_difference_is_shown_and_nothing_else() -> None:
    sample = list(resolutions(40, seed=52))
    for a, b in pairwise(sample):
        data = compare(a, b)
        one, other = as_json(a), as_json(b)
        names = {
            n for n in {**one["settings"], **other["settings"]} if one["settings"].get(n) != other["settings"].get(n)
        }
        assert {s["name"] for s in data["settings"]} == names
        assert bool(data["argv"]) == (one["argv"] != other["argv"])
        assert data["same"] <= (one["argv"] == other["argv"] and one["env"] == other["env"])


def test_one_knob() -> None:
    data = compare(ask("mtp-fast"), ask("mtp-fast", "MAX_SEQS=2"))
    assert data["knobs"] == [{"name": "MAX_SEQS", "a": None, "b": "2"}]
    assert data["argv"] == [{"flag": "--max-num-seqs", "a": "8", "b": "2"}]
    settings = {found["name"]: found for found in data["settings"]}
    assert set(settings) == {"max_num_seqs", "seats_in_force"}
    assert settings["max_num_seqs"]["by_a"] != settings["max_num_seqs"]["by_b"]
    assert effect(data, "recompile") == ["max_num_seqs"]
    assert effect(data, "kv_pool") == []


def test_the_kv_pool() -> None:
    assert effect(compare(ask("mtp-fast"), ask("mtp-fast", "GPU_UTIL=0.8")), "kv_pool") == ["gpu_memory_utilization"]
    pinned = compare(ask("dflash2-fast"), ask("dflash2-fast", "GPU_UTIL=0.8"))
    assert effect(pinned, "kv_pool") == [], "KV_MEM pins the pool"
    assert "kv_cache_dtype" in effect(compare(ask("mtp-fast"), ask("mtp-long")), "kv_pool")


def test_a_port_changes_neither_graphs_nor_pool() -> None:
    data = compare(ask("mtp-fast"), ask("mtp-fast", "PORT=9000"))
    assert effect(data, "recompile") == effect(data, "kv_pool") == []


def test_a_variable_of_the_engine_is_part_of_the_key() -> None:
    data = compare(ask("mtp-fast"), ask("mtp-fast", "INT8_ACT=int8"))
    assert effect(data, "recompile") == ["VLLM_MARLIN_INPUT_DTYPE"]
    overlay = compare(ask("dflash2-fast"), ask("dflash2-fast", "LOOKUP_ADAPTIVE=1"))
    assert overlay["environment"]
    assert effect(overlay, "recompile") == [], "nobody knows whether a patched engine counts its own variables"


def test_another_engine_is_known_to_compile_and_an_unwritten_one_is_unknown() -> None:
    data = compare(ask("off-fast", engine="0.31.0"), ask("off-fast", engine="0.33.0"))
    assert effect(data, "recompile") == ["engine"]
    assert not next(e for e in data["effects"] if e["kind"] == "kv_pool")["known"]
    both = compare(ask("off-fast", engine="0.33.0"), ask("off-fast", "MAX_SEQS=2", engine="0.33.0"))
    assert [e["known"] for e in both["effects"]] == [False, False]


def test_a_refusal_on_one_side() -> None:
    data = compare(ask("mtp-fast"), ask("mtp-fast", "PTH_FA=1"))
    assert (data["a"]["ok"], data["b"]["ok"], data["same"]) == (True, False, False)
    assert data["messages"][0]["rule"] == "pth-outside-its-tiers"
    assert data["effects"] == []


def test_the_effects_speak_of_settings_that_exist() -> None:
    for path in (product_root() / "rules" / "effects").glob("*.yaml"):
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
        for kind in ("recompile", "kv_pool"):
            unknown = [n for n in said[kind] if n not in resolver().rules.settings and n not in resolver().rules.knobs]
            assert not unknown


def test_no_secret() -> None:
    a = ask("mtp-fast", args=("--api-key", "sk-one"), VLLM_API_KEY="sk-two")
    b = ask("mtp-fast", args=("--api-key", "sk-three"), VLLM_API_KEY="sk-four")
    assert "sk-" not in json.dumps(compare(a, b))


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = dispatch.main(["diff", *words])
    return status, capsys.readouterr().out


def test_sides_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out = run(capsys, "mtp-fast", "mtp-long MAX_SEQS=2", "--machine", "rtx-3090", "--json")
    assert status == 1
    assert {f["flag"] for f in json.loads(out)["argv"]} >= {"--max-num-seqs", "--kv-cache-dtype"}
    status, out = run(capsys, "rtx-3090", "rtx-4090", "--profile", "dflash2-long")
    assert status == 1
    assert "CUSTOM -> TRITON_ATTN" in out
    status, out = run(capsys, "0.31.0", "0.33.0", "--profile", "off-fast", "--machine", "rtx-3090-stock")
    assert "vLLM 0.33.0" in out
    saved = tmp_path / "saved.json"
    dispatch.main(["resolve", "--profile", "mtp-fast", "--machine", "rtx-3090", "--json"])
    saved.write_text(capsys.readouterr().out)
    assert run(capsys, str(saved), "mtp-fast", "--machine", "rtx-3090")[0] == 0
    assert run(capsys, str(saved), "'mtp-fast' -- --seed 7", "--machine", "rtx-3090")[0] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("mtp-fast",),
        ("mtp-fast", "mtp-lnog"),
        ("mtp-fast", "mtp-long --quiet"),
        ("mtp-fast", "mtp-long 'x"),
        ("mtp-fast", "no-such.json"),
    ],
)
def test_sides_that_are_none(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError):
        run(capsys, *words, "--machine", "rtx-3090")


@pytest.mark.parametrize("name", ["a machine.yaml", "mine.yml", "mine.json"])
def test_a_machine_file_is_a_side(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = yaml.safe_load((product_root() / "rules" / "machines" / "rtx-3090.yaml").read_text())
    file = tmp_path / name
    file.write_text(json.dumps(document))  # which is YAML too
    assert run(capsys, "rtx-3090", str(file), "--profile", "mtp-fast")[0] == 0
    document["facts"]["gpu"]["capability"] = "8.9"
    file.write_text(json.dumps(document))
    assert run(capsys, "rtx-3090", str(file), "--profile", "mtp-long")[0] == 1


def test_json_that_is_no_result() -> None:
    with pytest.raises(UsageError):
        saved_side("x.json", {"schema": 1})
    with pytest.raises(UsageError):
        saved_side("x.json", [])
