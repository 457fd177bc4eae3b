# SPDX-License-Identifier: Apache-2.0
"""How a call is timed: captured in a CUDA graph, replayed with the L2 cache flushed before, events around the replay."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Timing:
    """Microseconds of one call over the replays."""

    median: float
    low: float
    high: float


class Timer:
    """Times calls on the current device. Holds a buffer of twice the L2 cache to flush it with."""

    def __init__(self, device: str = "cuda") -> None:
        props = torch.cuda.get_device_properties(device)
        size = max(2 * getattr(props, "L2_cache_size", 64 << 20), 128 << 20)
        self._stream = torch.cuda.Stream(device)
        self._flush = torch.empty(size, dtype=torch.int8, device=device)

    def __call__(self, call: Callable[[], object], replays: int = 20, warm: int = 2, flush: bool = True) -> Timing:
        """Time ``call``, which must be capturable: no host reads, no allocation outside torch's pools."""
        for _ in range(warm):
            call()
        torch.cuda.synchronize()
        # Not torch.cuda.graph(): that collects garbage and empties the allocator's cache around every capture.
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self._stream):
            graph.capture_begin()
            call()
            graph.capture_end()
        torch.cuda.synchronize()
        graph.replay()
        pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(replays)]
        for start, stop in pairs:
            if flush:
                self._flush.zero_()
            start.record()
            graph.replay()
            stop.record()
        torch.cuda.synchronize()
        times = [start.elapsed_time(stop) * 1e3 for start, stop in pairs]
        return Timing(statistics.median(times), min(times), max(times))


@triton.jit
def _read(x_ptr, out_ptr, n, CHUNK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    acc = tl.zeros([CHUNK], tl.int32)
    for start in range(pid * CHUNK, n, tl.num_programs(0) * CHUNK):
        i = start + tl.arange(0, CHUNK)
        acc += tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + pid, tl.sum(acc, 0))


class PlainRead:
    """Reads a number of bytes and adds them up: the floor for anything that must read those bytes once."""

    def __init__(self, num_bytes: int, device: str = "cuda") -> None:
        self.x = torch.randint(-99, 99, (max(num_bytes // 4, 1),), dtype=torch.int32, device=device)
        self.programs = torch.cuda.get_device_properties(device).multi_processor_count * 4
        self.out = torch.empty(self.programs, dtype=torch.int32, device=device)

    def __call__(self) -> None:
        _read[(self.programs,)](self.x, self.out, self.x.numel(), CHUNK=4096, num_warps=8)

    def is_right(self) -> bool:
        """Whether the last call really read everything."""
        return int(self.out.sum(dtype=torch.int32)) == int(self.x.sum(dtype=torch.int32))
