"""The tool that makes the engine data: conversion, writing, unpacking, comparison, and what it refuses to do."""

from __future__ import annotations

import copy
import dataclasses
import enum
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tools.engine_data import compare, convert, environment, parsers, variables, wheels, write
from tools.engine_data.__main__ import VERSIONS, parser
from tools.engine_data.child import attempt, plain
from tools.engine_data.child.config_schemas import bare

RAW_FLAG: dict[str, Any] = {
    "options": ["--enable-x", "--no-enable-x", "-x"],
    "negative": ["--no-enable-x"],
    "action": "BooleanOptionalAction",
    "nargs": 0,
    "const": None,
    "choices": None,
    "type": [],
    "default": False,
}


def raw_row(**changes: Any) -> dict[str, Any]:
    """A row of the selector's dump."""
    row = {
        "capability": "8.6",
        "kv_cache_dtype": "fp8",
        "block_size": None,
        "causal": True,
        "auto": "FLASHINFER",
        "explicit": {"FLASHINFER": [], "TRITON_ATTN": [], "FLASH_ATTN": ["no"], "TURBOQUANT": []},
        "impl": {"FLASHINFER": "ok", "TRITON_ATTN": "ValueError: no", "TURBOQUANT": "undetermined without a GPU: x"},
    }
    return row | changes


def table(*rows: dict[str, Any]) -> dict[str, Any]:
    return convert.attention({"assumptions": "a", "dtype": "bfloat16", "head_size": 256, "rows": rows})


def test_a_switch() -> None:
    flag = convert.flag(RAW_FLAG)
    assert (flag["kind"], flag["spellings"], flag["negative"]) == ("bool", ["--enable-x", "-x"], ["--no-enable-x"])


def test_a_no_flag_that_is_no_switch_keeps_its_spelling() -> None:
    """`--no-x` of a store_true is a flag of its own, not the negative of one."""
    flag = convert.flag(RAW_FLAG | {"action": "_StoreTrueAction"})
    assert (flag["negative"], flag["spellings"]) == ([], RAW_FLAG["options"])


@pytest.mark.parametrize(
    ("chain", "name"),
    [
        ([], None),
        (["int"], "int"),
        (["optional", "parse", "human_readable_int"], "optional_human_int"),
        (["optional", "parse", "parse_dataclass"], "optional_dataclass"),
        (["parse", "loads"], "json"),
        (["loads"], "json"),
    ],
)
def test_types(chain: list[str], name: str | None) -> None:
    assert convert.flag_type(chain) == name


def test_what_has_no_name_stops_the_tool() -> None:
    """A new kind of action or type must be looked at by a person; it never becomes "any text" in silence."""
    with pytest.raises(KeyError):
        convert.flag(RAW_FLAG | {"action": "NewAction"})
    with pytest.raises(KeyError):
        convert.flag_type(["optional", "parse", "brand_new"])


def test_each_backend_has_one_verdict() -> None:
    (row,) = table(raw_row())["rows"]
    assert row["serves"] == ["FLASHINFER"]
    assert row["refuses"] == {"FLASH_ATTN": ["no"], "TRITON_ATTN": ["ValueError: no"]}
    assert list(row["unknown"]) == ["TURBOQUANT"]


def test_capabilities_are_sorted_as_numbers() -> None:
    rows = table(raw_row(capability="10.0"), raw_row(capability="9.0"), raw_row(capability="9.0", block_size=16))[
        "rows"
    ]
    assert [(r["capability"], r["block_size"]) for r in rows] == [("9.0", None), ("9.0", 16), ("10.0", None)]


def test_one_flag_a_line() -> None:
    doc = {
        "schema": 1,
        "flags": {"b": {"z": 1, "a": None}, "a": {}},
        "attention": table(raw_row()),
        "variables": ["B", "A"],
    }
    text = write.text(doc)
    assert json.loads(text) == doc
    assert '    "a": {},\n    "b": {"a": null, "z": 1}\n' in text
    assert sum(line.strip().startswith('{"auto"') for line in text.splitlines()) == 1


def test_plain_defaults() -> None:
    class Colour(enum.Enum):
        RED = "red"
        PAIR = (1, 2)

    @dataclasses.dataclass
    class Config:
        path: Path
        colours: set[str]
        made: int = dataclasses.field(default=0, init=False)

    assert plain.plain([Colour.RED, Colour.PAIR, None, 1.5]) == ["red", "PAIR", None, 1.5]
    assert plain.plain(Config(Path("a/b"), {"y", "x"})) == {"path": "a/b", "colours": ["x", "y"]}
    with pytest.raises(TypeError, match="no plain form"):
        plain.plain(object())


def test_places_of_this_machine_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "build-box-7")
    monkeypatch.setattr("os.path.expanduser", lambda _: "/home/somebody")
    assert plain.plain("/home/somebody/.cache/x on build-box-7") == "{home}/.cache/x on {hostname}"
    assert plain.plain("build-box-77 /srv/home/somebody") == "build-box-77 /srv/home/somebody"


def test_bare_schema_keeps_properties_named_like_talk() -> None:
    schema = {
        "title": "T",
        "properties": {"title": {"type": "string", "default": "x"}},
        "$defs": {"default": {"title": "D"}},
    }
    assert bare(schema) == {"properties": {"title": {"type": "string"}}, "$defs": {"default": {}}}


def test_attempt() -> None:
    def refuse() -> None:
        print("usage: vllm serve", file=sys.stderr)
        print("vllm serve: error: bad <function f at 0x7f00aa>", file=sys.stderr)
        raise SystemExit(2)

    def show_help() -> None:
        raise SystemExit(0)

    assert attempt.attempt(lambda: 5) == (5, None)
    assert attempt.attempt(refuse) == (None, "bad <function f>")
    assert "help or version" in (attempt.attempt(show_help)[1] or "")
    assert attempt.attempt(lambda: int("a")) == (None, "ValueError: invalid literal for int() with base 10: 'a'")


def test_unpacking_leaves_the_compiled_parts(tmp_path: Path) -> None:
    wheel = tmp_path / "vllm-1.2.3-cp38-abi3-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (
            "vllm/a.py",
            "vllm/_C.so",
            "vllm/k.cu",
            "vllm/d.json",
            "vllm-1.2.3.dist-info/METADATA",
            "other/b.py",
        ):
            archive.writestr(name, name)
    (tmp_path / "src/old.py").parent.mkdir()
    (tmp_path / "src/old.py").touch()
    made = wheels.unpack(wheel, tmp_path / "src")
    files = sorted(str(p.relative_to(tmp_path / "src")) for p in (tmp_path / "src").rglob("*") if p.is_file())
    assert files == ["vllm-1.2.3.dist-info/METADATA", "vllm/a.py", "vllm/d.json", "wheel.txt"]
    assert wheels.unpacked(tmp_path / "src") == made
    assert len(made.sha256) == 64
    assert wheels.fetch("1.2.3", tmp_path) == wheel


def shipped(version: str) -> dict[str, Any]:
    doc: dict[str, Any] = json.loads(
        (environment.ROOT / f"rules/engines/vllm-{version}.json").read_text(encoding="utf-8")
    )
    return doc


def reference_of(doc: dict[str, Any]) -> dict[str, Any]:
    """A reference dump that agrees with the document, for the comparison to be tried on."""
    actions = {kind: action for action, kind in convert.KINDS.items()}
    flags = {
        dest: {
            "dest": dest,
            "options": [*flag["spellings"], *flag["negative"]],
            "action": actions[flag["kind"]],
            "nargs": flag["nargs"],
            "choices": flag["choices"],
            "default": flag["default"],
        }
        for dest, flag in doc["flags"].items()
    }
    return {"flags": flags}


@pytest.mark.parametrize(
    ("dest", "field", "value"),
    [
        ("max_num_seqs", "options", ["--max-seqs"]),
        ("max_num_seqs", "nargs", "+"),
        ("max_num_seqs", "default", 7),
        ("dtype", "choices", ["auto"]),
        ("headless", "action", "BooleanOptionalAction"),
    ],
)
def test_comparison_sees_every_field(dest: str, field: str, value: Any) -> None:
    doc = shipped("0.31.0")
    reference = reference_of(doc)
    assert list(compare.flags(doc, reference)) == []
    reference["flags"][dest][field] = value
    assert [line.split(":")[0] for line in compare.flags(doc, reference)] == [f"0.31.0 flag {dest}"]


def test_comparison_sees_a_missing_flag_and_a_moved_verdict() -> None:
    doc = shipped("0.31.0")
    reference = reference_of(doc)
    del reference["flags"]["dtype"]
    assert list(compare.flags(doc, reference)) == ["0.31.0 flag dtype: only in our file"]
    raw = raw_row(use_non_causal=False, auto_order=["FLASHINFER"])
    small = {"version": "0.31.0", "attention": table(raw)}
    assert list(compare.matrix(small, {"rows": [raw]})) == []
    moved = copy.deepcopy(raw)
    moved["impl"]["TRITON_ATTN"] = "ok"
    assert [line.split(": ")[1].split(" against")[0] for line in compare.matrix(small, {"rows": [moved]})] == [
        "TRITON_ATTN refuses"
    ]


def test_a_variable_needs_its_reader(tmp_path: Path) -> None:
    """Whole words only: a longer name does not count as a reader of a shorter one."""
    assert variables.named(b"CUDA_HOME", b'get("CUDA_HOME")')
    assert not variables.named(b"CUDA_HOME", b"MY_CUDA_HOME CUDA_HOME_2")
    with pytest.raises(variables.NoReaderError, match="CUDA_HOME in torch/utils"):
        variables.verify(tmp_path, "0.31.0")


def test_a_missing_environment_is_named(tmp_path: Path) -> None:
    with pytest.raises(environment.ParserEnvironmentError, match=r"has no vLLM 0\.31\.0; make it: python -m"):
        environment.call(tmp_path, "0.31.0", "parse_many", [])


def test_a_child_that_fails_shows_its_error(tmp_path: Path) -> None:
    """A stand-in for the environment: this Python, and a vLLM that cannot be imported."""
    source = environment.source(tmp_path, "1.0.0") / "vllm"
    source.mkdir(parents=True)
    (source / "version.py").write_text("raise ImportError('half a wheel')", encoding="utf-8")
    (source / "__init__.py").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    with pytest.raises(environment.ParserEnvironmentError, match="ended with 1:"):
        environment.call(tmp_path, "1.0.0", "parse_many", {"argvs": [], "choices": {}})
    assert not environment.ready(tmp_path, "2.0.0")


def test_command_line() -> None:
    args = parser().parse_args(["make", "--env", "e", "0.31.0"])
    assert (args.versions, args.keep_wheels) == (["0.31.0"], False)
    assert {p.stem.removeprefix("vllm-") for p in (environment.ROOT / "rules/engines").glob("vllm-*.json")} == set(
        VERSIONS
    )
    done = subprocess.run(
        [sys.executable, "-m", "tools.engine_data", "--help"],
        cwd=environment.ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "make the parser environment" in done.stdout


def test_names_of_parsers_are_read_without_importing_anything(tmp_path: Path) -> None:
    for package, text in (
        ("tool_parsers", '_TOOL_PARSERS_TO_REGISTER = {"b": ("m", "C"), "a": ("m", "D")}\nraise SystemExit\n'),
        ("reasoning", '_REASONING_PARSERS_TO_REGISTER: dict = {"qwen3": ("m", "C")}\n'),
    ):
        folder = tmp_path / "vllm" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)
    assert parsers.names(tmp_path) == {"tool_call_parser": ["a", "b"], "reasoning_parser": ["qwen3"]}
    (tmp_path / "vllm/reasoning/__init__.py").write_text("OTHER = {}\n")
    with pytest.raises(parsers.NoTableError, match="_REASONING_PARSERS_TO_REGISTER"):
        parsers.names(tmp_path)
