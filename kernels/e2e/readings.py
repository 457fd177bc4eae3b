# SPDX-License-Identifier: Apache-2.0
"""What a server's processes hold and what the server counts, read from outside: memory, GPU memory, /metrics."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from e2e import soak

PROC = Path("/proc")
MIB = 1 << 20
METRICS = {"num_preemptions": "preemptions", "num_requests_running": "running", "num_requests_waiting": "waiting",
           "kv_cache_usage_perc": "pool used", "prefix_cache_queries": "prefix tokens asked", "prefix_cache_hits": "prefix tokens hit",
           "prompt_tokens": "prompt tokens", "generation_tokens": "tokens", "spec_decode_num_draft_tokens": "drafts",
           "spec_decode_num_accepted_tokens": "drafts accepted"}
"""vLLM's names without `vllm:` and `_total`, and ours. Where a metric has labels, their numbers are added up."""


def session(leader: int) -> list[int]:
    """The processes of a session, zombies left out. Its number is that of the process which began it."""
    found = []
    for place in PROC.glob("[0-9]*"):
        try:
            state, _, _, number = (place / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue                                                   # it ended meanwhile
        if int(number) == leader and state != "Z":
            found.append(int(place.name))
    return sorted(found)


def memory(processes: list[int]) -> dict[str, int]:
    """MiB of main memory: all that is resident, pages that two share counted twice, and the processes' own."""
    total = {"VmRSS": 0, "RssAnon": 0}
    for process in processes:
        try:
            text = (PROC / str(process) / "status").read_text()
        except OSError:
            continue
        for key in total:
            found = re.search(rf"^{key}:\s+(\d+) kB", text, re.MULTILINE)
            total[key] += int(found[1]) if found else 0
    return {"rss_mib": total["VmRSS"] >> 10, "anon_mib": total["RssAnon"] >> 10}


def gpu_memory(processes: list[int]) -> dict[str, int | None]:
    """MiB of the GPU's memory that these processes use, and that are used in all. None where nvidia-smi does not say."""
    rows = _smi("--query-compute-apps=pid,used_memory")
    own = [row[1] for row in rows if row[0] in processes]
    used = _smi("--query-gpu=memory.used")
    return {"gpu_mib": sum(own) if own else None, "gpu_all_mib": sum(row[0] for row in used) if used else None}


def _smi(query: str) -> list[list[int]]:
    try:
        done = subprocess.run(["nvidia-smi", query, "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True, timeout=20)
        return [[int(cell) for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []


def metrics(port: int) -> dict[str, float]:
    """What the server counts. Empty when it does not answer."""
    out: dict[str, float] = {}
    for line in (soak.get(port, "/metrics") or "").splitlines():
        found = re.match(r"vllm:(\w+?)(?:_total)?(?:\{.*\})? (\S+)$", line)
        if found and found[1] in METRICS:
            key = METRICS[found[1]]
            out[key] = round(out.get(key, 0.0) + float(found[2]), 4)
    return out
