"""Every broken rule file gives an error with its place and its words."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver import files
from resolver.compile import all_flags, open_resolver, product_root
from resolver.diagnostics import Diagnostic, RulesError
from resolver.load import load_rules
from tests.bad.rule_cases import RULES, Bad
from tests.matrix.rearranged import copy_rules

FLAGS = all_flags(product_root())


@pytest.fixture(scope="module")
def rules_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_rules(tmp_path_factory.mktemp("rules"))


@pytest.fixture
def root(rules_copy: Path) -> Iterator[Path]:
    before = {p: p.read_bytes() for p in [*rules_copy.glob("rules/*.yaml"), rules_copy / "profiles.yaml"]}
    yield rules_copy
    for path in [*rules_copy.glob("rules/*.yaml"), rules_copy / "profiles.yaml"]:
        if path not in before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path, content in before.items():
        if path.is_dir():
            path.rmdir()
        path.write_bytes(content)


def errors(root: Path) -> tuple[Diagnostic, ...]:
    with pytest.raises(RulesError) as caught:
        load_rules(root, FLAGS)
    for found in caught.value.diagnostics:
        assert found.severity == "error"
        assert found.position is not None, found.message
        assert "Traceback" not in str(found)
        assert len(str(found)) < 1000
    return caught.value.diagnostics


def place(text: str) -> tuple[int, int]:
    """Line and column of the sign §, from 1."""
    before = text.partition("§")[0]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


@pytest.mark.parametrize("bad", RULES, ids=[bad.id for bad in RULES])
def test_broken_rule_file(root: Path, bad: Bad) -> None:
    path = root / bad.file
    text = bad.text if isinstance(bad.text, bytes) else bad.text.replace("§", "").encode("utf-8")
    path.write_bytes(text)
    found = errors(root)
    assert len(found) == 1, [str(d) for d in found]
    assert bad.says in found[0].message
    assert found[0].position is not None
    assert found[0].position.file == bad.file
    if isinstance(bad.text, str) and "§" in bad.text:
        assert (found[0].position.line, found[0].position.column) == place(bad.text)


def test_several_errors_are_all_said(root: Path) -> None:
    (root / "rules" / "zz.yaml").write_text(
        "settings:\n  zz: {first: [{value: = nope}]}\n  zy: {first: [{value: = nope2}]}\n"
    )
    (root / "rules" / "zy.yaml").write_text("guards: 5\n")
    assert len(errors(root)) == 1, "structure first"
    (root / "rules" / "zy.yaml").write_text("settings:\n  zx: {first: [{when: {port: 1.5}, value: 1}]}\n")
    assert len(errors(root)) == 3


@pytest.mark.parametrize("name", ["profiles.yaml", "rules/knobs.yaml", "rules/facts.yaml", "rules/render.yaml"])
@pytest.mark.parametrize("how", ["missing", "directory", "empty", "list"])
def test_file_that_cannot_be_used(root: Path, name: str, how: str) -> None:
    path = root / name
    path.unlink()
    if how == "directory":
        path.mkdir()
    elif how == "empty":
        path.touch()
    elif how == "list":
        path.write_text("- a\n")
    found = errors(root)
    assert len(found) == 1
    assert str(found[0].position) == f"{name}:1:1"
    said = {
        "missing": "No such file",
        "directory": "Is a directory",
        "empty": "expected a mapping, found nothing",
        "list": "found a list",
    }
    assert said[how] in found[0].message


def test_file_that_may_not_be_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = files.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path.name == "memory.yaml":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(files, "read_bytes", read_bytes)
    found = errors(root)
    assert [str(d.position) for d in found] == ["rules/memory.yaml:1:1"]
    assert "Permission denied" in found[0].message


def test_a_setting_of_the_arms_defined_again(root: Path) -> None:
    (root / "rules" / "zz.yaml").write_text("settings:\n  attention_backend: {first: [{value: X}]}\n")
    found = errors(root)
    assert len(found) == 1
    assert "defined twice: first at rules/zz.yaml:2:3" in found[0].message


def test_byte_order_mark_is_taken(root: Path) -> None:
    path = root / "rules" / "memory.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_rules(root, FLAGS)


EDITS = [
    ("rules/knobs.yaml", "type: choice", "type: chioce", "'chioce' is not one of"),
    ("rules/knobs.yaml", "allowed: [fast, long, huge], ", "", "a choice needs its allowed values"),
    ("rules/knobs.yaml", 'default: "0.93"', 'default: "much"', "default"),
    ("rules/knobs.yaml", "default: fast", "default: fats", "default"),
    ("rules/knobs.yaml", "default: fast", "default: 5", "expected text, found a whole number"),
    ("rules/knobs.yaml", "sets: [fa2_fp8kv_variable]", "sets: [fa2_fp8kv_variabel]", "nothing is called 'fa2_fp8kv_variabel'"),
    ("rules/knobs.yaml", "env: ATTENTION_BACKEND", "env: CTX", "is the variable of knob"),
    ("rules/knobs.yaml", "env: ATTENTION_BACKEND", "env: attention", "does not look as it must"),
    ("rules/knobs.yaml", 'help: "model folder"', 'hlep: "model folder"', "unknown key 'hlep'"),
    ("rules/facts.yaml", "type: version", "type: verison", "is not one of"),
    ("rules/render.yaml", "value: bind_host", "value: bind_hots", "nothing is called 'bind_hots'"),
    ("rules/render.yaml", "value: bind_host", "value: gpu.name", "a knob or a setting"),
    ("rules/render.yaml", "= engine_binary", "= engine_binry", "nothing is called 'engine_binry'"),
    ("rules/render.yaml", "method: spec_method", "method: spec_methd", "nothing is called 'spec_methd'"),
    ("rules/render.yaml", "gate: spec_method", "gate: wsl", "a knob or a setting"),
    ("rules/render.yaml", "{set: toolchain_home}", "{set: toolchain}", "nothing is called 'toolchain'"),
    ("rules/render.yaml", "{set: toolchain_home}", "{sett: toolchain_home}", "unknown key 'sett'"),
    ("profiles.yaml", "spec: mtp", "speck: mtp", "nothing is called 'speck'"),
    ("profiles.yaml", "when: {spec:", "whne: {spec:", "'whne'"),
    ("profiles.yaml", "taken:", "token:", "token"),
    ("profiles.yaml", "when: {spec: mtp, ctx: fast,", "when: {spec: mtp, ctx: fats,", "ctx is never 'fats'"),
    ("profiles.yaml", "chosen_by: {backend: FLASH_ATTN}", "chosen_by: {backend: FLASHATTN}", "backend is never 'FLASHATTN'"),
    ("profiles.yaml", "knobs: {ctx: fast, spec: mtp}", "knobs: {ctx: fats, spec: mtp}", "profile mtp-fast: ctx"),
    ("profiles.yaml", "dflash_tokens: 15", "dflash_tokens: many", "dflash_tokens is not a whole number"),
    ("rules/speculation.yaml", 'lookup: "off"', 'lookup: "0"', "lookup is never '0'"),
    ("rules/prefix_cache.yaml", "dflash_tokens: 7}", 'dflash_tokens: "7"}', "dflash_tokens is a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "says"), EDITS, ids=[f"{e[0]}-{e[2][:24]}" for e in EDITS])
def test_broken_edit(root: Path, file: str, old: str, new: str, says: str) -> None:
    path = root / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    found = [d for d in errors(root) if says in d.message]
    assert found, [str(d) for d in errors(root)]
    assert found[0].position is not None
    assert found[0].position.file == file
    assert abs(found[0].position.line - line) <= (
        12 if file == "profiles.yaml" else 5 if file.startswith("rules/") and file != "rules/knobs.yaml" else 0
    )


def test_opening_the_product_says_the_same(root: Path, cache_folder: Path) -> None:
    (root / "rules" / "zz.yaml").write_text("settings: 5\n")
    with pytest.raises(RulesError) as caught:
        open_resolver(root)
    assert "settings: expected a mapping" in caught.value.diagnostics[0].message
