# SPDX-License-Identifier: Apache-2.0
"""Where K, V and their scales lie in a paged KV cache.

vLLM 0.31 hands a layer one tensor, logically ``[num_blocks, num_kv_heads, block_size, content]``. The content of one
(token, head) is ``[K(D) | V(D)]``, and with int8 per-token-head scales ``[K(D) | fp32 | V(D) | fp32]``.
Only the stride of the last dimension is fixed (1); a page may be followed by padding.

Two layouts are known here:

``inline``   the one above, which vLLM's own kernels read and write;
``planar``   a page of the same size, cut into ``[K: H x N x D][V: H x N x D][K scales: H x N][V scales: H x N]``, so that
             every row starts at a multiple of 16 bytes and the scales of neighbouring tokens are neighbours.
             Only int8 needs it; it requires pages that are dense within a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

UNQUANTIZED, FP8, INT8 = 0, 1, 2
"""Cache formats. The numbers are those of vLLM's ``KVQuantMode``: NONE, FP8_PER_TENSOR, INT8_PER_TOKEN_HEAD."""

FORMAT_NAMES = {UNQUANTIZED: "bf16", FP8: "fp8", INT8: "int8"}
SCALE_BYTES = 4
"""One fp32 scale per (token, head, side)."""


def content_size(head_size: int, fmt: int) -> int:
    """Elements of one (token, head) cell: K and V, and for int8 the two fp32 scales counted in bytes."""
    return 2 * (head_size + SCALE_BYTES) if fmt == INT8 else 2 * head_size


@dataclass(frozen=True)
class CacheView:
    """Element offsets and strides of one layer's cache, as the kernels take them.

    ``data`` is the cache seen as ``[elements]`` from its first element; ``scales`` the same bytes as fp32 (int8 only).
    Strides and offsets of ``data`` are in elements of the cache, those of ``scales`` in fp32.
    """

    data: torch.Tensor
    scales: torch.Tensor | None
    fmt: int
    num_blocks: int
    num_kv_heads: int
    block_size: int
    head_size: int
    stride_block: int
    stride_token: int
    stride_head: int
    value_offset: int
    scale_stride_block: int = 0
    scale_stride_token: int = 0
    scale_stride_head: int = 0
    key_scale_offset: int = 0
    value_scale_offset: int = 0

    def keys(self) -> torch.Tensor:
        """K as ``[num_blocks, block_size, num_kv_heads, head_size]``, in the cache's dtype."""
        return self._rows(0)

    def values(self) -> torch.Tensor:
        """V, shaped like :meth:`keys`."""
        return self._rows(self.value_offset)

    def key_scales(self) -> torch.Tensor:
        """The fp32 K scales as ``[num_blocks, block_size, num_kv_heads]`` (int8 only)."""
        return self._scales(self.key_scale_offset)

    def value_scales(self) -> torch.Tensor:
        """The fp32 V scales, shaped like :meth:`key_scales`."""
        return self._scales(self.value_scale_offset)

    def _rows(self, offset: int) -> torch.Tensor:
        return self.data.as_strided(
            (self.num_blocks, self.block_size, self.num_kv_heads, self.head_size),
            (self.stride_block, self.stride_token, self.stride_head, 1),
            self.data.storage_offset() + offset,
        )

    def _scales(self, offset: int) -> torch.Tensor:
        if self.scales is None:
            raise ValueError("only an int8 cache holds scales")
        return self.scales.as_strided(
            (self.num_blocks, self.block_size, self.num_kv_heads),
            (self.scale_stride_block, self.scale_stride_token, self.scale_stride_head),
            self.scales.storage_offset() + offset,
        )


def view_cache(kv_cache: torch.Tensor, head_size: int, fmt: int, layout: str = "inline") -> CacheView:
    """Describe ``kv_cache``, logically ``[num_blocks, num_kv_heads, block_size, content]``, to the kernels.

    ``layout`` is ``"inline"`` or ``"planar"`` (int8 only). No data moves. Raises ``ValueError`` with the reason when the
    tensor cannot hold that format: wrong content size, a last stride other than 1, scales that are not 4-byte aligned,
    or, for planar, a page with gaps inside.
    """
    import torch

    num_blocks, heads, block, content = kv_cache.shape
    if content != content_size(head_size, fmt):
        raise ValueError(f"a cell of {content} elements is not {FORMAT_NAMES[fmt]} at head size {head_size}")
    if kv_cache.stride(3) != 1:
        raise ValueError(f"the last dimension has stride {kv_cache.stride(3)}, not 1")
    if layout not in ("inline", "planar") or (layout == "planar" and fmt != INT8):
        raise ValueError(f"layout {layout!r} is unknown for {FORMAT_NAMES[fmt]}")
    data = kv_cache.view(torch.uint8) if fmt == FP8 else kv_cache.view(torch.int8) if fmt == INT8 else kv_cache
    s_block, s_head, s_token, _ = kv_cache.stride()
    common = dict(data=data, fmt=fmt, num_blocks=num_blocks, num_kv_heads=heads, block_size=block, head_size=head_size)
    if fmt != INT8:
        return CacheView(**common, scales=None, stride_block=s_block, stride_token=s_token, stride_head=s_head,
                         value_offset=head_size)
    if (data.storage_offset() | s_block) % SCALE_BYTES or (layout == "inline" and (s_token | s_head) % SCALE_BYTES):
        raise ValueError("the fp32 scales of this cache are not 4-byte aligned")
    # The same bytes as fp32. A slice starts where the cache starts, so offsets below count from the cache's first byte.
    scales = torch.empty(0, dtype=torch.float32, device=data.device).set_(data.untyped_storage())
    scales = scales[data.storage_offset() // SCALE_BYTES:]
    if layout == "inline":
        side = head_size + SCALE_BYTES
        return CacheView(
            **common, scales=scales, stride_block=s_block, stride_token=s_token, stride_head=s_head, value_offset=side,
            scale_stride_block=s_block // 4, scale_stride_token=s_token // 4, scale_stride_head=s_head // 4,
            key_scale_offset=head_size // 4, value_scale_offset=(side + head_size) // 4)
    dense = {(heads * content, content), (content, block * content)}
    if heads == 1:  # the stride of a dimension of one is arbitrary
        dense.add((content, s_head))
    if (s_token, s_head) not in dense or (num_blocks > 1 and s_block < heads * block * content):
        raise ValueError("planar pages must be dense within a block")
    plane = heads * block * head_size
    return CacheView(
        **common, scales=scales, stride_block=s_block, stride_token=head_size, stride_head=block * head_size,
        value_offset=plane, scale_stride_block=s_block // 4, scale_stride_token=1, scale_stride_head=block,
        key_scale_offset=2 * plane // 4, value_scale_offset=2 * plane // 4 + heads * block)
