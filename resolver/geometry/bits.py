"""How many bytes does one token of one layer take, and how many the state of one layer? Formulas of vLLM 0.28 to 0.33."""

from __future__ import annotations

from resolver.geometry.shapes import Attention, Format, Recurrent


def ceil_div(a: int, b: int) -> int:
    """The quotient, rounded up."""
    return -(-a // b)


def tile_bytes(form: Format, head_size: int) -> int:
    """Bytes of one tile of one head: keys, their scales a channel and a token, values, their scales a token.

    Source: layout of KVarN's records (26,880 bytes at 4-bit keys, 2-bit values, 128 tokens, head size 256).
    """
    d, g = head_size, form.tile
    keys = d * g * form.key_bits // 8 + (2 * d + g) * 2
    values = g * d * form.value_bits // 8 + (d + 2 * g) * 2
    return keys + values


def token_bytes(form: Format, attention: Attention, tensor_parallel: int = 1) -> int:
    """Bytes that one token takes in one layer on one GPU."""
    heads = max(1, attention.kv_heads // tensor_parallel)
    if form.tile > 1:
        return heads * tile_bytes(form, attention.head_size) // form.tile
    head = attention.head_size * (form.key_bits + form.value_bits) // 8 + 2 * form.scale_bytes
    return heads * head


def state_bytes(recurrent: Recurrent, drafts: int, element_bytes: int, tensor_parallel: int = 1) -> int:
    """Bytes of state of one layer and request on one GPU: the convolution's last inputs, one more a draft, and the state."""
    conv = recurrent.conv_channels // tensor_parallel * 2 * (recurrent.conv_kernel - 1 + drafts)
    return conv + recurrent.elements // tensor_parallel * element_bytes


def stock_group(counts: list[int]) -> int:
    """Layers of a group, as vLLM groups layers of unlike kinds: the smallest kind, or the largest when they are alike.

    Alike: less than half as many again. Source: read from vLLM 0.31's grouping code; held by booted pools of three models.
    """
    least, most = min(counts), max(counts)
    return most if most * 2 < least * 3 else least
