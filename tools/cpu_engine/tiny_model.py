"""How is the tiny model made? A Qwen3 of two layers with random weights, written with the standard library alone.

Nothing is downloaded and no torch is needed. The weights come from a hash, so that every machine and every Python
version writes the same bytes. The model knows nothing: it serves to boot an engine, not to answer well.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import struct
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tools.cpu_engine import tiny_tokenizer

HIDDEN, INTERMEDIATE, LAYERS, HEADS, KV_HEADS, HEAD_DIM, POSITIONS = 64, 128, 2, 4, 2, 32, 4096
EMBEDDING, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"
LIKED = "0123456789{}[]()<>/=:,.;\"'_-?!|#*+"
SPREAD = 0.035  # weights are uniform in +-SPREAD: a standard deviation of 0.02
STAMP = "made_by.json"  # lists the sha256 of every other file, so that a second run can tell a whole model from a part


class ModelError(Exception):
    """The model cannot be written there; the text says why and what to do."""


def config() -> dict[str, object]:
    """Return config.json."""
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "dtype": "bfloat16",
        "vocab_size": tiny_tokenizer.vocabulary_size(),
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": POSITIONS,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "attention_bias": False,
        "attention_dropout": 0.0,
        "use_sliding_window": False,
        "sliding_window": None,
        "layer_types": ["full_attention"] * LAYERS,
        "tie_word_embeddings": False,
        "use_cache": True,
        "initializer_range": 0.02,
        "bos_token_id": None,
        "eos_token_id": tiny_tokenizer.token_id(tiny_tokenizer.IM_END),
        "pad_token_id": tiny_tokenizer.token_id(tiny_tokenizer.ENDOFTEXT),
    }


def shapes() -> dict[str, tuple[int, ...]]:
    """Return tensor name -> shape, in the order of the file."""
    found: dict[str, tuple[int, ...]] = {EMBEDDING: (tiny_tokenizer.vocabulary_size(), HIDDEN)}
    for layer in range(LAYERS):
        stem = f"model.layers.{layer}."
        found |= {
            stem + "input_layernorm.weight": (HIDDEN,),
            stem + "mlp.down_proj.weight": (HIDDEN, INTERMEDIATE),
            stem + "mlp.gate_proj.weight": (INTERMEDIATE, HIDDEN),
            stem + "mlp.up_proj.weight": (INTERMEDIATE, HIDDEN),
            stem + "post_attention_layernorm.weight": (HIDDEN,),
            stem + "self_attn.k_norm.weight": (HEAD_DIM,),
            stem + "self_attn.k_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            stem + "self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD_DIM),
            stem + "self_attn.q_norm.weight": (HEAD_DIM,),
            stem + "self_attn.q_proj.weight": (HEADS * HEAD_DIM, HIDDEN),
            stem + "self_attn.v_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
        }
    return found | {"model.norm.weight": (HIDDEN,), OUTPUT: (tiny_tokenizer.vocabulary_size(), HIDDEN)}


def leaning(token: int) -> float:
    """Return how much the model likes a token: letters most, then what JSON and XML are made of, blanks least.

    So free text is letters, and an answer under a grammar (a tool call) moves on instead of repeating blanks.
    """
    letter = chr(token)
    if token == tiny_tokenizer.token_id(tiny_tokenizer.IM_END) or letter in LIKED:
        return 0.5
    if letter == "\n":
        return -0.5  # the tool grammar wants a line break before its closing tag
    if token >= 256 or letter.isspace():
        return -1.0
    return 1.0 if letter.isascii() and letter.isalpha() else -0.8


def bfloat16(numbers: Iterable[float]) -> bytes:
    """Return the numbers as little-endian bfloat16, rounded half up in magnitude."""
    return b"".join(
        struct.pack("<H", (struct.unpack("<I", struct.pack("<f", number))[0] + 0x8000) >> 16) for number in numbers
    )


def tensor(name: str, shape: tuple[int, ...]) -> bytes:
    """Return a tensor's bytes: ones for a norm, else random numbers that depend on `name` alone.

    Column 0 of the embedding is the same for every token, so the output layer's column 0 acts as a bias: the leaning.
    """
    count = math.prod(shape)
    if name.endswith("norm.weight"):
        return bfloat16([1.0] * count)
    head = name in (EMBEDDING, OUTPUT)
    spread = 5 * SPREAD if name == OUTPUT else 3 * SPREAD if head else SPREAD
    draws = struct.iter_unpack("<h", hashlib.shake_256(f"tiny qwen3 / {name}".encode()).digest(2 * count))
    numbers = [draw / 32768 * spread for (draw,) in draws]
    for row in range(shape[0] if head else 0):
        numbers[row * HIDDEN] = 0.3 if name == EMBEDDING else leaning(row)
    return bfloat16(numbers)


def safetensors() -> bytes:
    """Return model.safetensors: the length of the header, the header, the numbers."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    blobs: list[bytes] = []
    offset = 0
    for name, shape in shapes().items():
        count = math.prod(shape)
        blobs.append(tensor(name, shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + 2 * count]}
        offset += 2 * count
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(blobs)


def files() -> dict[str, bytes]:
    """Return file name -> contents of the whole model."""
    texts = tiny_tokenizer.files()
    texts["config.json"] = json.dumps(config(), indent=1) + "\n"
    texts["generation_config.json"] = (
        json.dumps({"eos_token_id": config()["eos_token_id"], "pad_token_id": config()["pad_token_id"]}, indent=1)
        + "\n"
    )
    found = {name: text.encode() for name, text in texts.items()}
    found["model.safetensors"] = safetensors()
    sums = {name: hashlib.sha256(found[name]).hexdigest() for name in sorted(found)}
    found[STAMP] = (json.dumps({"made_by": "tools/cpu_engine", "sha256": sums}, indent=1) + "\n").encode()
    return found


def make(out: Path) -> bool:
    """Write the model to `out`. Returns False when it was there already, byte for byte.

    It is written beside `out` and moved there at the end, so that a stopped run leaves no half model.

    Raises:
        ModelError: `out` holds something that this tool did not make, or cannot be written.
    """
    wanted = files()
    try:
        if out.is_dir():
            if all((out / name).is_file() and (out / name).read_bytes() == text for name, text in wanted.items()):
                return False
            if any(out.iterdir()) and not (out / STAMP).is_file():
                raise ModelError(f"{out} is not empty and was not made by this tool: name another folder with --out")
        elif out.exists() or out.is_symlink():
            raise ModelError(f"{out} exists and is no folder: name another one with --out")
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            os.chmod(part, 0o755)
            for name, text in wanted.items():
                (part / name).write_bytes(text)
            if out.is_dir():
                shutil.rmtree(out)
            os.replace(part, out)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise ModelError(f"cannot write the model to {out}: {error.strerror or error}") from error
    return True
