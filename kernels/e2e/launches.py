# SPDX-License-Identifier: Apache-2.0
"""Which launches are compared, and what `launch.py` makes of them on this machine.

A launch is a profile and knobs, as a user would type them. What must be different because the model has no weights, or
because the machine lacks a package, is passed through behind `--` and is the same for all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e import models

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
MAX_LEN = 131072
PASSED = ("--load-format", "dummy", "--gdn-prefill-backend", "triton", "--max-num-batched-tokens", "8192")
"""No weights; no FlashInfer on the machine; and the prompt chunk that the baselines were measured with."""
CUSTOM, TRITON, FLASH = ("ATTENTION_BACKEND=" + name for name in ("CUSTOM", "TRITON_ATTN", "FLASH_ATTN"))


@dataclass(frozen=True)
class Launch:
    """One launch: name, profile, knobs, MiB of KV cache, and the longest request."""

    name: str
    profile: str
    knobs: tuple[str, ...]
    pool_mib: int = 10240
    length: int = MAX_LEN


ALL = {
    launch.name: launch
    for launch in (
        Launch("mtp3-custom-int8", "mtp-long", (CUSTOM,)),
        Launch("mtp3-triton-int8", "mtp-long", (TRITON,), 3072),
        Launch("mtp3-triton-int8-verify", "mtp-long", (TRITON, "VLLM_SPEC_DECODE_ATTN=1", "PREFILL_ATTN=fp16"), 3072),
        Launch("mtp7-custom-int8", "mtp-long", (CUSTOM, "DRAFT_TOKENS=7"), 2048),
        Launch("mtp3-flash-bf16", "mtp-fast", (FLASH, "DRAFT_TOKENS=3", "SPEC_ATTN=0")),
        Launch("mtp3-flash-bf16-verify", "mtp-fast", (FLASH, "DRAFT_TOKENS=3", "SPEC_ATTN=1"), 3072),
        Launch("mtp3-custom-bf16", "mtp-fast", (CUSTOM, "DRAFT_TOKENS=3"), 3072),
        Launch("off-custom-int8", "off-long", (CUSTOM,)),
        Launch("off-triton-int8", "off-long", (TRITON,), 3072),
        Launch("off-flash-bf16", "off-fast", (FLASH, "SPEC_ATTN=0")),
        Launch("dflash7-custom-int8", "dflash2-long", (CUSTOM, "MAX_SEQS=8")),
        Launch("dflash7-triton-int8", "dflash2-long", (TRITON, "SPEC_ATTN=0", "MAX_SEQS=8"), 3072),
        Launch("dflash7-triton-int8-verify", "dflash2-long", (TRITON, "MAX_SEQS=8"), 3072),
        Launch("dflash7-flash-bf16", "dflash2-fast", (FLASH, "SPEC_ATTN=0", "MAX_SEQS=8")),
        Launch("served-custom-int8", "mtp-long", (CUSTOM,), 2048),
        Launch("spoiled-custom-int8", "mtp-long", (CUSTOM,), 1024, 16384),
        Launch("tight-custom-int8", "mtp-long", (CUSTOM,), 324, 16384),
    )
}
"""Pools of 10 GiB are those that `fit` is held to. `tight-...` has 66 pages, so that requests push each other out; `spoiled-...` is told to compute something else, to
see that the comparison of answers notices."""


def words(launch: Launch, folder: Path, venv: Path | None = None, share: float = 0.06) -> list[str]:
    """The words behind `launch.py COMMAND`. `folder` holds the models, `share` is this engine's part of the GPU's memory."""
    out = ["--profile", launch.profile, *launch.knobs, f"MODEL={folder / models.TARGET}", f"MAX_LEN={launch.length}"]
    out += [f"KV_MEM={launch.pool_mib * MIB}", f"GPU_UTIL={share}", "TOOLS=0"]
    if launch.profile.startswith("dflash2"):
        out += [f"DRAFT={folder / models.DRAFTER}", f"DFLASH_MAX_LEN={launch.length}"]
    if venv is not None:
        out.append(f"ENGINE_VENV={venv}")
    return [*out, "--", *PASSED]


def python(venv: Path | None) -> str:
    """The Python that has what `launch.py` needs: the engine's own where there is one."""
    return sys.executable if venv is None else str(venv / "bin/python")


def ask(command: str, launch: Launch, folder: Path, venv: Path | None, *more: str) -> dict[str, Any]:
    """What `launch.py COMMAND ... --json` answers, whatever its exit status. Raises RuntimeError when that is no JSON."""
    line = [python(venv), str(ROOT / "launch.py"), command, *more, "--json", *words(launch, folder, venv)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"launch.py {command} of {launch.name}: {done.stderr.strip() or done.stdout[:500]}") from None
    return answer


def resolved(launch: Launch, folder: Path, venv: Path | None, *more: str) -> dict[str, Any]:
    """The launch as `launch.py resolve` renders it. Raises RuntimeError with the reasons when it is refused."""
    answer = ask("resolve", launch, folder, venv, *more)
    if not answer["ok"]:
        reasons = [item["message"] for item in answer["diagnostics"] if item["severity"] in ("refuse", "error")]
        raise RuntimeError(f"{launch.name} is refused: {'; '.join(reasons)}")
    return answer


def described(name: str, folder: Path, venv: Path | None) -> dict[str, Any]:
    """What is kept of a launch: how it was resolved here, and what `fit` predicts of its pool. Raises RuntimeError or KeyError."""
    launch = ALL[name]
    answer = resolved(launch, folder, venv)
    exact = ask("fit", launch, folder, venv)["numbers"]["exact"]
    kept = {key: answer[key] for key in ("argv", "env", "arm", "engine", "machine", "profile", "knobs")}
    return kept | {"fit": {key: exact[key] for key in ("block", "printed_tokens", "pool_pages")}}


def server(name: str, folder: Path, venv: Path) -> list[str]:
    """The command that starts a launch's server, as a user would type it."""
    return [python(venv), str(ROOT / "launch.py"), *words(ALL[name], folder, venv)]
