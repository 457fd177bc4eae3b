# SPDX-License-Identifier: Apache-2.0
"""The environment variables that the plugin reads."""

from __future__ import annotations

import os

from splitverify.ops.limits import MAX_QUERY_LEN


def _on(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def verify_path_wanted() -> bool:
    """VLLM_SPEC_DECODE_ATTN: the verify path under FLASH_ATTN and TRITON_ATTN."""
    return _on("VLLM_SPEC_DECODE_ATTN")


def fa2_fp8_wanted() -> bool:
    """FA2_FP8KV: an fp8 cache under FLASH_ATTN below compute capability 8.9."""
    return _on("FA2_FP8KV")


def sampler_wanted() -> bool:
    """SPLITVERIFY_SAMPLER: top-k and top-p of the native sampler by our kernel."""
    return _on("SPLITVERIFY_SAMPLER")


def query_max() -> int:
    """VLLM_SPEC_DECODE_ATTN_QMAX: most query tokens a request on the verify path, 16 unless given.

    Raises ``ValueError`` for anything that is not 1 to 64.
    """
    text = os.environ.get("VLLM_SPEC_DECODE_ATTN_QMAX", "").strip() or "16"
    if not text.isdigit() or not 1 <= int(text) <= MAX_QUERY_LEN:
        raise ValueError(f"VLLM_SPEC_DECODE_ATTN_QMAX={text!r} is not 1 to {MAX_QUERY_LEN}")
    return int(text)


def int8_layout() -> str:
    """SPLITVERIFY_INT8_LAYOUT: ``planar`` or ``inline``. Raises ``ValueError`` for another word."""
    text = os.environ.get("SPLITVERIFY_INT8_LAYOUT", "").strip() or "planar"
    if text not in ("planar", "inline"):
        raise ValueError(f"SPLITVERIFY_INT8_LAYOUT={text!r} is not planar or inline")
    return text


def prefill_scores() -> str | None:
    """VLLM_PREFILL_ATTN: ``int8`` or ``fp16``, how our prefill kernel multiplies q and K; None where nothing is asked for.

    Raises ``ValueError`` for another word.
    """
    text = os.environ.get("VLLM_PREFILL_ATTN", "").strip().lower()
    if text not in ("", "int8", "fp16"):
        raise ValueError(f"VLLM_PREFILL_ATTN={text!r} is not int8 or fp16")
    return text or None
