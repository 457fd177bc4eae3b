"""From a resolution to the question of memory: which setup, which load on which card. What is not known stays None."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from resolver.compile.helpers import show
from resolver.geometry.budget import GIB, Card, Load
from resolver.geometry.data import Knowledge, knowledge
from resolver.geometry.model_config import drafter_from_config, shape_from_config
from resolver.geometry.shapes import Drafter, Grouping, NoGeometry, Setup, Shape

if TYPE_CHECKING:
    from resolver.resolution import Resolution

SHIPPED = "qwen3.8-27b"
PATCHES = "hyperqwen"
"""Overlays of engines whose layer groups are the patched ones."""
BLOCK_DRAFTERS = ("dflash", "dspark")
"""Methods whose drafter is a small model with a window. Source: the recorded runs count both alike."""
CPU_BLOCK = 128
"""Tokens of a block on the CPU. Source: vLLM 0.31, platforms/cpu.py."""


class Asked(NamedTuple):
    """The question of memory for one launch. `share` is the part of the card that the engine may use."""

    known: Knowledge
    setup: Setup
    load: Load | None
    card: Card | None
    share: float | None
    host_pool: bool = False


def asked(resolution: Resolution) -> Asked:
    """The question. Raises NoGeometry where the arithmetic does not cover the launch."""
    known = knowledge(resolution.resolver.root)
    if _whole(resolution, "pipeline_parallel_size", 1) > 1:
        raise NoGeometry(
            "the layers are shared out by pipeline, and the pool of such a launch was never derived",
            "leave out PIPELINE_PARALLEL_SIZE, or start it and read its log",
        )
    shape = _with_own_drafter(resolution, _shape(resolution, known))
    limit = resolution.setting("longest_context")
    if limit is not None or "hf_overrides" in resolution.passthrough.flags:
        shape = shape._replace(longest=limit)
    form = known.format_named(resolution.setting("effective_kv_cache_dtype") or "auto")
    drafter = _drafter(resolution)
    length = resolution.setting("length_in_force")
    if not isinstance(length, int) or length < 1:
        raise NoGeometry("the length of a request is left to the engine", "give MAX_LEN as a number")
    cpu = resolution.facts.get("device") == "cpu"
    pool = _number(resolution, "kv_cache_memory_bytes")
    if cpu:
        pool = int(_amount("VLLM_CPU_KVCACHE_SPACE", resolution.setting("cpu_kvcache_space") or 0) * GIB) or None
    gpus = _whole(resolution, "tensor_parallel_size", 1)
    setup = Setup(
        shape,
        form,
        length,
        _whole(resolution, "num_speculative_tokens", 0) if drafter != "none" else 0,
        drafter,
        _number(resolution, "max_num_seqs") or 1,
        _number(resolution, "max_num_batched_tokens") or 2048,
        _last(resolution, "async_scheduling", resolution.setting("async_scheduling")) == "on",
        resolution.setting("caches_prefixes") == "on"
        and resolution.setting("effective_mamba_cache_mode") in ("align", None),
        _state_bytes(resolution),
        gpus,
        _grouping(resolution),
        pool or None,
        _number(resolution, "block_size") or (CPU_BLOCK if cpu else None),
    )
    if cpu:
        return Asked(known, setup, None, None, None, host_pool=True)
    load = _load(resolution, known, drafter, form.name, gpus)
    util = _last(resolution, "gpu_memory_utilization", resolution.setting("gpu_memory_utilization"))
    share = _amount(_called(resolution, "gpu_memory_utilization"), util) if util is not None else None
    return Asked(known, setup, load, _card(resolution), share)


def _last(resolution: Resolution, name: str, otherwise: Any) -> Any:
    """The user's own flag, which comes last and wins; else `otherwise`."""
    own = resolution.passthrough.last.get(name)
    return otherwise if own is None else own


def _whole(resolution: Resolution, name: str, otherwise: int) -> int:
    """The setting as a number. Raises NoGeometry where the user's own flag is none: the engine refuses it, too."""
    value = resolution.setting(name)
    if value in (None, ""):
        return otherwise
    if not isinstance(value, int):
        said = f"{_called(resolution, name)} is {show(value)}, which is not a whole number above 0 in plain digits"
        raise NoGeometry(said, "give it so")
    return value or otherwise


def _called(resolution: Resolution, name: str) -> str:
    """As the user typed it: knobs are checked before, so what is no number came as an engine flag."""
    return f"--{name.replace('_', '-')}" if name in resolution.engine.flags else name


def _amount(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise NoGeometry(f"{name} is {show(value)}, which is no number", "give it as a number")
    return number


def _number(resolution: Resolution, name: str) -> int | None:
    value = _last(resolution, name, resolution.setting(name) if name in resolution.resolver.number else None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _shape(resolution: Resolution, known: Knowledge) -> Shape:
    if resolution.setting("knows_geometry") == "on":
        return known.shapes[SHIPPED]
    model = Path(resolution.setting("served_model") or "")
    if not model.is_absolute():
        model = resolution.resolver.root / model
    try:
        return shape_from_config(model)
    except NoGeometry:
        if _is_finetune(resolution):
            return known.shapes[SHIPPED]
        raise


def _with_own_drafter(resolution: Resolution, shape: Shape) -> Shape:
    """The shape with the drafter that the user names, where its config.json can be read; else the shipped one is assumed."""
    draft = resolution.setting("draft_model")
    if draft is None or resolution.setting("spec_method") == "mtp" or _is_finetune(resolution):
        return shape
    try:
        return shape._replace(drafter=drafter_from_config(resolution.resolver.root / draft))
    except NoGeometry:
        return shape


def _is_finetune(resolution: Resolution) -> bool:
    """Whether another checkpoint is served with the shipped drafter, which fits the shipped shape only."""
    return resolution.setting("spec_method") == "dflash" and resolution.setting("draft_model") in (
        resolution.setting("base_dflash2_w4a16"),
        resolution.setting("base_dflash2_bf16"),
    )


def _drafter(resolution: Resolution) -> Drafter:
    method = resolution.setting("spec_method")
    if method is None:
        return "none"
    if method == "mtp":
        return "mtp"
    if method in BLOCK_DRAFTERS:
        return "dflash"
    raise NoGeometry(
        f"the pool beside a drafter of method {method} was never derived",
        "use SPEC=mtp, or SPEC=dflash2 with DRAFT_METHOD=dflash",
    )


def _state_bytes(resolution: Resolution) -> int:
    return 4 if resolution.setting("effective_mamba_ssm_cache_dtype") in ("float32",) else 2


def _grouping(resolution: Resolution) -> Grouping:
    return "patched" if any(part.startswith(PATCHES) for part in resolution.engine.name.split("+")[1:]) else "stock"


def _load(resolution: Resolution, known: Knowledge, drafter: str, form: str, gpus: int) -> Load:
    model = resolution.setting("served_model")
    checkpoint = {resolution.setting("fast_model"): "fast", resolution.setting("base_model"): "base"}.get(model)
    draft = resolution.setting("draft_model")
    shipped = draft in (None, resolution.setting("base_dflash2_w4a16"))
    return Load(
        checkpoint,
        drafter,
        form,
        None if checkpoint else resolution.lookup("file.served_model.bytes"),
        None if shipped else resolution.lookup("file.draft_model.bytes"),
        resolution.setting("language_model_only") == "off" and resolution.setting("vision_cpu_offload_gb") is None,
        resolution.setting("embed_uva_variable") == "1",
        gpus,
    )


def _card(resolution: Resolution) -> Card | None:
    mib = resolution.facts.get("gpu.vram_mib")
    if not mib:
        return None
    return Card(
        resolution.facts.get("gpu.name") or "",
        mib,
        resolution.facts.get("gpu.vram_free_mib"),
        resolution.setting("on_wsl") == "on",
    )
