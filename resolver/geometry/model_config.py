"""The shape of a model or a drafter, as its config.json tells it. Understood are Qwen's names and plain attention models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from resolver import files
from resolver.geometry.shapes import Attention, NoGeometry, Recurrent, Shape

T = TypeVar("T")


def shape_from_config(folder: Path) -> Shape:
    """The shape of a model. Raises NoGeometry when the file is not there, or tells of layers that are not known here."""
    return _read(folder, lambda config: _from_config(folder.name, config))


def drafter_from_config(folder: Path) -> Attention:
    """The layers of a drafter model. Raises NoGeometry as above."""
    return _read(folder, _drafter)


def _read(folder: Path, understand: Callable[[Mapping[str, Any]], T]) -> T:
    try:
        config = json.loads(files.read_text(folder / "config.json"))
        return understand(config.get("text_config") or config)
    except OSError:
        raise NoGeometry(
            "the model's config.json cannot be read", "name a model folder that is on this machine"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError, OverflowError, RecursionError):
        raise NoGeometry("the model's config.json tells of layers that are not known here") from None


def _attention(config: Mapping[str, Any], layers: int, window: int | None = None) -> Attention:
    head = int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])
    return Attention(layers, int(config.get("num_key_value_heads") or config["num_attention_heads"]), head, window)


def _drafter(config: Mapping[str, Any]) -> Attention:
    window = config.get("sliding_window")
    return _attention(config, int(config["num_hidden_layers"]), int(window) if window else None)


def _from_config(name: str, config: Mapping[str, Any]) -> Shape:
    layers = int(config["num_hidden_layers"])
    kinds = config.get("layer_types") or ["full_attention"] * layers
    if set(kinds) - {"full_attention", "linear_attention"} or config.get("kv_lora_rank"):
        raise KeyError("layer_types")
    full, linear = kinds.count("full_attention"), kinds.count("linear_attention")
    recurrent = None
    if linear:
        keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
        values = config["linear_num_value_heads"] * config["linear_value_head_dim"]
        elements = config["linear_num_value_heads"] * config["linear_key_head_dim"] * config["linear_value_head_dim"]
        recurrent = Recurrent(linear, 2 * keys + values, int(config["linear_conv_kernel_dim"]), elements)
    return Shape(
        name,
        _attention(config, full),
        recurrent,
        int(config.get("mtp_num_hidden_layers") or 0),
        longest=config.get("max_position_embeddings"),
        source="config.json",
    )
