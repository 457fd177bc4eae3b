# SPDX-License-Identifier: Apache-2.0
"""What an attention layer needs of the kernels, without a word of vLLM: configs, scratch, cache view, the calls."""

from __future__ import annotations

from dataclasses import replace

import torch

from splitverify.layout import FORMAT_NAMES, FP8, INT8, UNQUANTIZED, CacheView, view_cache
from splitverify.ops.limits import MAX_QUERY_LEN
from splitverify.ops.prefill_attention import EVERYWHERE, prefill_attention
from splitverify.ops.quantize_store import quantize_store
from splitverify.ops.scratch import Scratch, allocate_scratch
from splitverify.ops.verify_attention import unsupported, verify_attention
from splitverify.plugin.batches import in_pieces, short_requests
from splitverify.prefill_selection import select_prefill
from splitverify.selection import NoTable, select

FORMAT_OF_DTYPE = {"auto": UNQUANTIZED, "float16": UNQUANTIZED, "bfloat16": UNQUANTIZED, "fp8": FP8, "fp8_e4m3": FP8,
                   "int8_per_token_head": INT8}
"""vLLM's KV cache dtypes that the kernels read."""


def scores_of(fmt: int, asked: str | None) -> str:
    """How a prefill multiplies q and K: as VLLM_PREFILL_ATTN asks, or without changing results beyond rounding."""
    if asked is None:
        return "exact8" if fmt == INT8 else "plain"
    return {"int8": "int8", "fp16": "plain"}[asked]


_SCRATCH: dict[tuple[torch.device, int, int], Scratch] = {}


def _shared_scratch(device: torch.device, num_heads: int, head_size: int, slots: int) -> Scratch:
    """One workspace for all layers of these sizes: layers of a stream run in order. ``slots`` is tokens x segments."""
    key = (device, num_heads, head_size)
    if key not in _SCRATCH or _SCRATCH[key].max_tokens < slots:
        _SCRATCH[key] = allocate_scratch(slots, num_heads, head_size, 1, device)
    return _SCRATCH[key]


class LayerRunner:
    """Verify attention, prefill attention and KV store of one layer.

    Built when the layer is, so that the workspace is part of the memory vLLM profiles and its address never changes.
    ``max_length`` is the most keys a request can show, ``asked`` what VLLM_PREFILL_ATTN says. Raises :class:`NoTable` where no config ships for this GPU.
    """

    def __init__(self, *, num_heads: int, num_kv_heads: int, head_size: int, scale: float, kv_cache_dtype: str,
                 layout: str, window: int, query_max: int, max_length: int, device: torch.device,
                 asked: str | None = None) -> None:
        self.num_heads, self.num_kv_heads, self.head_size = num_heads, num_kv_heads, head_size
        self.scale, self.layout, self.window, self.query_max = scale, layout, window, query_max
        self.fmt = FORMAT_OF_DTYPE[kv_cache_dtype]
        self.max_length = window + query_max if window else max_length
        props = torch.cuda.get_device_properties(device)
        self.capability, self.multiprocessors = (props.major, props.minor), props.multi_processor_count
        why = unsupported(num_heads, num_kv_heads, head_size, query_max)
        if why:
            raise NoTable(why)
        self.scores = scores_of(self.fmt, asked)
        self.prefill_config = select_prefill(self.capability, head_size=head_size, fmt=FORMAT_NAMES[self.fmt],
                                             layout=layout, scores=self.scores).config
        # For one request the split is widest; larger batches get fewer segments, so tokens x segments stays about this.
        self.slots = max(q * self._select(q, 1).segments for q in range(1, query_max + 1))
        self.scratch = _shared_scratch(device, num_heads, head_size, self.slots)
        self._views: dict[tuple[object, ...], CacheView] = {}
        self._configs: dict[tuple[int, int, int], object] = {}

    def _select(self, query_len: int, requests: int):  # type: ignore[no-untyped-def]
        return select(self.capability, self.multiprocessors, head_size=self.head_size, fmt=FORMAT_NAMES[self.fmt],
                      layout=self.layout, num_heads=self.num_heads, num_kv_heads=self.num_kv_heads,
                      max_query_len=query_len, max_length=self.max_length, requests=requests).config

    def config(self, tokens: int, query_len: int, requests: int):  # type: ignore[no-untyped-def]
        """The config of a split call. One segment, written directly, for long queries and batches that fill the GPU."""
        key = (tokens, query_len, requests)
        if key not in self._configs:
            config = self._select(min(query_len, self.query_max), requests)
            segments = min(config.segments, self.slots // max(tokens, 1)) if query_len <= MAX_QUERY_LEN else 1
            self._configs[key] = replace(config, segments=max(segments, 1))
        return self._configs[key]

    def view(self, kv_cache: torch.Tensor) -> CacheView:
        """The cache as the kernels take it; remembered, because the engine passes the same tensor every step."""
        key = (kv_cache.data_ptr(), kv_cache.shape, kv_cache.stride())
        if key not in self._views:
            self._views.clear()
            self._views[key] = view_cache(kv_cache, self.head_size, self.fmt, self.layout)
        return self._views[key]

    def way(self, tokens: int, query_len: int, requests: int, causal: bool) -> str:
        """Which kernels serve a call of so many query tokens, at most ``query_len`` a request.

        ``split``    the split kernel: verify steps, and what the prefill kernel does not do
        ``prefill``  the prefill kernel. It does not split keys: a program goes through all that its tokens see
        ``pieces``   the split kernel on one request cut into several: a few more query tokens than a verify step has, behind
                     a long context, would leave most of the GPU idle, so they are split while the workspace holds them
        ``mixed``    the split kernel on the verify steps of the batch, then the prefill kernel on the rest
        """
        if query_len <= self.query_max or not causal or self.window:
            return "split"
        programs = (tokens * self.num_heads // self.num_kv_heads // self.prefill_config.rows + requests) * self.num_kv_heads
        if programs < self.multiprocessors and 2 * tokens <= self.slots:
            if query_len <= MAX_QUERY_LEN:
                return "split"
            if requests == 1:
                return "pieces"
        return "prefill" if requests == 1 else "mixed"

    def attend(self, query: torch.Tensor, kv_cache: torch.Tensor, block_table: torch.Tensor, seq_lens: torch.Tensor,
               query_start_loc: torch.Tensor, out: torch.Tensor, max_query_len: int, causal: bool,
               k_scale: torch.Tensor, v_scale: torch.Tensor) -> None:
        """Write the attention of ``query [T, Hq, D]`` into ``out``, shaped like it."""
        tokens, requests = query.shape[0], query_start_loc.shape[0] - 1
        way = self.way(tokens, max_query_len, requests, causal)
        cache = self.view(kv_cache)
        scales: dict[str, torch.Tensor] = dict(k_scale=k_scale, v_scale=v_scale)
        longer_than, within, split = 0, EVERYWHERE, (block_table, seq_lens, query_start_loc)
        if way == "pieces":
            split = in_pieces(seq_lens, query_start_loc, block_table, tokens, MAX_QUERY_LEN)
            max_query_len, requests = MAX_QUERY_LEN, split[1].shape[0]
        if way == "mixed":
            config = self.config(min(tokens, requests * self.query_max), self.query_max, requests)
            within = self.slots // config.segments if config.segments > 1 else EVERYWHERE
            split = (block_table, *short_requests(seq_lens, query_start_loc, self.query_max, within))
            longer_than = max_query_len = self.query_max
        elif way != "prefill":
            config = self.config(tokens, max_query_len, requests)
        if way != "prefill":
            held = min(tokens, within)
            verify_attention(query[:held], cache, *split, out[:held], self.scratch, scale=self.scale,
                             max_query_len=max_query_len, config=config, causal=causal, window=self.window, **scales)
        if way in ("prefill", "mixed"):
            prefill_attention(query, cache, block_table, seq_lens, query_start_loc, out, scale=self.scale,
                              config=self.prefill_config, scores=self.scores, longer_than=longer_than, within=within,
                              **scales)

    def store(self, key: torch.Tensor, value: torch.Tensor, kv_cache: torch.Tensor, slot_mapping: torch.Tensor,
              k_scale: torch.Tensor, v_scale: torch.Tensor) -> None:
        """Quantize and store new K and V ``[T, Hkv, D]``. -1 in ``slot_mapping`` skips a token."""
        quantize_store(key, value, self.view(kv_cache), slot_mapping, k_scale, v_scale)
