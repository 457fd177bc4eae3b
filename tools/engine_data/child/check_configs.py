"""Puts whole launches through the real `create_engine_config()` on a faked CUDA device, with models that have no weights."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.engine_data.child import fake_cuda, tiny_models
from tools.engine_data.child.attempt import attempt
from tools.engine_data.child.loading import cli_module, load, serve_parser

TARGET, DRAFTER = "{target}", "{drafter}"


class _Operator:
    """Stands in for an operator of the compiled extensions, which are only named while a configuration is made."""

    def __getattr__(self, name: str) -> _Operator:
        return self


def _operators_exist() -> None:
    """Makes every operator of vLLM's compiled extensions exist by name; calling one fails."""
    torch = load("torch")

    real = torch._ops._OpNamespace.__getattr__

    def found(self: Any, name: str) -> Any:
        try:
            return real(self, name)
        except AttributeError:
            if self.name not in ("_C", "_moe_C", "_C_cache_ops") or name.startswith("__"):
                raise
            return _Operator()

    torch._ops._OpNamespace.__getattr__ = found


def _pretend_a_gpu_host() -> None:
    """Triton, the compiled kernels' capability checks and the model inspection, as they answer on a machine with a GPU."""
    ops = load("vllm._custom_ops")
    config = load("vllm.config.vllm")
    registry = load("vllm.model_executor.models.registry")
    triton_utils = load("vllm.triton_utils")
    importing = load("vllm.triton_utils.importing")

    _operators_exist()
    triton_utils.HAS_TRITON = importing.HAS_TRITON = config.HAS_TRITON = True
    for name in dir(ops):
        if ("_supports_" in name or name.endswith("_supported")) and callable(getattr(ops, name)):
            setattr(ops, name, lambda *_, **__: True)
    registry._run_in_subprocess = lambda function: function()


def _fill(words: Sequence[str], target: Path, drafter: Path) -> list[str]:
    return [word.replace(TARGET, str(target)).replace(DRAFTER, str(drafter)) for word in words]


def _engine_config(outer: Any, argv: Sequence[str]) -> Any:
    AsyncEngineArgs = load("vllm.engine.arg_utils").AsyncEngineArgs

    parsed = outer.parse_args(["serve", *argv])
    parsed.model = parsed.model_tag or parsed.model
    cli_module().validate_parsed_serve_args(parsed)
    return AsyncEngineArgs.from_cli_args(parsed).create_engine_config()


def summary(config: Any) -> dict[str, Any]:
    """What the engine made of a launch, the values that the product reasons about."""
    speculative = config.speculative_config
    return {
        "block_size": config.cache_config.block_size,
        "cache_dtype": str(config.cache_config.cache_dtype),
        "mamba_cache_mode": config.cache_config.mamba_cache_mode,
        "prefix_caching": config.cache_config.enable_prefix_caching,
        "async_scheduling": config.scheduler_config.async_scheduling,
        "max_model_len": config.model_config.max_model_len,
        "attention_backend": config.attention_config.backend and config.attention_config.backend.name,
        "cudagraph_mode": str(config.compilation_config.cudagraph_mode),
        "max_cudagraph_capture_size": config.compilation_config.max_cudagraph_capture_size,
        "speculative": speculative and [speculative.method, speculative.num_speculative_tokens],
    }


def run(payload: Any) -> list[list[Any]]:
    """For each case {"argv", "capability", "devices", "env"}: [accepted, reason or "", summary or null].

    The words {target} and {drafter} in argv stand for the model folders made here. Variables in `env` are set for the one
    case; whatever a case does to the environment is undone after it.
    """
    platform = fake_cuda.install()
    _pretend_a_gpu_host()
    outer, _ = serve_parser()
    answers: list[list[Any]] = []
    capability = None
    with tempfile.TemporaryDirectory() as place:
        target, drafter = tiny_models.make(Path(place))
        for case in payload:
            if case["capability"] != capability:
                capability = case["capability"]
                fake_cuda.set_capability(platform, capability)
            platform.devices = case.get("devices", 1)
            before = dict(os.environ)
            env: Mapping[str, str] = case.get("env", {})
            os.environ.update(env)
            config, reason = attempt(functools.partial(_engine_config, outer, _fill(case["argv"], target, drafter)))
            os.environ.clear()
            os.environ.update(before)
            text = (reason or "").replace(str(target), TARGET).replace(str(drafter), DRAFTER)
            answers.append([reason is None, text, None if config is None else summary(config)])
    return answers
