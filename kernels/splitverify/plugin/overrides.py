# SPDX-License-Identifier: Apache-2.0
"""The verify and prefill paths under FLASH_ATTN and TRITON_ATTN: vLLM's backends, our kernels for calls they can serve."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from vllm.platforms import current_platform
from vllm.v1.attention.backend import AttentionCGSupport
from vllm.v1.attention.backends.flash_attn import (
    FlashAttentionBackend,
    FlashAttentionImpl,
    FlashAttentionMetadataBuilder,
)
from vllm.v1.attention.backends.triton_attn import (
    TritonAttentionBackend,
    TritonAttentionImpl,
    TritonAttentionMetadataBuilder,
)

from splitverify.plugin.fallbacks import fall_back
from splitverify.plugin.layer import VerifyLayer
from splitverify.plugin.switches import fa2_fp8_wanted, prefill_scores, query_max, verify_path_wanted

FP8_DTYPES = ("fp8", "fp8_e4m3")


def fa2_fp8_here() -> bool:
    """FA2_FP8KV asked for, on a GPU whose FlashAttention has no fp8."""
    return fa2_fp8_wanted() and not current_platform.has_device_capability(89)


class _VerifyForward(VerifyLayer):
    """``forward`` for both: ours when nothing speaks against it, otherwise vLLM's, counted."""

    backend_name = ""
    ours_alone = False

    def forward(self, layer: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, kv_cache: torch.Tensor,
                attn_metadata: Any, output: torch.Tensor, output_scale: torch.Tensor | None = None,
                output_block_scale: torch.Tensor | None = None) -> torch.Tensor:
        """vLLM's interface."""
        if attn_metadata is None:                                  # profiling
            return output.fill_(0)
        scale = output_scale if output_scale is not None else output_block_scale
        reason = self.why_not(query, attn_metadata, scale)
        if reason is not None and self.ours_alone:
            raise NotImplementedError(f"{self.backend_name} with FA2_FP8KV: {reason}, and no other kernel reads fp8")
        if reason is None and not self.ours_alone:
            reason = self._why_not_asked(attn_metadata)
        if reason is None:
            return self.attend(layer, query, kv_cache, attn_metadata, output)
        fall_back(self.backend_name, reason)
        return super().forward(  # type: ignore[misc, no-any-return]
            layer, query, key, value, kv_cache, attn_metadata, output, output_scale, output_block_scale)

    def _why_not_asked(self, metadata: Any) -> str | None:
        """Why nobody asked for our path in this call, or why our kernel for it cannot take it; None when it may."""
        if not self.is_long(metadata):
            return None if verify_path_wanted() else "VLLM_SPEC_DECODE_ATTN is not set"
        if prefill_scores() is None:
            assert self.runner is not None
            return f"more than {self.runner.query_max} query tokens a request, and VLLM_PREFILL_ATTN is not set"
        return self.why_no_prefill(metadata)


class _VerifyGraphs:
    """What a captured graph may be replayed with.

    Our launch covers the query tokens a request that the captured batch had at most. A graph that vLLM captured with few
    and replays with a prefill, as ALWAYS allows, would leave the rest of the prefill out: only decode batches here.
    """

    _cudagraph_support: ClassVar[AttentionCGSupport] = AttentionCGSupport.UNIFORM_BATCH
    any_batch: ClassVar[bool] = False
    """Whether vLLM's own kernel, which serves what we do not, replays any batch."""

    @classmethod
    def get_varlen_cudagraph_max_query_len(cls, vllm_config: Any, kv_cache_spec: Any) -> int | None:
        """Lengths may differ within a replayed batch where both kernels can do that."""
        return query_max() if cls.any_batch else None


class VerifyTritonMetadataBuilder(_VerifyGraphs, TritonAttentionMetadataBuilder):
    """TRITON_ATTN's metadata, for graphs of decode batches."""

    any_batch = True


class VerifyFlashMetadataBuilder(_VerifyGraphs, FlashAttentionMetadataBuilder):
    """FLASH_ATTN's metadata, for graphs of decode batches."""

    any_batch = FlashAttentionMetadataBuilder._cudagraph_support == AttentionCGSupport.ALWAYS


class VerifyTritonAttentionImpl(_VerifyForward, TritonAttentionImpl):
    """TRITON_ATTN's impl. int8 pages stay in vLLM's layout, because its kernels still write and prefill them."""

    backend_name = "TRITON_ATTN"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.set_up(self.kv_cache_dtype, "inline")
        if self.off is None and (verify_path_wanted() or prefill_scores() is not None):
            self.supports_quant_query_input = False                # vLLM's kernel reads an fp8 cache with such q as well


class VerifyTritonAttentionBackend(TritonAttentionBackend):
    """TRITON_ATTN, with the verify path."""

    @staticmethod
    def get_impl_cls() -> type[VerifyTritonAttentionImpl]:
        return VerifyTritonAttentionImpl

    @staticmethod
    def get_builder_cls() -> type[VerifyTritonMetadataBuilder]:
        return VerifyTritonMetadataBuilder


class VerifyFlashAttentionImpl(_VerifyForward, FlashAttentionImpl):
    """FLASH_ATTN's impl. With FA2_FP8KV it takes an fp8 cache that FlashAttention 2 cannot read, and serves all of it."""

    backend_name = "FLASH_ATTN"

    def __init__(self, num_heads: int, head_size: int, scale: float, num_kv_heads: int,
                 alibi_slopes: list[float] | None, sliding_window: int | None, kv_cache_dtype: str,
                 *args: Any, **kwargs: Any) -> None:
        self.ours_alone = kv_cache_dtype in FP8_DTYPES and fa2_fp8_here()
        super().__init__(num_heads, head_size, scale, num_kv_heads, alibi_slopes, sliding_window,
                         "auto" if self.ours_alone else kv_cache_dtype, *args, **kwargs)
        self.kv_cache_dtype = kv_cache_dtype
        if self.ours_alone:
            self.supports_quant_query_input = False
        self.set_up(kv_cache_dtype, "inline")
        if self.ours_alone and self.off is not None:
            raise ValueError(f"FLASH_ATTN with FA2_FP8KV cannot serve this layer: {self.off}")

    def do_kv_cache_update(self, layer: Any, key: torch.Tensor, value: torch.Tensor, kv_cache: torch.Tensor,
                           slot_mapping: torch.Tensor) -> None:
        """vLLM's interface."""
        if not self.ours_alone:
            super().do_kv_cache_update(layer, key, value, kv_cache, slot_mapping)
            return
        assert self.runner is not None
        self.runner.store(key, value, kv_cache, slot_mapping, layer._k_scale, layer._v_scale)


class VerifyFlashAttentionBackend(FlashAttentionBackend):
    """FLASH_ATTN, with the verify path and, where FA2_FP8KV asks for it, fp8 caches below 8.9."""

    @staticmethod
    def get_impl_cls() -> type[VerifyFlashAttentionImpl]:
        return VerifyFlashAttentionImpl

    @staticmethod
    def get_builder_cls() -> type[VerifyFlashMetadataBuilder]:
        return VerifyFlashMetadataBuilder

    @classmethod
    def supports_kv_cache_dtype(cls, kv_cache_dtype: Any) -> bool:
        return (kv_cache_dtype in FP8_DTYPES and fa2_fp8_here()) or super().supports_kv_cache_dtype(kv_cache_dtype)

    @classmethod
    def supports_combination(cls, head_size: int, dtype: torch.dtype, kv_cache_dtype: Any, block_size: int | None,
                             use_mla: bool, has_sink: bool, use_sparse: bool, use_mm_prefix: bool,
                             device_capability: Any) -> str | None:
        if kv_cache_dtype in FP8_DTYPES and fa2_fp8_here():
            if head_size not in (128, 256):
                return "FA2_FP8KV takes head sizes 128 and 256"
            kv_cache_dtype = "auto"                                # the rest is judged as without quantization
        return super().supports_combination(head_size, dtype, kv_cache_dtype, block_size, use_mla, has_sink,
                                            use_sparse, use_mm_prefix, device_capability)
