# SPDX-License-Identifier: Apache-2.0
"""Make a CUDA library small: blank the machine code of all GPUs but one kind.

A CUDA library carries each kernel once for every GPU generation, in containers ("fatbins") in the ELF section
`.nv_fatbin`. Blanked entries keep their headers and places, so nothing else of the file changes, and compress to nothing.
The library then runs on that one generation only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

SECTION = ".nv_fatbin"
CONTAINER_MAGIC = 0xBA55ED50
CONTAINER_HEADER = struct.Struct("<IHHQ")                    # magic, version, header size, size of what follows
ENTRY_HEADER = struct.Struct("<HHIQIIHHI")                   # kind, version, header size, payload size, ..., GPU
PTX, CUBIN = 1, 2


@dataclass(frozen=True)
class Entry:
    """One kernel image. `container` is where its container begins; `start` to `end` is the payload in the file."""

    container: int
    kind: int
    arch: int
    start: int
    end: int


def section(data: bytes, name: str = SECTION) -> tuple[int, int]:
    """Offset and size of a section of a 64-bit ELF file. Raises ValueError when there is none."""
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + index * size) for index in range(count)]
    for header in headers:
        at = headers[names][4] + header[0]
        if data[at:data.index(b"\0", at)].decode() == name:
            return header[4], header[5]
    raise ValueError(f"no section {name}")


def entries(data: bytes, offset: int, size: int) -> Iterator[Entry]:
    """All images of the containers in a section. Containers begin at multiples of eight bytes."""
    at, end = offset, offset + size
    while at + CONTAINER_HEADER.size <= end:
        magic, _, header, length = CONTAINER_HEADER.unpack_from(data, at)
        if magic != CONTAINER_MAGIC:
            at += 8
            continue
        image, stop = at + header, at + header + length
        while image < stop:
            kind, _, own, payload, _, _, _, _, arch = ENTRY_HEADER.unpack_from(data, image)
            yield Entry(at, kind, arch, image + own, image + own + payload)
            image += own + payload
        at = stop


def thinned(data: bytes, arch: int, keep_ptx: bool = False) -> bytes:
    """The library with only the images for `arch`, such as 90.

    With `keep_ptx`, a container without such an image keeps its newest PTX that the GPU can compile; otherwise kernels
    that were built for other GPUs only are lost.
    """
    found = list(entries(data, *section(data)))
    served = {entry.container for entry in found if entry.kind == CUBIN and entry.arch == arch}
    newest: dict[int, Entry] = {}
    for entry in found:
        if keep_ptx and entry.kind == PTX and entry.arch <= arch and entry.container not in served:
            if entry.container not in newest or entry.arch > newest[entry.container].arch:
                newest[entry.container] = entry
    out = bytearray(data)
    for entry in found:
        if not (entry.kind == CUBIN and entry.arch == arch) and newest.get(entry.container) != entry:
            out[entry.start:entry.end] = bytes(entry.end - entry.start)
    return bytes(out)
