"""How long a context is a model made for, as the engine reads its config.json? Source: vLLM 0.31, ModelConfig's check of max_model_len."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolver import files

KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
UNSCALED = ("su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling")
"""Kinds of rope whose configuration already names the scaled length, or does not scale it."""


def longest_in(path: str) -> int | None:
    """The longest context in tokens that a config.json names; None when it names none, or cannot be read."""
    import json

    try:
        config = json.loads(files.read_text(path))
        return _longest(config.get("text_config") or config, str(config.get("model_type", "")))
    except (OSError, ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError):
        return None


def _longest(config: Mapping[str, Any], kind: str) -> int | None:
    named = [config[key] for key in KEYS if isinstance(config.get(key), int) and not isinstance(config[key], bool)]
    if not named:
        return None
    own = config.get("model_max_length")
    longest = own if isinstance(own, int) and own else min(named)
    return int(longest) if "gemma3" in kind else _stretched(longest, config)


def _stretched(longest: int, config: Mapping[str, Any]) -> int:
    """The length with what rope stretches it by. Versions differ on YaRN, so the longer reading of it counts."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    parts = [part for part in rope.values() if isinstance(part, dict)] or [rope]
    factor, other = 1.0, 0.0
    for part in parts:
        if (part.get("rope_type") or part.get("type") or "default") not in UNSCALED:
            factor = float(part.get("factor") or factor)
        else:
            other = float(part.get("original_max_position_embeddings") or 0) * float(part.get("factor") or 1)
    return max(int(longest * factor), int(other))
