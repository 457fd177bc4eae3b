"""R2: offload regions of dead engines are removed, and nobody else's."""

from __future__ import annotations

import fcntl
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.serving import regions

HOLDER = """
import mmap, os, sys
handle = os.open(sys.argv[1], os.O_RDWR)
area = mmap.mmap(handle, 4096)
if sys.argv[2] == "mapped":
    os.close(handle)
else:
    area.close()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def shm(tmp_path: Path) -> Path:
    folder = tmp_path / "shm"
    folder.mkdir()
    return folder


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc with one readable process that maps nothing of ours."""
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/self").mkdir()
    (tmp_path / "proc/7/maps").write_text(
        "5580-5590 r--p 00000000 08:01 42  /usr/bin/true\n7f00-7f10 rw-p 0 00:00 0 \n"
    )
    return tmp_path / "proc"


def region(shm: Path, name: str = "a") -> Path:
    path = shm / f"vllm_offload_{name}.mmap"
    path.write_bytes(b"x" * 4096)
    return path


def no_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "lease", lambda path: (-1, "unknown"))


def test_removes_what_nothing_has(shm: Path, proc: Path) -> None:
    first, second = region(shm, "b"), region(shm, "a")
    assert regions.remove_stale_regions(False, shm, proc) == [str(second), str(first)]
    assert list(shm.iterdir()) == []


def test_keep_looks_at_nothing(shm: Path, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = region(shm)
    monkeypatch.setattr(os, "listdir", lambda place: pytest.fail("looked"))
    assert regions.remove_stale_regions(True, shm, proc) == []
    assert path.exists()


@pytest.mark.parametrize("name", ["vllm_offload_a.mmap2", "vllm_offload_a", "other.mmap", "xvllm_offload_a.mmap"])
def test_other_names_stay(shm: Path, proc: Path, name: str) -> None:
    (shm / name).write_bytes(b"")
    assert regions.remove_stale_regions(False, shm, proc) == []
    assert (shm / name).exists()


@pytest.mark.parametrize("how", ["mapped", "open"])
def test_a_living_process_keeps_its_region(shm: Path, proc: Path, how: str) -> None:
    """The fake /proc says that nothing is mapped, so the kernel's own answer must be what keeps it."""
    path = region(shm)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == b"ready\n"
        assert regions.remove_stale_regions(False, shm, proc) == []
        assert path.exists()
        holder.stdin.close()
        holder.wait()
    assert regions.remove_stale_regions(False, shm, proc) == [str(path)]


def test_the_real_proc_shows_a_mapped_region(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without leases, /proc alone keeps it."""
    path = region(shm)
    no_lease(monkeypatch)
    handle = os.open(path, os.O_RDWR)
    with mmap.mmap(handle, 4096):
        os.close(handle)
        paths, files, _ = regions.read_maps(Path("/proc"))
        assert str(path) in paths
        assert regions.candidates(shm)[path] in files
        assert regions.remove_stale_regions(False, shm) == []
    assert path.exists()


def test_listed_by_path_is_enough(shm: Path, proc: Path) -> None:
    path = region(shm)
    (proc / "8").mkdir()
    (proc / "8/maps").write_text(f"7f00-7f10 rw-s 00000000 00:63 999999  {path}\n")
    assert regions.remove_stale_regions(False, shm, proc) == []


def test_listed_by_inode_is_enough(shm: Path, proc: Path) -> None:
    """Another container sees the same file under another path."""
    path = region(shm)
    major, minor, inode = regions.candidates(shm)[path]
    (proc / "8").mkdir()
    (proc / "8/maps").write_text(
        f"7f00-7f10 rw-s 00000000 {major:02x}:{minor:02x} {inode}  /elsewhere/vllm_offload_a.mmap\n"
    )
    assert regions.remove_stale_regions(False, shm, proc) == []


def test_a_deleted_namesake_keeps_the_region(shm: Path, proc: Path) -> None:
    path = region(shm)
    (proc / "8").mkdir()
    (proc / "8/maps").write_text(f"7f00-7f10 rw-s 00000000 00:63 999999  {path} (deleted)\n")
    assert regions.remove_stale_regions(False, shm, proc) == []


def denied(process: str) -> Callable[[Path], str]:
    def read(path: Path) -> str:
        if path.parent.name == process:
            raise PermissionError(13, "Permission denied", str(path))
        return path.read_text()

    return read


def test_an_unreadable_process_keeps_everything_without_a_lease(
    shm: Path, proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = region(shm)
    (proc / "1").mkdir()
    monkeypatch.setattr(regions, "_read", denied("1"))
    no_lease(monkeypatch)
    assert regions.remove_stale_regions(False, shm, proc) == []
    assert path.exists()


def test_an_unreadable_process_does_not_outweigh_the_kernel(
    shm: Path, proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = region(shm)
    (proc / "1").mkdir()
    monkeypatch.setattr(regions, "_read", denied("1"))
    assert regions.remove_stale_regions(False, shm, proc) == [str(path)]


def test_a_process_that_ended_meanwhile_has_nothing(shm: Path, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = region(shm)
    (proc / "9").mkdir()  # without maps, as when it ends between the listing and the reading
    no_lease(monkeypatch)
    assert regions.remove_stale_regions(False, shm, proc) == [str(path)]


def test_no_proc_and_no_lease_keeps(shm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = region(shm)
    no_lease(monkeypatch)
    (tmp_path / "empty").mkdir()
    for proc in (tmp_path / "missing", tmp_path / "empty"):
        assert regions.remove_stale_regions(False, shm, proc) == []
    assert path.exists()


def test_links_folders_and_pipes_stay(shm: Path, proc: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_bytes(b"x")
    (shm / "vllm_offload_link.mmap").symlink_to(target)
    (shm / "vllm_offload_dir.mmap").mkdir()
    os.mkfifo(shm / "vllm_offload_pipe.mmap")
    assert regions.remove_stale_regions(False, shm, proc) == []
    assert target.exists()
    assert len(list(shm.iterdir())) == 3


def test_a_region_replaced_meanwhile_stays(shm: Path, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the removal an engine puts a new region in the old one's place."""
    path = region(shm)
    real = regions.lease

    def replaced(there: Path) -> tuple[int, str]:
        fresh = there.with_name("fresh")
        fresh.write_bytes(b"new")
        os.replace(fresh, there)
        return real(there)

    monkeypatch.setattr(regions, "lease", replaced)
    assert regions.remove_stale_regions(False, shm, proc) == []
    assert path.read_bytes() == b"new"


def test_gone_meanwhile_is_no_error(shm: Path, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = region(shm)
    real = regions.lease

    def gone(there: Path) -> tuple[int, str]:
        answer = real(there)
        there.unlink()
        return answer

    monkeypatch.setattr(regions, "lease", gone)
    assert regions.remove_stale_regions(False, shm, proc) == []
    assert not path.exists()


def test_a_failing_removal_is_no_error(shm: Path, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = region(shm)

    def refuse(self: Path) -> None:
        raise PermissionError(1, "Operation not permitted", str(self))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert regions.remove_stale_regions(False, shm, proc) == []
    assert path.exists()


def test_no_shm(tmp_path: Path, proc: Path) -> None:
    assert regions.remove_stale_regions(False, tmp_path / "missing", proc) == []


def test_who_opens_the_file_meanwhile_does_not_end_us(shm: Path) -> None:
    """Breaking a lease sends a signal, which would end the process if it were the usual SIGIO."""
    path = region(shm)
    handle, answer = regions.lease(path)
    assert answer == "free"
    with pytest.raises(BlockingIOError):
        os.open(path, os.O_RDWR | os.O_NONBLOCK)
    assert fcntl.fcntl(handle, fcntl.F_GETLEASE) != fcntl.F_WRLCK  # it is being broken, so the signal was sent
    os.close(handle)


def test_no_handle_is_left_open(shm: Path, proc: Path) -> None:
    region(shm)
    before = len(os.listdir("/proc/self/fd"))
    regions.remove_stale_regions(False, shm, proc)
    assert len(os.listdir("/proc/self/fd")) == before
