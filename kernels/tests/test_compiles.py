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

from splitverify.crosscompile import unfenced
from splitverify.prefill_selection import select_prefill
from splitverify.selection import ARCHITECTURES, load_table
from splitverify.untuned_prefill import KINDS, LAYERS

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


def only_in_registers(job: dict[str, Any]) -> bool:
    """Whether no matrix instruction reads what the loop copies: a turned kernel decodes K and V in registers."""
    return bool(job["config"].get("turned")) and not job["config"].get("raw_keys")


def check(arch: int, jobs: list[dict[str, Any]]) -> None:
    for job, found in zip(jobs, compiled(arch, jobs), strict=True):
        assert found["fits"], (arch, job, found)
        assert found["spills"] <= SPILLS[arch], (arch, job, found)
        assert not found["unfenced"] or only_in_registers(job), (arch, job, found)
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


@pytest.mark.parametrize(("arch", "fmt", "layout", "tile", "warps", "wanted"), [
    (90, "int8", "planar", 64, 8, "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8"),
    (90, "int8", "inline", 64, 8, "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8"),
    (90, "fp8", "inline", 128, 8, "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"),
    (86, "int8", "planar", 32, 8, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32")])
def test_raw_keys_are_multiplied_as_they_are(arch: int, fmt: str, layout: str, tile: int, warps: int, wanted: str) -> None:
    config = dict(tile=tile, rows=64, warps=warps, stages=3, decode="packed", turned=True, raw_keys=True)
    job = dict(fmt=fmt, layout=layout, head_size=256, block_size=BLOCKS[fmt], config=config)
    (found,) = compiled(arch, [job])
    assert wanted in found["mma"] and found["fits"] and found["spills"] <= SPILLS[arch], found


def test_what_a_loop_copies_is_fenced_before_a_matrix_unit_reads_it() -> None:
    """Without the fence fp8 batches were not the same twice on an H200: two stages, pages smaller than a tile."""
    config = dict(tile=64, rows=64, decode="packed", turned=True, raw_keys=True)
    jobs = [dict(fmt=fmt, layout=layout, head_size=256, block_size=block, config=dict(config, **shape))
            for fmt, layout in (("fp8", "inline"), ("int8", "planar")) for block in (16, 880)
            for shape in (dict(stages=2, parts=2), dict(stages=3, warps=8))]
    jobs += [dict(fmt="bf16", layout="inline", head_size=256, block_size=448, config=dict(tile=32, rows=64, stages=3))]
    for job, found in zip(jobs, compiled(90, jobs), strict=True):
        assert any(name.startswith("wgmma") for name in found["mma"]) and not found["unfenced"], (job, found)


def test_an_unfenced_product_is_counted() -> None:
    wait, fence, product = "cp.async.wait_group 2;\n", "fence.proxy.async.shared::cta;\n", "wgmma.mma_async.sync.aligned.m64n64k32 x;\n"
    assert unfenced(wait + fence + product + product) == 0 and unfenced(fence + product) == 0
    assert unfenced(wait + product + product + fence + wait + product) == 2


def prefill_jobs_of(arch: int) -> list[dict[str, Any]]:
    """One job a kind of prefill, with the config that such a GPU gets."""
    jobs = []
    for head_size, (heads, kv_heads) in LAYERS.items():
        for fmt, layout, scores in KINDS:
            choice = select_prefill(divmod(arch, 10), head_size=head_size, fmt=fmt, layout=layout, scores=scores)
            jobs.append(dict(kernel="prefill", fmt=fmt, layout=layout, head_size=head_size, num_heads=heads,
                             num_kv_heads=kv_heads, block_size=BLOCKS[fmt], scores=scores, config=choice.config.as_dict()))
    return jobs


def test_prefill_compiles_to_the_matrix_instructions_it_is_for() -> None:
    """Integer scores and half-precision sums on 8.6, on 9.0 the warp-group instructions of both types."""
    def wanted(arch: int) -> dict[str, Any]:
        return next(j for j in prefill_jobs_of(arch) if (j["scores"], j["layout"], j["head_size"]) == ("exact8", "planar", 256))
    check(86, [wanted(86)])
    (consumer,), (hopper,) = compiled(86, [wanted(86)]), compiled(90, [wanted(90)])
    assert any("s32.s8.s8" in name for name in consumer["mma"]) and any("f16.f16.f16.f16" in name for name in consumer["mma"])
    assert all(name.startswith("wgmma") for name in hopper["mma"]) and any("s32.s8.s8" in name for name in hopper["mma"])


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_prefill_row_compiles(arch: int) -> None:
    check(arch, prefill_jobs_of(arch))


def test_the_sampler_compiles() -> None:
    found = compiled(86, [dict(kernel="sampler")])
    assert len(found) == 4 and all(f["spills"] == 0 and f["fits"] for f in found)
