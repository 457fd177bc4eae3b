"""What a launch knows of the things that a backend asks vLLM about, by vLLM's names. What it cannot know is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from resolver.attention import Case
    from resolver.resolution import Resolution

_DTYPES = {"half": "float16", "float16": "float16", "bfloat16": "bfloat16", "float": "float32", "float32": "float32"}


def attention_facts(resolution: Resolution, case: Case) -> dict[str, Any]:
    """Facts of one part of the launch: its GPU, cache, block size and dtype, a KV connector, context parallelism, and the
    variables that change what the backend can do."""
    major, minor = case.capability.split(".")
    passed, environ = resolution.passthrough, resolution.request.environ
    facts: dict[str, Any] = {
        "device_capability": (int(major), int(minor)),
        "kv_cache_dtype": case.kv_cache_dtype,
        "block_size": case.block_size,
        "attn_type": "decoder",
        "use_kv_connector": resolution.lookup("kv_tier") == "on" or "kv_transfer_config" in passed.last_text,
        "use_batch_invariant": environ.get("VLLM_BATCH_INVARIANT", "0").strip() not in ("", "0"),
        "int8_layout": environ.get("SPLITVERIFY_INT8_LAYOUT", "").strip() or "planar",
    }
    dtype = _DTYPES.get(passed.last_text.get("dtype") or "")
    if dtype:
        facts["dtype"] = dtype
    for fact, flag in (("use_dcp", "decode_context_parallel_size"), ("use_pcp", "prefill_context_parallel_size")):
        size = passed.last.get(flag)
        facts[fact] = isinstance(size, int) and size > 1
    return facts
