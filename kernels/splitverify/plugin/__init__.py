# SPDX-License-Identifier: Apache-2.0
"""The vLLM plugin. Entry point group ``vllm.general_plugins``; vLLM calls :func:`register` in every process.

Registering names classes by path: nothing of a kernel is imported, and no GPU is touched, until an engine asks for the
backend. Where it cannot work (another vLLM version, no CUDA platform) it registers nothing and says why, once.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("vllm.splitverify")

CUSTOM = "splitverify.plugin.custom.SplitVerifyBackend"
FLASH = "splitverify.plugin.overrides.VerifyFlashAttentionBackend"
TRITON = "splitverify.plugin.overrides.VerifyTritonAttentionBackend"


def why_off() -> str | None:
    """None when the plugin can work in this process, otherwise the reason in one line."""
    from importlib.metadata import PackageNotFoundError, version

    from splitverify.plugin.reasons import overlay

    known = overlay()["engine"]["vllm"]
    try:
        found = version("vllm")
    except PackageNotFoundError:
        return "vLLM is not installed"
    if not any(found == v or found.startswith(v + ".") for v in known):
        return f"vLLM {found} is not one of the versions it was written for ({', '.join(known)})"
    try:
        from vllm.platforms import current_platform
        from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend  # noqa: F401
    except Exception as error:  # a broken engine is not ours to report as an exception
        return f"vLLM {found} does not import: {type(error).__name__}: {error}"
    if not current_platform.is_cuda():
        return "the platform is not CUDA"
    return None


def register() -> list[str]:
    """Register what this process can use; returns the backends taken. Called by vLLM, possibly more than once."""
    reason = why_off()
    if reason:
        logger.info("splitverify stays off: %s", reason)
        return []
    from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

    from splitverify.plugin.switches import (
        fa2_fp8_wanted,
        int8_layout,
        prefill_scores,
        query_max,
        sampler_wanted,
        verify_path_wanted,
    )

    try:
        query_max(), int8_layout(), prefill_scores()
    except ValueError as error:
        logger.warning("splitverify stays off: %s", error)
        return []
    taken = ["CUSTOM"]
    register_backend(AttentionBackendEnum.CUSTOM, CUSTOM)
    ours_inside = verify_path_wanted() or prefill_scores() is not None
    if ours_inside or fa2_fp8_wanted():
        register_backend(AttentionBackendEnum.FLASH_ATTN, FLASH)
        taken.append("FLASH_ATTN")
    if ours_inside:
        register_backend(AttentionBackendEnum.TRITON_ATTN, TRITON)
        taken.append("TRITON_ATTN")
    if sampler_wanted():
        from splitverify.plugin.sampler import install

        if install():
            taken.append("top-k and top-p")
        else:
            logger.warning("splitverify leaves top-k and top-p to vLLM: it has no kernel of that name to stand before")
    logger.info("splitverify serves %s", ", ".join(taken))
    return taken
