"""The cache of compiled rules: many other entries never push it out, and what is kept there is never trusted blindly."""

from __future__ import annotations

import marshal
import os
import pickle
import time
from pathlib import Path

import pytest

from resolver.compile import cache
from tests.cli.conftest import REPO, Cli

RULES, MINE = f"rules-{'a' * 40}", f"machine-{'f' * 40}"


def test_many_machines_do_not_push_out_the_rules(cache_folder: Path) -> None:
    cache.store(RULES, 1)
    (cache_folder / "bytecode").mkdir()
    old = time.time() - 10_000
    os.utime(cache_folder / RULES, (old, old))
    os.utime(cache_folder / "bytecode", (old, old))
    for number in range(60):
        cache.store(f"machine-{number:040x}", number)
    assert cache.load(RULES) == 1
    assert len(list(cache_folder.glob("machine-*"))) == 16
    assert (cache_folder / "bytecode").is_dir()


def test_a_reading_counts_as_use(cache_folder: Path) -> None:
    cache.store(MINE, 1)
    old = time.time() - 10_000
    os.utime(cache_folder / MINE, (old, old))
    assert cache.load(MINE) == 1
    for number in range(15):
        cache.store(f"machine-{number:040x}", number)
    assert cache.load(MINE) == 1


def test_an_entry_that_others_may_write_is_not_read(cache_folder: Path) -> None:
    cache.store(RULES, 1)
    os.chmod(cache_folder / RULES, 0o666)
    assert cache.load(RULES) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"rubbish", *(pickle.dumps(value) for value in (5, [1, 2], {"a": 1}, (1, 2, b"x"), ("rules", {"a": 1})))],
    ids=["empty", "rubbish", "number", "list", "mapping", "triple", "of another name"],
)
def test_rubbish_in_the_cache_is_made_again(cli: Cli, tmp_path: Path, content: bytes) -> None:
    words = ("resolve", "--machine", "rtx-3090", "--profile", "mtp-long", "--format", "table")
    env = {"LAUNCH_CACHE_DIR": str(tmp_path / "cache")}
    first = cli.run(*words, env=env)
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            path.write_bytes(content)
    assert cli.run(*words, env=env) == first
    assert first.status == 0


@pytest.mark.parametrize("left", [0, 10, 17, 60], ids=lambda n: f"{n} bytes")
def test_bytecode_that_was_cut_short_is_made_again(cli: Cli, left: int) -> None:
    """A full disk leaves such files, and their heads still say that they are good."""
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    first = cli.run("profiles", env=env)
    kept = {path: path.read_bytes() for path in (cli.cache / "bytecode").rglob("*.pyc")}
    assert kept
    assert first.status == 0
    for path, content in kept.items():
        path.write_bytes(content[:left])
    for _ in range(2):
        for entry in cli.cache.iterdir():
            if entry.is_file():  # without them the same modules are loaded as the first time
                entry.unlink()
        assert cli.run("profiles", env=env) == first
    assert [path.name for path in kept if not path.exists() or path.stat().st_size <= 60] == []


def test_bytecode_that_is_no_code_is_made_again(cli: Cli) -> None:
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    first = cli.run("profiles", env=env)
    for path in (cli.cache / "bytecode").rglob("*.pyc"):
        path.write_bytes(path.read_bytes()[:16] + marshal.dumps([1, 2]))
    assert cli.run("profiles", env=env) == first


def test_no_compiled_file_is_left_in_the_products_folder(cli: Cli) -> None:
    """With PYTHONDONTWRITEBYTECODE the modules' bytecode goes beside the compiled rules, and nowhere else."""
    before = set((REPO / "resolver").rglob("*.pyc"))
    assert cli.run("profiles", env={"PYTHONDONTWRITEBYTECODE": "1"}).status == 0
    assert set((REPO / "resolver").rglob("*.pyc")) == before
    assert list((cli.cache / "bytecode").rglob("*.pyc"))
    assert cli.run("profiles", env={"PYTHONDONTWRITEBYTECODE": "1", "LAUNCH_CACHE_DIR": ""}).status == 0


@pytest.mark.parametrize("form", ["argv", "shell", "env"])
def test_a_filled_cache_needs_no_reader_of_rules(cli: Cli, form: str) -> None:
    """What reads, checks and parses is loaded where there is something to read: most of a first start is its import."""
    words = ("resolve", "--machine", "rtx-3090", "--profile", "dflash2-long", "--format", form)
    assert cli.run(*words).status == 0
    said = cli.run(*words, env={"PYTHONPROFILEIMPORTTIME": "1"}).err
    loaded = {row.rpartition("|")[2].strip() for row in said.splitlines() if row.startswith("import time:")}
    assert "resolver.model" in loaded, "the interpreter did not say what it loads"
    late = (
        "yaml",
        "jsonschema",
        "cerberus",
        "argparse",
        "shutil",
        "resolver.yaml12",
        "resolver.load",
        "resolver.compile.codegen",
    )
    assert not [name for name in late if name in loaded]
