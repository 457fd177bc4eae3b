"""Makes model folders without weights: enough for the engine's configuration, nothing is downloaded.

`target`: the geometry of the 27B hybrid (64 layers, every fourth full attention, 24 heads, 4 KV heads, head size 256, one MTP
layer) as a Qwen3-Next text model with small hidden sizes; no vision tower, no quantisation. `drafter`: a DFlash drafter (32 heads, 8 KV heads, head size 128, window 2048).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.engine_data.child.loading import load

VOCABULARY = 4096
HIDDEN = 2048
LAYERS = 64
WINDOW = 2048
LONGEST = 262144

_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": 4096,
    "max_position_embeddings": LONGEST,
    "eos_token_id": 258,
    "bos_token_id": None,
    "tie_word_embeddings": False,
}


def _tokenizer(folder: Path) -> None:
    tokenizers = load("tokenizers")
    Tokenizer = tokenizers.Tokenizer
    decoders = tokenizers.decoders
    models = tokenizers.models
    pre_tokenizers = tokenizers.pre_tokenizers
    PreTrainedTokenizerFast = load("transformers").PreTrainedTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.save_pretrained(folder)


def _write(folder: Path, config: dict[str, Any]) -> None:
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


def make(place: Path) -> tuple[Path, Path]:
    """Makes both folders below `place` and returns them: (target, drafter)."""
    transformers = load("transformers")
    Qwen3Config = transformers.Qwen3Config
    Qwen3NextConfig = transformers.Qwen3NextConfig

    target, drafter = place / "target", place / "drafter-dflash"
    _tokenizer(target)
    hybrid = Qwen3NextConfig(
        **_COMMON,
        num_hidden_layers=LAYERS,
        num_attention_heads=24,
        num_key_value_heads=4,
        head_dim=256,
        linear_num_key_heads=16,
        linear_num_value_heads=48,
        linear_key_head_dim=128,
        linear_value_head_dim=128,
        linear_conv_kernel_dim=4,
        full_attention_interval=4,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=1024,
        shared_expert_intermediate_size=1024,
        decoder_sparse_step=1,
        mlp_only_layers=[],
    ).to_dict()
    _write(
        target, hybrid | {"architectures": ["Qwen3NextForCausalLM"], "mtp_num_hidden_layers": 1, "dtype": "bfloat16"}
    )
    _tokenizer(drafter)
    draft = Qwen3Config(
        **_COMMON,
        num_hidden_layers=5,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=128,
        sliding_window=WINDOW,
        use_sliding_window=True,
        max_window_layers=0,
        layer_types=["sliding_attention"] * 5,
        dtype="bfloat16",
    ).to_dict()
    draft |= {"architectures": ["DFlashDraftModel"], "dtype": "bfloat16", "block_size": 16, "num_target_layers": LAYERS}
    _write(drafter, draft | {"dflash_config": {"mask_token_id": 300, "target_layer_ids": [1, 3, 5], "causal": False}})
    return target, drafter
