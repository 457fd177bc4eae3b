"""A refusal's way out leads out: it names no value that would be refused again, and no knob that an engine flag overrides."""

from __future__ import annotations

import pytest

from resolver.coercions import READINGS, read
from resolver.compile import product_root
from resolver.resolution import Resolution
from resolver.views.suggest import suggest
from tests.explain.requests import ask


def only_refusal(resolution: Resolution, rule: str) -> tuple[str, str]:
    """The message and the fix of the one refusal, which is of this rule."""
    found = [d for d in resolution.diagnostics if d.severity == "refuse"]
    assert [d.rule for d in found] == [rule]
    return found[0].message, found[0].fix or ""


def test_the_engine_flag_that_wins_is_to_be_removed_too() -> None:
    rule = "mtp-with-the-card-nearly-full"
    _, fix = only_refusal(ask("mtp-fast", args=("--gpu-memory-utilization", "0.96")), rule)
    assert fix == "remove --gpu-memory-utilization and set GPU_UTIL=0.93"
    _, fix = only_refusal(ask("mtp-fast", "GPU_UTIL=0.96"), rule)
    assert fix == "set GPU_UTIL=0.93"


def test_engine_flags_are_named_as_typed() -> None:
    resolution = ask("mtp-fast", args=("--gpu-memory-utilization", "0.96"))
    refusal = next(d for d in resolution.diagnostics if d.severity == "refuse")
    assert "-- --gpu-memory-utilization 0.96 (command line)" in [str(c) for c in refusal.causes]


def test_no_arm_names_only_backends_that_this_gpu_has_an_arm_for() -> None:
    _, fix = only_refusal(ask("mtp-long", "ATTENTION_BACKEND=FLASH_ATTN"), "no-arm")
    assert fix == "use ATTENTION_BACKEND=CUSTOM or FLASHINFER or TRITON_ATTN, or leave it unset"


def test_no_way_out_proposes_a_number_that_only_says_there_is_one() -> None:
    found = suggest(ask("mtp-fast", "GPU_UTIL=0.96"))
    assert found
    assert not any(change.name == "KV_MEM" for option in found for change in option.changes)


@pytest.mark.parametrize(
    ("profile", "word", "said"),
    [
        ("mtp-fast", "DYNAMIC_K=5", "num_speculative_tokens_per_batch_size is not of type array"),
        ("mtp-fast", "DYNAMIC_K=[[1,3]]", "num_speculative_tokens_per_batch_size.0 has not 3 items"),
        ("dflash2-fast", "DRAFT_METHOD=nosuch", "method is not one of ngram, medusa, "),
    ],
)
def test_free_texts_that_make_a_configuration_unfit(profile: str, word: str, said: str) -> None:
    message, fix = only_refusal(ask(profile, word), "engine-refuses-configuration")
    knob = word.partition("=")[0]
    assert message.startswith(f"vLLM 0.31.0 would not take --speculative-config with this {knob}: {said}")
    assert fix == f"correct {knob}, or unset it"


def test_free_texts_that_fit_or_go_nowhere() -> None:
    assert not ask("mtp-fast", "DYNAMIC_K=[[1,3,2],[4,512,1]]").refused
    assert not ask("off-fast", "DYNAMIC_K=5").refused
    assert not ask("dflash2-fast", "DRAFT_METHOD=dspark").refused


@pytest.mark.parametrize(
    ("text", "number"),
    [("64k", 64000), ("64K", 65536), ("08192", 8192), (" 8192", 8192), ("auto", None), ("-1", None)],
)
def test_lengths_as_the_engine_reads_them(text: str, number: int | None) -> None:
    assert read("tokens", text) == number
    assert ask("mtp-fast", f"MAX_LEN={text}").setting("length_in_force") == number


def test_a_length_that_the_engine_refuses_has_no_number() -> None:
    assert read("tokens", "1.5K") is None


@pytest.mark.parametrize(
    ("text", "flag"), [("-x", True), ("--x", True), ("-", False), ("-1", False), ("-.5", False), ("-x y", False)]
)
def test_words_that_the_engine_takes_for_flags(text: str, flag: bool) -> None:
    assert read("reads_as_flag", text) is flag


def test_every_reading_is_in_the_docs() -> None:
    text = (product_root() / "docs" / "adding-a-rule.md").read_text()
    assert [name for name in READINGS if f"`.{name}`" not in text] == []


def test_a_block_size_that_no_kernel_takes_is_named() -> None:
    message, fix = only_refusal(ask("mtp-long", args=("--block-size", "16")), "backend-does-not-serve-cache")
    assert "CUSTOM does not serve the target with a int8_per_token_head cache in blocks of 16" in message
    assert fix == "leave out --block-size, or use one of the backends that do: TRITON_ATTN"
