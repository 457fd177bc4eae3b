# SPDX-License-Identifier: Apache-2.0
"""What ships compiles for the GPUs it ships for: registers, spills, shared memory, width of loads. No GPU is needed.

Runs in a process of its own, because the rest of the tests use triton's interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from splitverify.selection import ARCHITECTURES, load_table

HERE = Path(__file__).parent
BLOCKS = {"bf16": 448, "int8": 864, "fp8": 880}
# Measured as the fastest there; two blocks a multiprocessor leave 255 registers, and a few bytes spill outside the loop's
# critical path. Elsewhere nobody measured, and nothing may spill.
SPILLS = {86: 0, 89: 0, 120: 0, 90: 256}


def compiled(arch: int, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What ptxas says of each job."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-W", "ignore", str(HERE / "compile_child.py"), str(arch)],
                          input=json.dumps(jobs), capture_output=True, text=True,
                          env={**environment, "PYTHONPATH": str(HERE.parent)})
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stdout.splitlines()[-1]))


def jobs_of(arch: int) -> list[dict[str, Any]]:
    """One job a distinct shipped row."""
    jobs = []
    for row in load_table(f"sm_{arch}"):
        config = {k: v for k, v in row["config"].items() if k != "programs_per_sm"}
        shape = dict(num_heads=32, num_kv_heads=8, causal=False, window=2048) if row["head_size"] == 128 else {}
        jobs.append(dict(fmt=row["format"], layout=row["layout"], head_size=row["head_size"],
                         block_size=BLOCKS[row["format"]], config=dict(config, segments=16), **shape))
    return [j for i, j in enumerate(jobs) if j not in jobs[:i]]


def check(arch: int, jobs: list[dict[str, Any]]) -> None:
    for job, found in zip(jobs, compiled(arch, jobs), strict=True):
        assert found["fits"], (arch, job, found)
        assert found["spills"] <= SPILLS[arch], (arch, job, found)
        assert not [k for k in found["loads"] if ".b8" in k or ".u8" in k], (arch, job, found)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_sample_compiles(arch: int) -> None:
    jobs = jobs_of(arch)
    check(arch, [jobs[0], jobs[len(jobs) // 2], jobs[-1]])


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_everything_shipped_compiles(arch: int) -> None:
    check(arch, jobs_of(arch))


@pytest.mark.parametrize("arch", [86, 90])
def test_the_other_kernels_compile(arch: int) -> None:
    """The interpreter accepts what the compiler does not: a variable that changes its type in a loop, for one."""
    found = compiled(arch, [dict(kernel="combine"), dict(kernel="store", fmt="int8"), dict(kernel="store", fmt="fp8"),
                            dict(kernel="store", fmt="bf16")])
    assert all(f["bytes"] > 0 for f in found) and len(found) == 4
