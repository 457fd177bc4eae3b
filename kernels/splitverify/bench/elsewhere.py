# SPDX-License-Identifier: Apache-2.0
"""Times verify kernels that another triton compiled: a GPU machine's own may be older than the one that vLLM brings.

    python -m splitverify.bench.elsewhere build --out FOLDER --arch 90 --multiprocessors 132     # where that triton is; no GPU
    python -m splitverify.bench.elsewhere time FOLDER --out tuned.jsonl                          # on the GPU

What ``time`` writes is what ``splitverify.tune`` writes: each result was checked before it was timed. The second launch, which
combines segments, is compiled on the GPU machine.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import hashlib
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from splitverify.cases import Case
from splitverify.crosscompile import Launch, argument_types, compile_launch
from splitverify.ops.config import KernelConfig

FORMATS, QUERIES, LENGTHS = ("int8", "fp8"), (8, 16), (4096, 16384, 131072)
SCALARS = {"fp32": ctypes.c_float, "i32": ctypes.c_int32, "i64": ctypes.c_int64}
PREFER_SHARED, MAX_DYNAMIC_SHARED = 1, 8
"""Numbers of the CUDA driver."""


def key_of(constants: dict[str, Any], warps: int, stages: int) -> str:
    """A name of the machine code for these compile-time arguments."""
    text = json.dumps([sorted((k, str(v)) for k, v in constants.items()), warps, stages])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def constants_of(case: Case, config: KernelConfig) -> dict[str, Any]:
    """The compile-time arguments of a launch of that case."""
    from splitverify.ops.verify_attention import kernel_constants

    return kernel_constants(launch_of(case, config).cache(), case.num_heads, config, case.causal, case.window, torch.bfloat16,
                            interpret=False)


def launch_of(case: Case, config: KernelConfig) -> Launch:
    """What is compiled for that case."""
    return Launch(case.fmt, config, case.head_size, case.num_heads, case.num_kv_heads, case.block_size, case.layout, case.causal,
                  case.window)


def jobs_for(capability: tuple[int, int], sms: int) -> list[tuple[Case, list[KernelConfig]]]:
    """The cases and the configs that each is tried with."""
    from splitverify.tune import candidates, shipped, verify_case

    cases = [verify_case(fmt, q, n) for n in reversed(LENGTHS) for q in QUERIES for fmt in FORMATS]
    return [(case, list(dict.fromkeys([*shipped(case, capability, sms), *candidates(case, sms, kernels="turned")])))
            for case in cases]


def build_one(job: tuple[Case, KernelConfig, int, Path]) -> str:
    """Compile into the folder; says what came of it."""
    case, config, arch, out = job
    need = compile_launch(launch_of(case, config), arch)
    name = key_of(constants_of(case, config), config.warps, config.stages)
    (out / f"{name}.cubin").write_bytes(need.cubin)
    (out / f"{name}.json").write_text(json.dumps(dict(
        entry="turned_attention" if config.turned else "split_attention", shared=need.shared, warps=config.warps,
        types=list(argument_types(case.fmt).values()), registers=need.registers, spills=need.spills)))
    return f"{case.fmt} {config}: {need.registers} registers, {need.spills} B spilled, {need.shared} B shared"


class Prebuilt:
    """Stands in for a compiled triton kernel: ``prebuilt[grid](*arguments, **constants)`` launches machine code of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.loaded: dict[str, tuple[ctypes.c_void_p, dict[str, Any]]] = {}

    def call(self, name: str, *arguments: Any) -> None:
        """A function of the CUDA driver. Raises RuntimeError with its number when it fails."""
        code = getattr(self.driver, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: CUDA driver error {code}")

    def has(self, case: Case, config: KernelConfig) -> bool:
        """Whether the folder holds that config's code."""
        return (self.folder / f"{key_of(constants_of(case, config), config.warps, config.stages)}.json").exists()

    def load(self, name: str) -> tuple[ctypes.c_void_p, dict[str, Any]]:
        """The function, ready to launch, and what is known of it."""
        if name not in self.loaded:
            about = json.loads((self.folder / f"{name}.json").read_text())
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(module), (self.folder / f"{name}.cubin").read_bytes())
            self.call("cuModuleGetFunction", ctypes.byref(function), module, about["entry"].encode())
            if about["shared"] > 48 << 10:
                self.call("cuFuncSetCacheConfig", function, PREFER_SHARED)
                self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, about["shared"])
            self.loaded[name] = function, about
        return self.loaded[name]

    def __getitem__(self, grid: tuple[int, int, int]) -> Any:
        def launch(*arguments: Any, num_warps: int, num_stages: int, **constants: Any) -> None:
            function, about = self.load(key_of(constants, num_warps, num_stages))
            values = [ctypes.c_void_p(x.data_ptr()) if t.startswith("*") else SCALARS[t](x)
                      for x, t in zip(arguments, about["types"], strict=True)]
            values += [ctypes.c_void_p(), ctypes.c_void_p()]       # triton's own two workspaces, of which these use none
            pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
            self.call("cuLaunchKernel", function, *grid, 32 * num_warps, 1, 1, about["shared"],
                      ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), pointers, None)
        return launch


def build(args: argparse.Namespace) -> int:
    """Compile every distinct config. Returns 0."""
    import triton

    args.out.mkdir(parents=True, exist_ok=True)
    distinct = {(case.fmt, replace(config, segments=2)): case
                for case, configs in jobs_for(divmod(args.arch, 10), args.multiprocessors) for config in configs}
    (args.out / "triton").write_text(triton.__version__)
    with concurrent.futures.ProcessPoolExecutor(args.workers) as pool:
        for line in pool.map(build_one, [(case, config, args.arch, args.out) for (_, config), case in distinct.items()]):
            print(line, flush=True)
    return 0


def measure(args: argparse.Namespace) -> int:
    """Check and time. Returns 0, or 2 without a GPU."""
    if not torch.cuda.is_available():
        print("timing needs a GPU", file=sys.stderr)
        return 2
    from splitverify.bench.timing import Timer
    from splitverify.ops import verify_attention as launcher
    from splitverify.tune import time_case

    prebuilt = Prebuilt(args.folder)
    launcher.turned_attention = launcher.split_attention = prebuilt  # type: ignore[assignment]
    props = torch.cuda.get_device_properties(0)
    made = f"{props.name}, machine code of triton {(args.folder / 'triton').read_text()}"
    timer, end = Timer(), time.time() + args.seconds
    with args.out.open("w") as out:
        for case, configs in jobs_for((props.major, props.minor), props.multi_processor_count):
            best = time_case(case, [c for c in configs if prebuilt.has(case, c)], timer, {}, end)
            out.write(json.dumps(dict(gpu=made, capability=[props.major, props.minor], case=vars(case), tried=len(best),
                                      best=best[:12])) + "\n")
            for r in best[:2]:
                print(f"{r['us']:8.1f} us  {case.fmt} q={case.q[0]} L={case.lens[0]} {r['config']}", flush=True)
    return 0


def main(argv: list[str] | None = None) -> int:
    """Build, or time."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.bench.elsewhere", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    there = what.add_parser("build")
    there.add_argument("--out", type=Path, required=True)
    there.add_argument("--arch", type=int, required=True, help="compute capability times ten")
    there.add_argument("--multiprocessors", type=int, required=True)
    there.add_argument("--workers", type=int, default=2)
    here = what.add_parser("time")
    here.add_argument("folder", type=Path)
    here.add_argument("--out", type=Path, required=True, help="JSON lines to write")
    here.add_argument("--seconds", type=float, default=100, help="stop timing after this long")
    args = parser.parse_args(argv)
    return build(args) if args.what == "build" else measure(args)


if __name__ == "__main__":
    sys.exit(main())
