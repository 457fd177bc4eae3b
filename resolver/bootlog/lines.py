"""What a boot says in its log, line by line: one pattern for each thing. Only what a pattern names is kept, never a whole line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["int", "gib", "word", "sizes", "seconds", "percent"]
GIB = r"(-?[\d.]+)"
COUNT = r"([\d,]+)"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One thing that the engine says. `many` keeps every one that is said, without repeats; else the last counts.

    Attributes:
        name: what it is called in the answer.
        kind: how the text is read.
        text: the pattern; its first group is the value.
        since: where the wording is from.
    """

    name: str
    kind: Kind
    text: re.Pattern[str]
    many: bool = False
    since: str = ""


def _p(name: str, kind: Kind, text: str, many: bool = False, since: str = "0.28") -> Pattern:
    return Pattern(name, kind, re.compile(text), many, since)


START = re.compile(r"Initializing a V1 LLM engine \(v([^)\s]{1,40})\)")
"""Begins a boot: what stood before it in the file is another one. Worker lines of the same boot follow it."""

PATTERNS = (
    _p("max_model_len", "int", rf"Using max model len {COUNT}"),
    # Said of a drafter as well, and before it is cut down to the target's; the engine's own line comes after both.
    _p("max_model_len", "int", r"with config: model=.*?\bmax_seq_len=(\d+)"),
    _p("backends", "word", r"Using (?:AttentionBackendEnum\.)?([A-Z][A-Z0-9_]+) (?:attention )?backend\b", many=True),
    _p("flash_attention", "int", r"Using FlashAttention version (\d+)"),
    _p("kv_cache_layout", "word", r"Using ([A-Z]{3,8}) KV cache layout", since="0.30"),
    _p("block", "int", rf"Setting attention block size to {COUNT} tokens"),
    _p("state_padding_percent", "percent", r"Padding mamba page size by ([\d.]+)%"),
    _p("padding_layers", "int", r"Add (\d+) padding layers"),
    _p("capture_sizes", "sizes", r"['\"]?cudagraph_capture_sizes['\"]?[=:] ?\[([\d, ]*)\]"),
    _p("loaded_gib", "gib", rf"Model loading took {GIB} GiB"),
    _p("free_at_start_gib", "gib", rf"Initial free memory:? {GIB} GiB"),
    _p("free_at_start_gib", "gib", rf"Free memory on device \({GIB}/[\d.]+ GiB\)"),
    _p("card_gib", "gib", rf"Free memory on device \([\d.]+/{GIB} GiB\)"),
    _p("pinned_gib", "gib", rf"reserved {GIB} GiB memory for KV Cache"),
    _p("pinned_gib", "gib", rf"Explicitly set \({GIB}/[\d.]+\) GiB for KV cache"),
    _p("available_gib", "gib", rf"Available KV cache memory: {GIB} GiB"),
    _p("pool_tokens", "int", rf"\b[A-Z]{{3,4}} KV cache size: {COUNT} tokens"),
    _p("concurrency", "gib", r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x"),
    _p("peak_gib", "gib", rf"{GIB} GiB for (?:the )?peak activation"),
    _p("peak_gib", "gib", rf"PyTorch activation peak memory takes {GIB}GiB"),
    _p("consumed_gib", "gib", rf"Actual usage is {GIB} GiB for consumed memory", since="0.31"),
    _p("non_torch_gib", "gib", rf"{GIB} GiB for non-torch memory"),
    _p("graphs_gib", "gib", rf"Graph capturing finished in \d+ secs, took {GIB} GiB"),
    _p("graphs_estimated_gib", "gib", rf"\(actual\), {GIB} GiB \(estimated\)", since="0.29"),
    _p("needed_gib", "gib", rf"\({GIB} GiB KV ?cache is needed"),
    _p("available_gib", "gib", rf"larger than the available KV ?cache memory \({GIB} GiB\)"),
    _p("estimated_max_len", "int", rf"estimated maximum model length is {COUNT}"),
    _p("engine_seconds", "seconds", r"init engine \([^)]*\) took ([\d.]+) s"),
)
UP = re.compile(r"Application startup complete")
REFUSED = re.compile(
    r"To serve at least one request with the models?'s max seq len|No available memory for the cache blocks"
    r"|is less than desired GPU memory utilization"
)
KILLED = re.compile(r"torch\.(?:cuda\.)?OutOfMemoryError|CUDA out of memory")
