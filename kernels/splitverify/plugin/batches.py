# SPDX-License-Identifier: Apache-2.0
"""A batch that no one kernel suits, described anew to the split kernel: by device arithmetic on its lengths, no host reads."""

from __future__ import annotations

import torch


def short_requests(seq_lens: torch.Tensor, query_start_loc: torch.Tensor, longest: int,
                   slots: int) -> tuple[torch.Tensor, torch.Tensor]:
    """``seq_lens`` and ``query_start_loc`` that show the split kernel the short requests of a mixed batch alone.

    Those of more than ``longest`` query tokens have no keys then, and tokens from ``slots`` on, which the workspace does
    not hold, belong to nobody. What it writes for such requests is not their result: the prefill kernel, which takes
    exactly them (``longer_than=longest, within=slots``), must run afterwards.
    """
    lengths = query_start_loc.diff()
    return seq_lens * (lengths <= longest), query_start_loc.clamp(max=slots)


def in_pieces(seq_lens: torch.Tensor, query_start_loc: torch.Tensor, block_table: torch.Tensor, tokens: int,
              piece: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """One request of at most ``tokens`` query tokens as several of at most ``piece``, which share its pages.

    Each piece's last token sees the keys up to itself, which is what a shorter sequence means. Returns ``block_table``,
    ``seq_lens`` and ``query_start_loc``.
    """
    count = -(-tokens // piece)
    starts = torch.arange(0, (count + 1) * piece, piece, dtype=torch.int32, device=query_start_loc.device)
    starts = torch.minimum(starts, query_start_loc[1])
    return block_table.expand(count, -1), seq_lens - query_start_loc[1] + starts[1:], starts
