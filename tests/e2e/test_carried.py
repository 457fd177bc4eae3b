"""What travels: libraries without code for other GPUs, archives, and what of a wheel is taken."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.e2e import machine  # noqa: F401  (the package makes e2e importable)

from e2e import archive, assemble, fatbin  # isort: skip


def image(kind: int, arch: int, payload: bytes) -> bytes:
    header = fatbin.ENTRY_HEADER.pack(kind, 1, 64, len(payload), 0, 0, 0, 0, arch)
    return header.ljust(64, b"\0") + payload


def container(*images: bytes) -> bytes:
    body = b"".join(images)
    return fatbin.CONTAINER_HEADER.pack(fatbin.CONTAINER_MAGIC, 1, 16, len(body)) + body


def library(content: bytes) -> bytes:
    """A 64-bit ELF file with two sections: the fatbins and the names."""
    names = b"\0.nv_fatbin\0.shstrtab\0"
    start = 64
    table = start + len(content) + len(names)
    elf = bytearray(b"\x7fELF\x02".ljust(64, b"\0"))
    struct.pack_into("<Q", elf, 0x28, table)
    struct.pack_into("<HHH", elf, 0x3A, 64, 2, 1)
    sections = b""
    for name, at, size in ((1, start, len(content)), (12, start + len(content), len(names))):
        sections += struct.pack("<IIQQQQ", name, 1, 0, 0, at, size).ljust(64, b"\0")
    return bytes(elf) + content + names + sections


FOR_BOTH = container(image(fatbin.CUBIN, 80, b"A" * 16), image(fatbin.CUBIN, 90, b"B" * 16))
FOR_OTHERS = container(
    image(fatbin.PTX, 75, b"C" * 16), image(fatbin.PTX, 80, b"D" * 16), image(fatbin.PTX, 100, b"E" * 16)
)


def test_only_the_gpus_own_code_is_left() -> None:
    data = library(FOR_BOTH + FOR_OTHERS)
    thin = fatbin.thinned(data, 90)
    assert len(thin) == len(data)
    assert [letter in thin for letter in (b"A" * 16, b"B" * 16, b"C" * 16, b"D" * 16, b"E" * 16)] == [
        False,
        True,
        *[False] * 3,
    ]
    found = list(fatbin.entries(thin, *fatbin.section(thin)))
    assert [(entry.kind, entry.arch) for entry in found] == [(2, 80), (2, 90), (1, 75), (1, 80), (1, 100)]


def test_what_can_be_compiled_for_it_may_be_kept() -> None:
    thin = fatbin.thinned(library(FOR_BOTH + FOR_OTHERS), 90, keep_ptx=True)
    assert [letter in thin for letter in (b"C" * 16, b"D" * 16, b"E" * 16)] == [False, True, False]


def test_no_library() -> None:
    with pytest.raises(ValueError, match="not a 64-bit ELF"):
        fatbin.thinned(b"hello", 90)


def test_a_folder_comes_back_as_it_was(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "a/__pycache__").mkdir(parents=True)
    (source / "a/one.py").write_text("1")
    (source / "a/__pycache__/one.pyc").write_text("no")
    (source / "two.ptx").write_text("2")
    (source / "three.so").write_bytes(bytes(1000))
    assert archive.pack(source, tmp_path / "x.tar.xz", (".ptx",), 1) == (tmp_path / "x.tar.xz").stat().st_size
    archive.unpack(tmp_path / "x.tar.xz", tmp_path / "back")
    back = sorted(str(path.relative_to(tmp_path / "back")) for path in (tmp_path / "back").rglob("*") if path.is_file())
    assert back == ["a/one.py", "three.so"]
    assert (tmp_path / "back/a/one.py").read_text() == "1"


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("vllm/config/vllm.py", True),
        ("vllm-0.31.0.dist-info/METADATA", True),
        ("vllm-0.31.0.dist-info/RECORD", False),
        ("vllm/_C_stable_libtorch.abi3.so", False),
        ("vllm/third_party/deep_gemm/include/x.cuh", False),
        ("vllm/", False),
    ],
)
def test_what_of_the_wheel_is_taken(name: str, taken: bool) -> None:
    assert assemble.wanted(name) == taken


def test_every_package_is_pinned_once() -> None:
    lines = (assemble.HERE / "packages.txt").read_text().splitlines()[1:]
    names = [line.partition("==")[0].lower() for line in lines]
    assert all(line.count("==") == 1 for line in lines)
    assert names == sorted(set(names))
