# SPDX-License-Identifier: Apache-2.0
"""Compile a launch of the split kernel for a GPU that is not here, and read off what it needs.

Uses the ptxas inside the triton package. Nothing runs; no GPU is touched.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from splitverify.layout import FORMAT_NAMES, INT8, CacheView, content_size, view_cache
from splitverify.ops.config import KernelConfig
from splitverify.ops.prefill_config import PrefillConfig

SHARED_LIMIT = {80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10, 100: 227 << 10, 120: 99 << 10}
"""Shared memory one block may have, in bytes, by compute capability times ten. Source: CUDA programming guide."""

FORMATS = {name: fmt for fmt, name in FORMAT_NAMES.items()}


@dataclass(frozen=True)
class Launch:
    """What is compiled: the shape of a layer, the form of its cache, and a config."""

    fmt: str
    config: KernelConfig
    head_size: int = 256
    num_heads: int = 24
    num_kv_heads: int = 4
    block_size: int = 448
    layout: str = "inline"
    causal: bool = True
    window: int = 0

    def cache(self) -> CacheView:
        """A description of such a cache; two pages on the meta device are enough."""
        fmt = FORMATS[self.fmt]
        dtype = {"bf16": torch.bfloat16, "fp8": torch.uint8, "int8": torch.int8}[self.fmt]
        c = content_size(self.head_size, fmt)
        h, n = self.num_kv_heads, self.block_size
        pool = torch.empty(2 * h * n * c, dtype=dtype).as_strided((2, h, n, c), (h * n * c, c, h * c, 1))
        return view_cache(pool, self.head_size, fmt, self.layout)


@dataclass(frozen=True)
class Resources:
    """What ptxas and triton say of a compiled kernel. Bytes of spill stores; shared memory in bytes."""

    registers: int
    spills: int
    shared: int
    arch: int
    mma: Counter[str] = field(default_factory=Counter)
    loads: Counter[str] = field(default_factory=Counter)
    unfenced: int = 0
    """Warp-group products that follow a wait for copies to shared memory with no fence between the two (``unfenced``)."""
    cubin: bytes = field(default=b"", repr=False)
    """The machine code."""

    def fits(self) -> bool:
        """Whether one block's shared memory exists on that architecture."""
        return self.shared <= SHARED_LIMIT[self.arch]


def unfenced(ptx: str) -> int:
    """How many waits for ``cp.async`` are followed by a ``wgmma`` without ``fence.proxy.async`` between them, in the order of the
    text. PTX asks for that fence where the product reads what was copied. It need not: its operands may be in registers, or
    in shared memory since before."""
    count, waited = 0, False
    for step in re.findall(r"cp\.async\.wait_group|fence\.proxy\.async|wgmma\.mma_async", ptx):
        count += waited and step.startswith("wgmma")
        waited = step.startswith("cp.async")
    return count


def _ptxas(arch: int) -> str:
    """The ptxas that triton itself would call for that architecture."""
    from triton.backends.nvidia.compiler import get_ptxas

    return get_ptxas(arch).path


def compile_kernel(kernel: Any, types: dict[str, str], consts: dict[str, Any], aligned: list[str], warps: int, stages: int,
                   arch: int) -> Resources:
    """Compile a Triton kernel for compute capability ``arch`` / 10. Raises what triton raises when it cannot.

    ``types`` are those of the run-time arguments, ``aligned`` which of them the launcher would find to be multiples of 16.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = kernel.arg_names
    source = ASTSource(kernel, {n: types.get(n, "constexpr") for n in names},
                       constexprs={(names.index(n),): v for n, v in consts.items()},
                       attrs={(names.index(n),): [["tt.divisibility", 16]] for n in aligned})
    built = triton.compile(source, target=GPUTarget("cuda", arch, 32),
                                 options=dict(num_warps=warps, num_stages=stages))
    ptx = built.asm["ptx"]
    with tempfile.TemporaryDirectory() as tmp:
        path, code = Path(tmp, "k.ptx"), Path(tmp, "k.cubin")
        path.write_text(ptx)
        gpu = f"sm_{arch}{'a' if arch >= 90 else ''}"
        done = subprocess.run([_ptxas(arch), "-v", f"--gpu-name={gpu}", str(path), "-o", str(code)],
                              capture_output=True, text=True)
        cubin = code.read_bytes() if done.returncode == 0 else b""
    if done.returncode:
        raise RuntimeError(f"ptxas: {done.stderr[-400:]}")
    regs = re.search(r"Used (\d+) registers", done.stderr)
    spills = re.search(r"(\d+) bytes spill stores", done.stderr)
    if not regs or not spills:
        raise RuntimeError(f"ptxas said nothing of registers: {done.stderr[-400:]}")
    loads = Counter(re.findall(r"ld\.global[\w:.]*", ptx))
    loads.update(f"cp.async {int(n, 16)}" for n in re.findall(r"cp\.async\.c[ag][^;]*?, (0x[0-9a-f]+)", ptx))
    return Resources(int(regs[1]), int(spills[1]), built.metadata.shared, arch,
                     Counter(re.findall(r"mma\.sync[\w.]*|wgmma\.mma_async[\w.]*", ptx)), loads, unfenced(ptx), cubin)


def argument_types(fmt: str) -> dict[str, str]:
    """Triton's types of the run-time arguments of both verify kernels, in their order."""
    element = {"bf16": "*bf16", "fp8": "*u8", "int8": "*i8"}[fmt]
    return dict(q_ptr="*bf16", data_ptr=element, scales_ptr="*fp32" if FORMATS[fmt] == INT8 else "*i32",
                k_scale_ptr="*fp32", v_scale_ptr="*fp32", block_table_ptr="*i32", seq_lens_ptr="*i32", query_start_ptr="*i32",
                part_ptr="*fp32", part_ml_ptr="*fp32", out_ptr="*bf16", score_scale="fp32", stride_qt="i32",
                stride_qh="i32", stride_ot="i32", stride_oh="i32", stride_block="i64", scale_stride_block="i64",
                stride_bt="i32", segments="i32", query_tiles="i32")


def compile_launch(launch: Launch, arch: int) -> Resources:
    """Compile ``launch`` for compute capability ``arch`` / 10. Raises what triton raises when it cannot."""
    from splitverify.ops.split_kernel import split_attention
    from splitverify.ops.turned_kernel import turned_attention
    from splitverify.ops.verify_attention import kernel_constants

    cache = launch.cache()
    consts: dict[str, Any] = kernel_constants(cache, launch.num_heads, launch.config, launch.causal, launch.window,
                                              torch.bfloat16, interpret=False)
    types = argument_types(launch.fmt)
    # What the launcher would find by itself: allocations and these strides are multiples of 16.
    aligned = ["q_ptr", "data_ptr", "scales_ptr", "part_ptr", "part_ml_ptr", "out_ptr", "stride_qt", "stride_qh", "stride_ot",
               "stride_oh", "stride_block"]
    if launch.layout == "planar":
        aligned.append("scale_stride_block")
    kernel = turned_attention if launch.config.turned else split_attention
    return compile_kernel(kernel, types, consts, aligned, launch.config.warps, launch.config.stages, arch)


def compile_prefill(launch: Launch, config: PrefillConfig, scores: str, arch: int) -> Resources:
    """Compile the prefill kernel for ``launch``'s layer and cache (its own config is not read)."""
    from splitverify.ops.prefill_attention import prefill_constants
    from splitverify.ops.prefill_kernel import prefill

    consts = prefill_constants(launch.cache(), launch.num_heads, config, scores, torch.bfloat16, interpret=False)
    types = dict(q_ptr="*bf16", data_ptr={"bf16": "*bf16", "fp8": "*u8", "int8": "*i8"}[launch.fmt],
                 scales_ptr="*fp32" if FORMATS[launch.fmt] == INT8 else "*i32", k_scale_ptr="*fp32", v_scale_ptr="*fp32",
                 block_table_ptr="*i32", seq_lens_ptr="*i32", query_start_ptr="*i32", out_ptr="*bf16", score_scale="fp32",
                 stride_qt="i32", stride_qh="i32", stride_ot="i32", stride_oh="i32", stride_block="i64",
                 scale_stride_block="i64", stride_bt="i32", requests="i32", longer_than="i32", within="i32")
    aligned = ["q_ptr", "data_ptr", "scales_ptr", "out_ptr", "stride_qt", "stride_qh", "stride_ot", "stride_oh",
               "stride_block"]
    if launch.layout == "planar":
        aligned.append("scale_stride_block")
    return compile_kernel(prefill, types, consts, aligned, config.warps, config.stages, arch)
