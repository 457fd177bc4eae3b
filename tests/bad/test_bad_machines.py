"""Broken machine files, inline machines, overlays and engine files: one clear error each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resolver.compile import open_resolver, product_root
from resolver.diagnostics import RulesError, UsageError
from resolver.engine import load_engine
from resolver.machines import inline_machine, load_machine
from tests.matrix.rearranged import copy_rules

ROOT = product_root()
HEAD = "machine: {title: t, source: s}\n"
MACHINES = [
    ("unknown-fact", HEAD + "facts: {gpus: 1}\n", 2, "unknown key 'gpus'"),
    ("unknown-part-of-the-gpu", HEAD + "facts:\n  gpu: {capabilty: '8.6'}\n", 3, "unknown key 'capabilty'"),
    ("capability-as-a-number", HEAD + "facts:\n  gpu:\n    capability: 8.6\n", 4, "found a number"),
    ("capability-of-one-part", HEAD + "facts:\n  gpu:\n    capability: '86'\n", 4, "does not look as it must"),
    ("yes-is-text", HEAD + "facts:\n  wsl: yes\n", 3, "found text"),
    ("negative", HEAD + "facts:\n  shm_free_bytes: -1\n", 3, "less than"),
    ("no-facts", HEAD, 1, "missing key 'facts'"),
    ("no-source", "machine: {title: t}\nfacts: {}\n", 1, "missing key 'source'"),
    ("engine-as-text", HEAD + "facts: {}\nengine: 0.31.0\n", 3, "found text"),
    ("installed-as-text", HEAD + "facts:\n  installed: fa2_fp8kv\n", 3, "found text"),
    ("twice-installed", HEAD + "facts:\n  installed: [a, a]\n", 3, "non-unique"),
    ("file-kind", HEAD + "facts: {}\nfiles:\n  x: {kind: folder}\n", 4, "'folder' is not one of"),
    ("file-without-kind", HEAD + "facts: {}\nfiles:\n  x: {bytes: 1}\n", 4, "missing key 'kind'"),
    ("file-that-ends-in-a-slash", HEAD + "facts: {}\nfiles:\n  x/: {kind: dir}\n", 4, "is not a good name here"),
    ("duplicate", HEAD + "facts:\n  wsl: true\n  wsl: false\n", 4, "duplicate key 'wsl'"),
    ("alias", HEAD + "facts:\n  wsl: &a true\n  container: *a\n", 3, "anchors and aliases"),
    ("empty", "", 1, "found nothing"),
    ("a-list", "- a\n", 1, "found a list"),
    ("not-yaml", HEAD + "facts: {\n", 3, "not valid YAML"),
]


@pytest.mark.parametrize(("text", "line", "says"), [m[1:] for m in MACHINES], ids=[m[0] for m in MACHINES])
def test_broken_machine_file(tmp_path: Path, cache_folder: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RulesError) as caught:
        load_machine(ROOT, str(path))
    assert len(caught.value.diagnostics) == 1
    found = caught.value.diagnostics[0]
    assert says in found.message
    assert found.position is not None
    assert (found.position.file, found.position.line) == (str(path), line)


@pytest.mark.parametrize(
    "name", ["nowhere/m.yaml", "a\0b.yaml", "\ud800.yaml", "x" * 5000 + ".yaml", "/", ".yaml", "./"]
)
def test_machine_file_that_cannot_be_read(name: str, cache_folder: Path) -> None:
    with pytest.raises((RulesError, UsageError)):
        load_machine(ROOT, name)


@pytest.mark.parametrize("name", ["rtx-309", "", "..", "RTX-3090", "\0", "\ud800"])
def test_unknown_machine_name(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_machine(ROOT, name)
    assert caught.value.fix


def test_machine_file_changed_in_one_process(tmp_path: Path, cache_folder: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(HEAD + "facts: {wsl: true}\n")
    assert load_machine(ROOT, str(path)).facts == {"wsl": True}
    path.write_text(HEAD + "facts: {wsl: false}\n")
    assert load_machine(ROOT, str(path)).facts == {"wsl": False}


def _nested(depth: int) -> Any:
    data: Any = []
    for _ in range(depth):
        data = [data]
    return data


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"facts": None},
        {"facts": []},
        {"facts": {"gpu": 5}},
        {"facts": {"gpu": {"capability": 8.6}}},
        {"facts": {}, "engine": {"version": "x"}},
        {"facts": {}, "more": 1},
        {"facts": {"installed": _nested(900)}},
        {"facts": {"shm_free_bytes": float("nan")}},
        {"facts": {}, "files": {"": {"kind": "file"}}},
        {"machine": 5, "facts": {}},
    ],
    ids=lambda d: json.dumps(d)[:40],
)
def test_broken_inline_machine(data: dict[str, Any]) -> None:
    with pytest.raises(RulesError) as caught:
        inline_machine(ROOT, data, "line 1")
    assert all(len(str(d)) < 500 for d in caught.value.diagnostics)


OVERLAYS = [
    ("unknown-flag", "brings: {choices: {kv_cache_dtyp: [x]}}", "kv_cache_dtyp"),
    ("unknown-key", "bring: {}", "unknown key 'bring'"),
    ("choices-as-text", "brings: {choices: {kv_cache_dtype: x}}", "found text"),
    ("no-brings", "", "missing key 'brings'"),
    ("variables-as-a-list", "brings: {variables: [VLLM_X]}", "found a list"),
    (
        "attention-without-backend",
        "brings: {attention: [{kv_cache_dtype: fp8, capability: ['8.6'], causal: [true]}]}",
        "missing key 'backend'",
    ),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_rules(tmp_path_factory.mktemp("rules"))


@pytest.mark.parametrize(("text", "says"), [o[1:] for o in OVERLAYS], ids=[o[0] for o in OVERLAYS])
def test_broken_overlay(copy: Path, text: str, says: str) -> None:
    path = copy / "rules" / "engines" / "overlays" / "zz.yaml"
    path.write_text(f"overlay: zz\nengine: ['0.31.0']\nsource: s\n{text}\n")
    try:
        with pytest.raises(RulesError) as caught:
            load_engine(copy, "0.31.0+zz")
        found = caught.value.diagnostics
        assert any(says in d.message for d in found), [str(d) for d in found]
        assert all(d.position and d.position.file == "rules/engines/overlays/zz.yaml" for d in found)
    finally:
        path.unlink()


def test_overlay_of_another_version(copy: Path) -> None:
    with pytest.raises(UsageError, match=r"is for vLLM 0\.31\.0, not 0\.33\.0"):
        load_engine(copy, "0.33.0+hyperqwen-0.31")


@pytest.mark.parametrize(
    "name", ["0.31", "0.31.0+", "+", "", "0.31.0+nope", "0.31.0+hyperqwen", "../x", "0.31.0+../x", "\0", "\ud800"]
)
def test_unknown_engine(copy: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_engine(copy, name)
    assert caught.value.fix


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"flags": 5}', "\xff", '{"flags": {}, "version": "0.0.1"}'])
def test_broken_engine_file(copy: Path, cache_folder: Path, content: str) -> None:
    path = copy / "rules" / "engines" / "vllm-0.0.1.json"
    path.write_bytes(content.encode("latin-1"))
    try:
        with pytest.raises(RulesError) as caught:
            load_engine(copy, "0.0.1")
        assert caught.value.diagnostics[0].position is not None
        assert caught.value.diagnostics[0].position.file == "rules/engines/vllm-0.0.1.json"
        try:
            open_resolver(copy)
        except RulesError as error:
            assert "vllm-0.0.1.json" in str(error)  # noqa: PT017
    finally:
        path.unlink()
