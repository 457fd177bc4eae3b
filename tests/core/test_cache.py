"""The cache: whatever is wrong with it, the work is done again."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from resolver.analysis.model import known_engines
from resolver.compile import cache, keep_knobs, open_resolver, product_root, rules_key
from resolver.facts import Machine
from resolver.request import build


def works() -> None:
    resolver = open_resolver()
    request = build(resolver.rules, resolver.table, profile="mtp-fast", environ={"MAX_SEQS": "3"})
    assert "--max-num-seqs" in resolver.resolve(request, Machine("m", {"device": "cuda", "gpu.capability": "8.6"})).argv
    keep_knobs(resolver)


def entries(place: Path, kind: str) -> list[Path]:
    return [p for p in place.iterdir() if p.name.startswith(kind + "-")]


def test_filled_and_used(cache_folder: Path) -> None:
    works()
    assert cache_folder.stat().st_mode & 0o777 == 0o700
    before = {p: p.stat().st_mtime_ns for p in cache_folder.iterdir()}
    assert {p.name.partition("-")[0] for p in before} >= {"rules", "engine", "knobs"}
    works()
    assert before == {p: p.stat().st_mtime_ns for p in cache_folder.iterdir()}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that was filled once, to be copied."""
    place = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAUNCH_CACHE_DIR", str(place))
        works()
    return place


@pytest.fixture
def filled_cache(filled: Path, cache_folder: Path) -> Path:
    shutil.copytree(filled, cache_folder)
    return cache_folder


@pytest.mark.parametrize("kind", ["rules", "engine", "knobs"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        pickle.dumps(5),
        pickle.dumps(None),
        pickle.dumps([1, 2, 3]),
        pickle.dumps((1, 2, b"x")),
        pickle.dumps({1: 2}),
    ],
    ids=["empty", "garbage", "number", "none", "list", "triple", "mapping"],
)
def test_damaged_entry(filled_cache: Path, kind: str, content: bytes) -> None:
    for path in entries(filled_cache, kind):
        path.write_bytes(content)
    works()


def test_shortened_entries(filled_cache: Path) -> None:
    for path in filled_cache.iterdir():
        path.write_bytes(path.read_bytes()[:-10])
    works()


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_entry_that_others_may_write_is_not_read(cache_folder: Path, mode: int) -> None:
    cache.store("rules-" + "0" * 40, "ours")
    assert cache.load("rules-" + "0" * 40) == "ours"
    (cache_folder / ("rules-" + "0" * 40)).chmod(mode)
    assert cache.load("rules-" + "0" * 40) is None


def test_entry_of_another_owner_is_not_read(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("rules-" + "0" * 40, "theirs")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert cache.load("rules-" + "0" * 40) is None
    cache.store("rules-" + "1" * 40, "ours")
    assert not (cache_folder / ("rules-" + "1" * 40)).exists()


def test_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAUNCH_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    works()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file", "below-file", "missing/deeper/still", "x" * 300, "entry-is-a-folder"])
def test_folder_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    if place == "entry-is-a-folder":
        (tmp_path / place / f"rules-{rules_key(product_root())}").mkdir(parents=True)
    monkeypatch.setenv("LAUNCH_CACHE_DIR", str(tmp_path / ("file/x" if place == "below-file" else place)))
    works()


def test_folder_that_may_not_be_written(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    import tempfile

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    works()


def test_full_disk(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    works()
    assert not cache_folder.exists() or list(cache_folder.iterdir()) == []


def test_what_is_not_ours_is_never_removed(cache_folder: Path) -> None:
    cache_folder.mkdir()
    theirs = [cache_folder / f"{kind}{i}" for i in range(60) for kind in ("notes-", "rules-", "tmp", "photo.")]
    for path in theirs:
        path.write_text("mine")
    for i in range(40):
        cache.store(f"machine-{i:040x}", i)
    assert all(path.exists() for path in theirs)
    assert len([p for p in entries(cache_folder, "machine") if len(p.name) == 48]) <= 24


def test_no_engine_pushes_another_out(cache_folder: Path) -> None:
    """The analysis of the rules looks at all of them, each time: with fewer places none would be there when it is needed."""
    known = known_engines(open_resolver())
    written = {p: p.stat().st_mtime_ns for p in entries(cache_folder, "engine")}
    assert len(written) == len(known) > 16
    known_engines(open_resolver())
    assert written == {p: p.stat().st_mtime_ns for p in entries(cache_folder, "engine")}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"HOME": ""},
        {"HOME": "relative"},
        {"XDG_CACHE_HOME": "relative"},
        {"XDG_CACHE_HOME": ""},
        {"HOME": "/nonexistent"},
    ],
)
def test_odd_homes(changes: dict[str, str], tmp_path: Path) -> None:
    """In a process of its own, started in an empty folder: nothing is left there, and nothing at the root."""
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(product_root()), **changes}
    code = "from resolver.compile.cache import folder; print(folder())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    where = done.stdout.strip()
    assert where == "None" or Path(where).is_absolute()
    assert not where.startswith("/.cache")
    assert list(tmp_path.iterdir()) == []
