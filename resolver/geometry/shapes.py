"""What the arithmetic starts from: the shape of a model, the format of its cache, and how the launch uses both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Grouping = Literal["patched", "stock", "packed"]
Drafter = Literal["none", "mtp", "dflash"]


class Attention(NamedTuple):
    """Layers of one kind of attention. `window` is in tokens; None attends to all of the context."""

    layers: int
    kv_heads: int
    head_size: int
    window: int | None = None


class Recurrent(NamedTuple):
    """Gated delta net layers: their state does not grow with the context.

    Attributes:
        layers: how many.
        conv_channels: channels of the convolution, kept in 16 bits.
        conv_kernel: its width in tokens.
        elements: numbers of the recurrent state.
    """

    layers: int
    conv_channels: int
    conv_kernel: int
    elements: int


class Shape(NamedTuple):
    """A model, and the drafter that ships with it.

    Attributes:
        name: what it is called in rules/geometry.yaml, or the folder it was read from.
        attention: the layers whose cache grows with the context.
        recurrent: the layers that keep a state, if any.
        mtp_layers: attention layers that an MTP module adds.
        drafter: the layers of a drafter model, if there is one.
        patched_group: layers of a group where the patched engine regroups for a drafter.
        longest: the longest context the model is made for, in tokens.
    """

    name: str
    attention: Attention
    recurrent: Recurrent | None = None
    mtp_layers: int = 0
    drafter: Attention | None = None
    patched_group: int | None = None
    longest: int | None = None
    source: str = ""


class Format(NamedTuple):
    """How a cache stores one token: plain elements with a scale for each head, or tiles of many tokens.

    Attributes:
        name: our short name.
        names: the words of `--kv-cache-dtype` that mean it.
        key_bits, value_bits: bits of an element.
        scale_bytes: bytes beside each head and token (plain formats).
        tile: tokens of a tile; 1 for plain formats.
        drafter_block: tokens of a drafter's block where it does not share the target's; None shares it.
    """

    name: str
    names: tuple[str, ...]
    key_bits: int
    value_bits: int
    scale_bytes: int = 0
    tile: int = 1
    drafter_block: int | None = None
    source: str = ""


class Setup(NamedTuple):
    """How a launch uses the cache. All numbers are those of one GPU.

    Attributes:
        shape: the model.
        format: the cache format.
        max_model_len: the longest request, in tokens.
        drafts: draft tokens a step; 0 without speculation.
        drafter: what drafts.
        max_num_seqs: seats.
        batched_tokens: prompt tokens of a step.
        async_scheduling: whether a second step is in flight.
        caches_prefixes: whether states are kept for prefix reuse (`--mamba-cache-mode align`).
        state_bytes: bytes of one element of the recurrent state.
        tensor_parallel: GPUs that share each layer.
        grouping: how layers are put into groups of one page size.
        pool_bytes: bytes of the pool; None when it is not known.
        block: what --block-size says: the block, or with recurrent layers what it is a multiple of; None lets the engine choose.
    """

    shape: Shape
    format: Format
    max_model_len: int
    drafts: int = 0
    drafter: Drafter = "none"
    max_num_seqs: int = 8
    batched_tokens: int = 2048
    async_scheduling: bool = True
    caches_prefixes: bool = True
    state_bytes: int = 2
    tensor_parallel: int = 1
    grouping: Grouping = "stock"
    pool_bytes: int | None = None
    block: int | None = None


class NoGeometry(Exception):
    """The arithmetic does not cover this launch; the text says why, and `fix` what can be done."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        self.message = message
        self.fix = fix
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Number:
    """One number with its formula: `formula` in names, `filled` with their values."""

    name: str
    value: int
    unit: str
    formula: str
    note: str = ""
    filled: str = field(default="", compare=False)
