# SPDX-License-Identifier: Apache-2.0
"""What the three attention impls share: a runner, and the reasons for which a call is left to vLLM's kernels."""

from __future__ import annotations

from typing import Any

import torch

from splitverify.plugin.runner import FORMAT_OF_DTYPE, LayerRunner
from splitverify.plugin.switches import prefill_scores, query_max
from splitverify.selection import NoTable


def max_model_len() -> int:
    """The engine's longest request, or 128k keys where no engine configuration is set."""
    from vllm.config import get_current_vllm_config_or_none

    config = get_current_vllm_config_or_none()
    model = getattr(config, "model_config", None)
    return int(getattr(model, "max_model_len", None) or 131072)


def layer_device() -> torch.device:
    """Where the layer's tensors will be."""
    return torch.device("cuda", torch.cuda.current_device())


def batch_invariance_wanted() -> bool:
    """VLLM_BATCH_INVARIANT, as vLLM reads it."""
    import vllm.envs

    return bool(vllm.envs.VLLM_BATCH_INVARIANT)


class VerifyLayer:
    """Mixed into an attention impl, before vLLM's class."""

    runner: LayerRunner | None = None
    off: str | None = "not set up"
    """Why this layer never takes our path, or None."""

    def set_up(self, kv_cache_dtype: str, layout: str) -> None:
        """Call at the end of ``__init__``: finds out whether the layer can take our path, and allocates what it needs."""
        self.off = self._why_never(kv_cache_dtype)
        if self.off is None:
            left = self.sliding_window[0]  # type: ignore[attr-defined]
            try:
                self.runner = LayerRunner(
                    num_heads=self.num_heads, num_kv_heads=self.num_kv_heads,  # type: ignore[attr-defined]
                    head_size=self.head_size, scale=self.scale,  # type: ignore[attr-defined]
                    kv_cache_dtype=kv_cache_dtype, layout=layout, window=left + 1 if left >= 0 else 0,
                    query_max=query_max(), max_length=max_model_len(),
                    device=layer_device(), asked=prefill_scores())
            except NoTable as error:
                self.off = str(error)

    def _why_never(self, kv_cache_dtype: str) -> str | None:
        if kv_cache_dtype not in FORMAT_OF_DTYPE:
            return f"the KV cache dtype {kv_cache_dtype}"
        if getattr(self, "attn_type", "decoder") != "decoder":
            return "attention that is not decoder attention"
        if self.alibi_slopes is not None:  # type: ignore[attr-defined]
            return "ALiBi"
        if self.sinks is not None:  # type: ignore[attr-defined]
            return "attention sinks"
        if self.logits_soft_cap:  # type: ignore[attr-defined]
            return "a logits soft cap"
        if getattr(self, "chunk_lookback", -1) > -1:
            return "chunked attention"
        if batch_invariance_wanted():
            return "batch invariance, which a split that depends on the batch size does not give"
        return None

    def why_not(self, query: torch.Tensor, metadata: Any, output_scale: torch.Tensor | None) -> str | None:
        """Why this one call cannot take our path at all, or None. Looks at host values only."""
        if self.off is not None or self.runner is None:
            return self.off
        if query.dtype not in (torch.bfloat16, torch.float16):
            return f"{query.dtype} queries"
        if output_scale is not None:
            return "a quantized output"
        if isinstance(metadata.causal, torch.Tensor):
            return "causality that differs by request"
        if metadata.use_cascade:
            return "cascade attention"
        # FLASH_ATTN's and TRITON_ATTN's metadata name the same things differently.
        for name in ("rswa_prefix_lens", "mm_prefix_range", "mm_prefix_range_tensor", "mm_prefix_query_range_tensor",
                     "dcp_context_kv_lens"):
            if getattr(metadata, name, None) is not None:
                return name
        return None

    def is_long(self, metadata: Any) -> bool:
        """Whether a call has more query tokens a request than a verify step."""
        assert self.runner is not None
        return bool(metadata.max_query_len > self.runner.query_max)

    def why_no_prefill(self, metadata: Any) -> str | None:
        """Why our prefill kernel cannot take a long call, or None."""
        assert self.runner is not None
        long = f"more than {self.runner.query_max} query tokens a request"
        if self.runner.window:
            return f"{long} in a layer with a window"
        if not metadata.causal:
            return f"{long} that are not causal"
        return None

    def attend(self, layer: Any, query: torch.Tensor, kv_cache: torch.Tensor, metadata: Any,
               output: torch.Tensor) -> torch.Tensor:
        """Our path, for metadata of vLLM's TRITON_ATTN or FLASH_ATTN."""
        assert self.runner is not None
        n = metadata.num_actual_tokens
        out = output[:n].view(n, self.runner.num_heads, self.runner.head_size)
        self.runner.attend(query[:n], kv_cache, metadata.block_table, metadata.seq_lens, metadata.query_start_loc, out,
                           metadata.max_query_len, bool(metadata.causal), layer._k_scale, layer._v_scale)
        return output
