# SPDX-License-Identifier: Apache-2.0
"""The CUSTOM attention backend of vLLM 0.31: ``--attention-backend CUSTOM``. Imported by vLLM when it is chosen."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from vllm.config.cache import CacheDType
from vllm.platforms import current_platform
from vllm.v1.attention.backend import AttentionCGSupport, AttentionType, MultipleOf
from vllm.v1.attention.backends.triton_attn import (
    TritonAttentionBackend,
    TritonAttentionImpl,
    TritonAttentionMetadataBuilder,
)
from vllm.v1.kv_cache_layout import KVCacheLayout

from splitverify.plugin.fallbacks import fall_back
from splitverify.plugin.layer import VerifyLayer
from splitverify.plugin.reasons import overlay, refusals
from splitverify.plugin.switches import int8_layout, query_max

PROVIDED = overlay()["provides"]["attention_backends"]["CUSTOM"]


class SplitVerifyBackend(TritonAttentionBackend):
    """bf16, fp16, fp8-e4m3 and int8 per-token-head caches; metadata is that of TRITON_ATTN."""

    supported_dtypes: ClassVar[list[torch.dtype]] = [torch.float16, torch.bfloat16]
    supported_kv_cache_dtypes: ClassVar[list[CacheDType]] = list(PROVIDED["kv_cache_dtypes"])
    forward_includes_kv_cache_update: bool = False

    @staticmethod
    def get_name() -> str:
        return "CUSTOM"

    @staticmethod
    def get_impl_cls() -> type[SplitVerifyImpl]:
        return SplitVerifyImpl

    @staticmethod
    def get_builder_cls() -> type[SplitVerifyMetadataBuilder]:
        return SplitVerifyMetadataBuilder

    @staticmethod
    def get_supported_kernel_block_sizes(kv_cache_spec: Any = None) -> list[int | MultipleOf]:
        return [MultipleOf(16)]

    @classmethod
    def supports_head_size(cls, head_size: int) -> bool:
        return head_size in PROVIDED["head_sizes"]

    @classmethod
    def supports_sink(cls) -> bool:
        return False

    @classmethod
    def supports_alibi_sqrt(cls) -> bool:
        return False

    @classmethod
    def supports_mm_prefix(cls) -> bool:
        return False

    @classmethod
    def supports_rswa(cls) -> bool:
        return False

    @classmethod
    def supports_batch_invariance(cls) -> bool:
        return False

    @classmethod
    def supports_attn_type(cls, attn_type: str) -> bool:
        return attn_type == AttentionType.DECODER

    @classmethod
    def supported_kv_cache_layouts(cls) -> tuple[KVCacheLayout, ...] | None:
        """Planar pages must be dense within a block. The engine's default comes first."""
        if int8_layout() == "inline":
            return None
        return (KVCacheLayout.LBNHC, KVCacheLayout.LBHNC, KVCacheLayout.BLNHC, KVCacheLayout.BLHNC)

    @classmethod
    def validate_configuration(cls, head_size: int, dtype: torch.dtype, kv_cache_dtype: CacheDType | None,
                               block_size: int | None, *args: Any, **kwargs: Any) -> list[str]:
        """The reasons against a configuration, sentences of ``overlay.json``; empty when there are none."""
        names = ("use_mla", "has_sink", "use_sparse", "use_mm_prefix", "use_per_head_quant_scales", "device_capability",
                 "attn_type", "has_sliding_window", "use_non_causal", "use_batch_invariant", "use_kv_connector",
                 "use_pcp", "use_adaptive_verification", "use_dcp", "use_rswa")
        facts: dict[str, Any] = dict(zip(names, args), **kwargs)
        facts.update(head_size=head_size, dtype=str(dtype).removeprefix("torch."), kv_cache_dtype=kv_cache_dtype,
                     block_size=block_size, int8_layout=int8_layout())
        if facts.get("device_capability") is not None:
            capability = facts["device_capability"]
            facts["device_capability"] = (capability.major, capability.minor)
        if "attn_type" in facts:
            facts["attn_type"] = str(getattr(facts["attn_type"], "value", facts["attn_type"]))
        return refusals(facts)


class SplitVerifyMetadataBuilder(TritonAttentionMetadataBuilder):
    """Graphs replay any decode batch of 1 to QMAX query tokens a request; a prefill runs outside of them."""

    _cudagraph_support: ClassVar[AttentionCGSupport] = AttentionCGSupport.UNIFORM_BATCH

    @classmethod
    def get_varlen_cudagraph_max_query_len(cls, vllm_config: Any, kv_cache_spec: Any) -> int | None:
        return query_max()


class SplitVerifyImpl(VerifyLayer, TritonAttentionImpl):
    """Stores, verifies and prefills with our kernels. What ours cannot prefill goes to vLLM's where that can read the cache."""

    def __init__(self, num_heads: int, head_size: int, scale: float, num_kv_heads: int,
                 alibi_slopes: list[float] | None, sliding_window: int | None, kv_cache_dtype: str,
                 *args: Any, **kwargs: Any) -> None:
        # vLLM's constructor refuses fp8 below 8.9, where its kernel cannot read it. Ours can.
        fp8 = kv_cache_dtype in ("fp8", "fp8_e4m3")
        native = current_platform.has_device_capability(89)
        super().__init__(num_heads, head_size, scale, num_kv_heads, alibi_slopes, sliding_window,
                         "auto" if fp8 and not native else kv_cache_dtype, *args, **kwargs)
        self.kv_cache_dtype = kv_cache_dtype
        self.supports_quant_query_input = False
        self.layout = int8_layout() if kv_cache_dtype == "int8_per_token_head" else "inline"
        self.ours_alone = self.layout == "planar" or (fp8 and not native)
        self.set_up(kv_cache_dtype, self.layout)
        if self.off is not None:
            raise ValueError(f"CUSTOM (splitverify) cannot serve this layer: {self.off}")

    def forward(self, layer: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                kv_cache: torch.Tensor, attn_metadata: Any, output: torch.Tensor,
                output_scale: torch.Tensor | None = None,
                output_block_scale: torch.Tensor | None = None) -> torch.Tensor:
        """vLLM's interface: ``query [T, Hq, D]``, the paged cache, and where the result goes."""
        if attn_metadata is None:                                  # profiling
            return output.fill_(0)
        reason = self.why_not(query, attn_metadata, output_scale if output_scale is not None else output_block_scale)
        if reason is not None and self.ours_alone:
            raise NotImplementedError(f"CUSTOM (splitverify): {reason}, and no other kernel reads this cache")
        if reason is None and not self.ours_alone:
            reason = self.why_no_prefill(attn_metadata) if self.is_long(attn_metadata) else None
        if reason is None:
            return self.attend(layer, query, kv_cache, attn_metadata, output)
        fall_back("CUSTOM", reason)
        return super().forward(layer, query, key, value, kv_cache, attn_metadata, output, output_scale,
                               output_block_scale)

    def do_kv_cache_update(self, layer: Any, key: torch.Tensor, value: torch.Tensor, kv_cache: torch.Tensor,
                           slot_mapping: torch.Tensor) -> None:
        """Quantize and store; the DFlash speculator calls this outside ``forward`` as well."""
        assert self.runner is not None
        self.runner.store(key, value, kv_cache, slot_mapping, layer._k_scale, layer._v_scale)

    def _ensure_scale_caches(self, kv_cache: torch.Tensor) -> None:
        """Views of the inline scales for vLLM's kernel. Its own version also fills the pool with ones on first use,
        outside any graph and over pages that other layers may own; our store writes every scale it needs."""
        assert self.runner is not None
        if self._k_scale_cache is None:
            view = self.runner.view(kv_cache)
            self._k_scale_cache, self._v_scale_cache = view.key_scales(), view.value_scales()
