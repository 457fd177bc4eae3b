"""The machine files that we ship: their form, and that the probe's document has it too."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from resolver.machines import load_machine
from resolver.serving.probe import probe, questions
from resolver.serving.probes.basis import World

REPO = Path(__file__).resolve().parents[2]
FILES = sorted((REPO / "rules/machines").glob("*.yaml"))
SCHEMA = json.loads((REPO / "rules/schema/machine.json").read_text())
WANTED = {
    "rtx-3090",
    "rtx-3090-stock",
    "rtx-3090-wsl2",
    "rtx-4090",
    "rtx-5090",
    "a100-40gb",
    "h200",
    "2x-rtx-3080-20gb",
    "cpu-only",
}


def errors(document: object) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(document)]


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def names(nested: dict[str, Any], prefix: str = "") -> set[str]:
    found: set[str] = set()
    for key, value in nested.items():
        found |= names(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key}
    return found


def test_every_machine_is_there() -> None:
    assert {path.stem for path in FILES} >= WANTED


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_form(path: Path) -> None:
    assert path.read_text().startswith("# yaml-language-server: $schema=../schema/machine.json\n")
    document = load(path)
    assert errors(document) == []
    assert names(document["facts"]) == {name for name in questions(World(REPO, {})) if not name.startswith("engine.")}
    table = yaml.safe_load((REPO / "rules/plugins.yaml").read_text())
    assert set(document["facts"]["installed"]) <= set(table["plugins"])


@pytest.mark.parametrize(
    ("name", "capability", "count", "vram"),
    [
        ("rtx-3090", "8.6", 1, 24576),
        ("rtx-3090-stock", "8.6", 1, 24576),
        ("rtx-3090-wsl2", "8.6", 1, 24576),
        ("rtx-4090", "8.9", 1, 24576),
        ("rtx-5090", "12.0", 1, 32768),
        ("a100-40gb", "8.0", 1, 40960),
        ("h200", "9.0", 1, 143771),
        ("2x-rtx-3080-20gb", "8.6", 2, 20480),
        ("cpu-only", None, 0, None),
    ],
)
def test_numbers(name: str, capability: str | None, count: int, vram: int | None) -> None:
    gpu = load(REPO / f"rules/machines/{name}.yaml")["facts"]["gpu"]
    assert (gpu["capability"], gpu["count"], gpu["vram_mib"]) == (capability, count, vram)


def test_what_tells_them_apart() -> None:
    found = {path.stem: load(path) for path in FILES}
    assert found["rtx-3090"]["engine"] == {"version": "0.31.0", "overlays": ["hyperqwen-0.31"]}
    assert found["rtx-3090-stock"]["engine"] == {"version": "0.31.0", "overlays": []}
    assert found["rtx-3090"]["facts"]["installed"] == ["fa2_fp8kv", "pth_flash_attn"]
    assert found["rtx-3090-stock"]["facts"]["installed"] == []
    assert {name for name, machine in found.items() if machine["facts"]["wsl"]} == {"rtx-3090-wsl2"}
    assert {name for name, machine in found.items() if machine["facts"]["device"] == "cpu"} == {"cpu-only"}


def test_the_probe_has_the_same_form(tmp_path: Path) -> None:
    document = probe(tmp_path, os.environ)
    assert errors(document) == []
    wanted = names(load(REPO / "rules/machines/rtx-3090.yaml")["facts"])
    assert names(document["facts"]) == wanted  # type: ignore[arg-type]


def test_the_probe_by_hand_prints_every_fact_and_its_time(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "resolver.serving.probe"]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True)
    shown = done.stdout.splitlines()
    assert [line.split()[2] for line in shown] == [*questions(World(REPO, {})), "in"]
    assert all(line.split()[1] == "ms" for line in shown)
    assert done.stderr == ""


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "resolver.serving.probe"], cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_the_schema_explains_itself_and_is_closed() -> None:
    Draft202012Validator.check_schema(SCHEMA)

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if "properties" in node:
                assert node.get("additionalProperties") is not None
                assert all("description" in below for below in node["properties"].values())
            for below in node.values():
                walk(below)

    walk(SCHEMA)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("facts.gpu.capability", 8.6, "8.6 is not of type"),
        ("facts.gpu.capability", "sm_86", "does not match"),
        ("facts.gpu.count", -1, "less than the minimum"),
        ("facts.gpu.colour", "green", "Additional properties"),
        ("facts.device", "rocm", "is not one of"),
        ("facts.installed", ["a", "a"], "non-unique"),
        ("machine.title", None, "not of type"),
        ("engine.version", 0.31, "not of type"),
        ("engine.overlays", "x", "not of type"),
        ("extra", 1, "Additional properties"),
        ("files", {"models/": {"kind": "dir"}}, "does not match"),
        ("files", {"m": {"bytes": 1}}, "'kind' is a required property"),
        ("files", {"m": {"kind": "link"}}, "is not one of"),
        ("facts.wsl", "no", "not of type"),
    ],
)
def test_what_the_schema_refuses(place: str, value: object, said: str) -> None:
    document = copy.deepcopy(load(REPO / "rules/machines/rtx-3090.yaml"))
    *parents, last = place.split(".")
    node = document
    for parent in parents:
        node = node[parent]
    node[last] = value
    assert any(re.search(re.escape(said), message) for message in errors(document)), errors(document)


def test_what_machines_prints_is_a_machine_file(tmp_path: Path) -> None:
    """So that somebody can describe a machine by asking it, and another can resolve for it."""
    printed = subprocess.run(
        [sys.executable, str(REPO / "launch.py"), "machines", "this", "--json"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    saved = tmp_path / "mine.json"
    saved.write_text(printed, encoding="utf-8")
    there = load_machine(REPO, str(saved))
    assert dict(there.facts)["device"] == json.loads(printed)["facts"]["device"]
