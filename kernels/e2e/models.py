# SPDX-License-Identifier: Apache-2.0
"""Make the model folders: a hybrid with Qwen3.8-27B's attention and state layers, eight layers deep, and a drafter for it.

    python -m e2e.models FOLDER

There are no weights: the engine is started with `--load-format dummy`. Everything is written with the standard library.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tools.cpu_engine import tiny_tokenizer

TARGET, DRAFTER = "hybrid", "drafter"
VOCABULARY, HIDDEN, INTERMEDIATE, LAYERS, FULL_EVERY = 4096, 2048, 4096, 8, 4
LONGEST = 262144


def _common() -> dict[str, Any]:
    return {
        "dtype": "bfloat16",
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": LONGEST,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "tie_word_embeddings": False,
        "use_cache": True,
        "bos_token_id": None,
        "eos_token_id": tiny_tokenizer.token_id(tiny_tokenizer.IM_END),
        "pad_token_id": None,
    }


def target() -> dict[str, Any]:
    """config.json of the hybrid: 24 heads on 4 KV heads of 256; every fourth layer is attention; one MTP layer."""
    kinds = ["full_attention" if (layer + 1) % FULL_EVERY == 0 else "linear_attention" for layer in range(LAYERS)]
    return _common() | {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": "qwen3_5_text",
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "partial_rotary_factor": 0.25,
        "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25, "rope_type": "default"},
        "layer_types": kinds,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "mtp_num_hidden_layers": 1,
    }


def drafter() -> dict[str, Any]:
    """config.json of the drafter: 32 heads on 8 KV heads of 128, a window of 2048, and no causality within its block."""
    return _common() | {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "num_hidden_layers": 2,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
        "use_sliding_window": True,
        "sliding_window": 2048,
        "max_window_layers": 0,
        "layer_types": ["sliding_attention"] * 2,
        "block_size": 16,
        "dflash_config": {"mask_token_id": 300, "target_layer_ids": [1, 3, 5], "causal": False},
        "num_target_layers": LAYERS,
    }


def make(folder: Path) -> None:
    """Write both models below `folder`, with a tokenizer of one token a byte."""
    for name, config in ((TARGET, target()), (DRAFTER, drafter())):
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        for file, text in tiny_tokenizer.files().items():
            (place / file).write_text(text, encoding="utf-8")
        (place / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
