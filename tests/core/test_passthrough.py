"""How words are read, row by row as the real parser of vLLM 0.31.0 was seen to read them."""

from __future__ import annotations

from typing import Any

import pytest

from resolver.compile import product_root
from resolver.engine import load_engine
from resolver.passthrough import read_words

ENGINE = load_engine(product_root(), "0.31.0")

ACCEPTED: list[tuple[list[str], str, Any]] = [
    (["--kv-cache-memory", "4G"], "kv_cache_memory_bytes", 4 << 30),
    (["--max-model-len", "240k"], "max_model_len", 240000),
    (["--max-model-len", "auto"], "max_model_len", "auto"),
    (["--kv-cache-dtype-skip", "1"], "kv_cache_dtype_skip_layers", "1"),
    (["--tensor", "2"], "tensor_parallel_size", 2),
    (["--enable-prefix"], "enable_prefix_caching", "on"),
    (["--no-enable-prefix"], "enable_prefix_caching", "off"),
    (["--ho", "y"], "host", "y"),
    (["--max-num-seqs=4"], "max_num_seqs", 4),
    (["--max_num_seqs=4"], "max_num_seqs", 4),
    (["--max_num_seqs", "4"], "max_num_seqs", 4),
    (["--max_num-seqs", "4"], "max_num_seqs", 4),
    (["--host="], "host", ""),
    (["-tp", "2"], "tensor_parallel_size", 2),
    (["-tp=2"], "tensor_parallel_size", 2),
    (["-t", "2"], "tensor_parallel_size", 2),
    (["-c", "{}"], "compilation_config", "{}"),
    (["-qawq"], "quantization", "awq"),
    (["-q=awq"], "quantization", "awq"),
    (["-q", "awq"], "quantization", "awq"),
    (["-n2"], "nnodes", 2),
    (["-n=2"], "nnodes", 2),
    (["-r1"], "node_rank", 1),
    (["-ep"], "enable_expert_parallel", "on"),
    (["-e"], "enable_expert_parallel", "on"),
    (["-O3"], "optimization_level", "3"),
    (["-O=3"], "optimization_level", "3"),
    (["-O", "3"], "optimization_level", "3"),
    (["-Odecode"], "optimization_level", "decode"),
    (["--compilation-config.mode", "3"], "compilation_config", '{"mode": 3}'),
    (["--compilation-config.mode=3"], "compilation_config", '{"mode": 3}'),
    (["--compilation_config.mode=3"], "compilation_config", '{"mode": 3}'),
    (["-cc.mode=3"], "compilation_config", '{"mode": 3}'),
    (["-cc.mode", "3"], "compilation_config", '{"mode": 3}'),
    (["--max-num-seqs", "4", "--max_num_seqs=5"], "max_num_seqs", 5),
    (["--enable-prefix-caching", "--no-enable-prefix-caching"], "enable_prefix_caching", "off"),
    (["--no-enable-prefix-caching", "--enable-prefix-caching"], "enable_prefix_caching", "on"),
    (["--speculative-config", ""], "speculative_config", ""),
    (["--speculative-config", "null"], "speculative_config", "null"),
    (["--hf-overrides", "abc"], "hf_overrides", "abc"),
    (["--host", "-x y"], "host", "-x y"),
    (["--host", "-1"], "host", "-1"),
    (["--host", "-"], "host", "-"),
    (["--host=-x"], "host", "-x"),
    (["--dtype", "half"], "dtype", "half"),
    (["--moe-backend", "Triton"], "moe_backend", "triton"),
    (["--moe-backend", "Deep-Gemm"], "moe_backend", "deep_gemm"),
    (["--attention-backend", "flash_attn"], "attention_backend", "FLASH_ATTN"),
    (["--attention-backend=Triton_Attn"], "attention_backend", "TRITON_ATTN"),
    (["--attention-backend", "None"], "attention_backend", "None"),
    (["--attention-backend", "bogus"], "attention_backend", "bogus"),
    (["--gpu-memory-utilization", "2"], "gpu_memory_utilization", "2"),
    (["--served-model-name", "a", "b"], "served_model_name", "a b"),
    (["--served-model-name", "a", "--served-model-name", "b"], "served_model_name", "b"),
    (["--limit-mm-per-prompt", '{"image": 0}'], "limit_mm_per_prompt", '{"image": 0}'),
]  # fmt: skip

REFUSED = [
    ["--max-num", "4"], ["--max_num_s", "4", "x"], ["--kv-cache-dt", "fp8"], ["--mod", "x"], ["--conf", "f"], ["--Max-Num-Seqs", "4"], ["--tp", "2"], ["--tp=2"],
    ["--cc.mode", "3"], ["--max--num-seqs", "4"], ["--max-num-seqs="], ["-tp2"], ["-cc3"], ["-t2"], ["-t=2"], ["-p", "1"], ["-d", "1"], ["-a", "1"], ["-node"],
    ["--no-ep"], ["-O", "4"], ["-O"], ["--no-headless"], ["--no-disable-log-stats"], ["--no-max-num-seqs"], ["--enable-prefix-caching=true"],
    ["--enable-prefix-caching", "true"], ["--speculative-config", "none"], ["--compilation-config", ""], ["--compilation-config", "None"], ["--compilation-config", "3"],
    ["--compilation-config", "{'mode': 3}"], ["--compilation-config", '{"mode": 3,}'], ["--limit-mm-per-prompt", "image=0"], ["--host", "-x"], ["n"], [""], ["--port", "1", "n"],
    ["--model", "x"], ["--model=x"], ["--bogus"], ["--bogus=1"], ["--bogus", "1"], ["-h"], ["--help"], ["--help=X"], ["-v"], ["--version"], ["--kv-cache-dtype", "FP8"],
    ["--kv-cache-dtype", "fp16"], ["--kv-cache-dtype", "half"], ["--kv-cache-dtype", "kvarn_k4v2_g128"], ["--dtype", "fp16"], ["-max_num_seqs", "4"], ["--max-num-seqs.x", "4"],
    ["--gpu-memory-utilization", "-0.5"], ["--compilation-config.mode"], ["--host", "--"],
]  # fmt: skip


@pytest.mark.parametrize(("words", "dest", "value"), ACCEPTED, ids=[" ".join(a[0]) for a in ACCEPTED])
def test_accepted(words: list[str], dest: str, value: Any) -> None:
    found = read_words(ENGINE, tuple(words))
    assert found.problem is None
    assert found.last[dest] == value
    assert type(found.last[dest]) is type(value)
    assert found.flags == {dest}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_refused(words: list[str]) -> None:
    assert read_words(ENGINE, tuple(words)).problem


NUMBERS = {
    # text: int, optional_int, human_int, human_int_or_auto, float
    "64k": "..xx.", "64K": "..xx.", "1.5k": "..xx.", "1.5K": ".....", "4G": "..xx.", "4g": "..xx.", "1T": "..xx.", "4GiB": ".....", "4GB": ".....", "64kb": ".....",
    "1P": ".....", "1 k": ".....", "0x10": ".....", "auto": "...x.", "AUTO": "...x.", " auto ": "...x.", "-1": "xxxxx", "08192": "xxxxx", "8_192": "xxxxx", "+8": "xxxxx",
    " 8 ": "xxxxx", "٣": "xxxxx", "1__0": ".....", "_8": ".....", "8.0": "....x", "8e3": "....x", "nan": "....x", "inf": "....x", "": ".x...", "None": ".x...", "none": ".....",
}  # fmt: skip
FLAGS = ["--max-num-seqs", "--max-logprobs", "--max-num-batched-tokens", "--max-model-len", "--gpu-memory-utilization"]


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers(text: str) -> None:
    types = [ENGINE.flags[ENGINE.spellings[flag]]["type"] for flag in FLAGS]
    for flag, wanted, kind in zip(FLAGS, NUMBERS[text], types, strict=True):
        if kind == "optional_int" or flag != "--max-logprobs":
            assert (read_words(ENGINE, (f"{flag}={text}",)).problem is None) == (wanted == "x"), (flag, kind)


@pytest.mark.parametrize("word", ["\0", "a\0b", "--host=\0", "\ud800", "--host=\ud800"])
def test_words_that_no_command_line_can_carry(word: str) -> None:
    assert read_words(ENGINE, ("--host", word) if not word.startswith("--") else (word,)).problem


def test_flag_with_an_optional_value_left_out() -> None:
    found = read_words(ENGINE, ("--hf-token",))
    assert found.problem is None
    assert found.last_text["hf_token"] == "on"
