"""Recorded runs of the launcher that this product replaces: read them, and make the request and machine each one describes."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resolver.facts import ABSENT, FileInfo, Machine
from resolver.request import Request, build
from resolver.resolve import Resolver

ROOT = "$REPO"
ENGINE = "0.31.0+hyperqwen-0.31"
DATA = Path(__file__).parent / "data"
FOLDER_ENTRY = 4096
"""What a folder's own entry adds to its size."""
W4A16 = f"{ROOT}/models/Qwen3.8-27B-DFlash2-W4A16"
BF16 = f"{ROOT}/models/Qwen3.8-27B-DFlash2"


@dataclass(frozen=True)
class Case:
    """One recorded run."""

    id: str
    knobs: Mapping[str, str]
    machine: Mapping[str, Any]
    exit: int
    argv: tuple[str, ...] | None
    env: Mapping[str, str]
    spoke: frozenset[str]
    resident: Mapping[str, int] | None = None
    inferred: tuple[str, ...] = field(default=())


def read(path: Path) -> Iterator[Case]:
    """The cases of a file, compressed or not."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            r = json.loads(line)
            argv = None if r["argv"] is None else tuple(r["argv"])
            yield Case(
                r["id"],
                r["knobs"],
                r["machine"],
                r["exit"],
                argv,
                r["env"] or {},
                frozenset(r["spoke"]),
                r.get("resident"),
                tuple(r.get("inferred") or ()),
            )


@dataclass(frozen=True)
class RecordedFiles:
    """The files that a recorded machine has; what is not named is absent."""

    files: Mapping[str, FileInfo]

    def look(self, path: str) -> FileInfo:
        return self.files.get(path, ABSENT)


def machine(case: Case) -> Machine:
    """The machine of a case; what it does not list stays unknown."""
    m = case.machine
    files = {f"{ROOT}/models/custom-drafter": FileInfo("file", 3758096384)}
    for folder, size in ((W4A16, m["draft_bytes"]), (BF16, m["draft_bf16_bytes"])):
        if size is not None:
            files[folder] = FileInfo("dir", size + FOLDER_ENTRY)
            files[f"{folder}/model.safetensors"] = FileInfo("file", size)
    if m["fast_model"]:
        files[f"{ROOT}/models/Qwen3.8-27B-W4A16-AutoRound-fast"] = FileInfo("dir")
    facts = {
        "root": ROOT,
        "wsl": m["wsl"],
        "container": m["docker"],
        "api_key_file": m["api_key_file"] is not None,
        "nvcc_major": int(m["nvcc"].split(".")[0]) if m["nvcc"] else 0,
        "shm_free_bytes": m["shm_avail"],
        "installed": tuple(name for name, there in (("pth_flash_attn", m["pthfa"]), ("fa2_fp8kv", m["fa2"])) if there),
    }
    if m["cc"]:
        facts["gpu.capability"] = m["cc"]
    if m["cu13"]:
        facts["cuda13_home"] = f"{ROOT}/venv/lib/python3.12/site-packages/nvidia/cu13"
    return Machine(case.id, facts, ENGINE, RecordedFiles(files), "recorded run")


def request(resolver: Resolver, case: Case) -> Request:
    """The request of a case: every knob was an environment variable."""
    return build(resolver.rules, resolver.table, environ=case.knobs)
