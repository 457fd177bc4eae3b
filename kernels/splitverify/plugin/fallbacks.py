# SPDX-License-Identifier: Apache-2.0
"""Calls that went to vLLM's own kernel, counted by reason. A fallback is never silent: its first occurrence is logged."""

from __future__ import annotations

import logging
from collections import Counter

logger = logging.getLogger("vllm.splitverify")

COUNTS: Counter[str] = Counter()
"""Calls by reason, in this process. A captured graph's replays run no Python and are not counted again."""


def fall_back(backend: str, reason: str) -> None:
    """Count one call of ``backend`` that vLLM's kernel serves because of ``reason``."""
    line = f"{backend}: {reason}"
    COUNTS[line] += 1
    if COUNTS[line] == 1:
        logger.info("splitverify leaves calls to vLLM's own kernel: %s", line)
