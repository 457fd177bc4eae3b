"""Asks the real CUDA selector and the real implementation constructors which attention backend serves which cache dtype."""

from __future__ import annotations

import typing
from typing import Any

from tools.engine_data.child.fake_cuda import ASSUMPTIONS, install, set_capability
from tools.engine_data.child.loading import load

BACKENDS = ("FLASH_ATTN", "TRITON_ATTN", "FLASHINFER", "FLEX_ATTENTION", "TURBOQUANT", "B12X")
CAPABILITIES = ("8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
BLOCK_SIZES = (None, 16, 128)
HEAD_SIZE = 256
HEADS = 24
KV_HEADS = 4
UNKNOWN = "undetermined without a GPU: "


def reasons(error: ValueError) -> list[str]:
    """The reasons that the selector lists in its error text, or the whole text where it lists none."""
    text = str(error)
    if "Reason: [" not in text:
        return [text[:260]]
    return [part.strip("' ") for part in text.split("Reason: [", 1)[1].rstrip("]").split("', '")]


def _construct(backend: Any, dtype: str, config: Any) -> str:
    """ "ok", the refusal, or UNKNOWN and what the constructor missed."""
    set_current_vllm_config = load("vllm.config").set_current_vllm_config
    AttentionType = load("vllm.v1.attention.backend").AttentionType

    try:
        with set_current_vllm_config(config):
            backend.get_class().get_impl_cls()(
                num_heads=HEADS,
                head_size=HEAD_SIZE,
                scale=0.0625,
                num_kv_heads=KV_HEADS,
                alibi_slopes=None,
                sliding_window=None,
                kv_cache_dtype=dtype,
                logits_soft_cap=None,
                attn_type=AttentionType.DECODER,
                kv_sharing_target_layer_name=None,
            )
    except (ValueError, NotImplementedError) as error:
        return f"{type(error).__name__}: {str(error)[:260]}"
    except (
        Exception
    ) as error:  # not a refusal: the constructor needs what a machine without a GPU or a model does not have
        return f"{UNKNOWN}{type(error).__name__}: {str(error)[:260]}"
    return "ok"


def _stand_in_for_scratch() -> None:
    """FlashInfer's constructor allocates a counter buffer on the GPU from 0.33 on; its size refuses nothing, so none is made."""
    module = load("vllm.v1.attention.backends.flashinfer")
    if hasattr(module, "_get_multi_ctas_kv_counter_buffer"):
        module._get_multi_ctas_kv_counter_buffer = lambda *_, **__: None


def _importable(registry: Any) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in BACKENDS:
        try:
            registry[name].get_class()
        except Exception as error:  # an import may fail in any way; the reason becomes data
            found[name] = f"{type(error).__name__}: {error}"
        else:
            found[name] = None
    return found


def _row(platform: Any, registry: Any, selector: Any, imports: dict[str, str | None], construct: Any) -> dict[str, Any]:
    """One row: what the selector says of every backend, what the constructor says of those it takes, and its own choice."""
    explicit: dict[str, list[str]] = {}
    for name in BACKENDS:
        if (failure := imports[name]) is not None:
            explicit[name] = [f"IMPORT {failure}"]
            continue
        try:
            platform.get_attn_backend_cls(registry[name], selector)
        except ValueError as error:
            explicit[name] = reasons(error)
        else:
            explicit[name] = []
    impl = {name: construct(name) for name in BACKENDS if not explicit[name]}
    try:
        chosen = platform.get_attn_backend_cls(None, selector, num_heads=HEADS)
    except ValueError:
        auto = None
    else:
        auto = next(b.name for b in registry if b.value and chosen == b.get_path())
    return {"explicit": explicit, "impl": impl, "auto": auto}


def run(payload: Any) -> dict[str, Any]:
    """The dump, rows in a fixed order. `payload` is not used."""
    platform = install()
    torch = load("torch")
    VllmConfig = load("vllm.config").VllmConfig
    CacheDType = load("vllm.config.cache").CacheDType
    AttentionBackendEnum = load("vllm.v1.attention.backends.registry").AttentionBackendEnum
    AttentionSelectorConfig = load("vllm.v1.attention.selector").AttentionSelectorConfig
    __version__ = load("vllm.version").__version__

    imports = _importable(AttentionBackendEnum)
    if imports["FLASHINFER"] is None:
        _stand_in_for_scratch()
    rows = []
    for capability in CAPABILITIES:
        set_capability(platform, capability)
        config = VllmConfig()
        for dtype in typing.get_args(CacheDType):
            built: dict[str, str] = {}

            def construct(name: str, dtype: str = dtype, config: Any = config, built: dict[str, str] = built) -> str:
                if name not in built:
                    built[name] = _construct(AttentionBackendEnum[name], dtype, config)
                return built[name]

            for block_size in BLOCK_SIZES:
                for non_causal in (False, True):
                    selector = AttentionSelectorConfig(
                        head_size=HEAD_SIZE,
                        dtype=torch.bfloat16,
                        kv_cache_dtype=dtype,
                        block_size=block_size,
                        use_non_causal=non_causal,
                    )
                    key = {
                        "capability": capability,
                        "kv_cache_dtype": dtype,
                        "block_size": block_size,
                        "causal": not non_causal,
                    }
                    rows.append(key | _row(platform, AttentionBackendEnum, selector, imports, construct))
    return {
        "version": __version__,
        "imports": imports,
        "assumptions": ASSUMPTIONS,
        "dtype": "bfloat16",
        "head_size": HEAD_SIZE,
        "rows": rows,
    }
