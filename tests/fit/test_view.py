"""What `launch.py fit` answers: verdicts with bands, --solve, knobs, formulas, models read from their config.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from resolver.cli import dispatch
from resolver.diagnostics import UsageError
from resolver.geometry.budget import Card, Load, free, memory, parts, total
from resolver.geometry.data import Band
from resolver.geometry.model_config import drafter_from_config, shape_from_config
from resolver.geometry.shapes import Attention, NoGeometry
from resolver.geometry.verdict import compare, judge
from tests.fit.setups import KNOWN, dflash

GIB = 1 << 30


@pytest.fixture
def fit(capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def run(words: Sequence[str]) -> tuple[int, str]:
        status = dispatch.main(["fit", *words])
        return status, capsys.readouterr().out

    return run


def ask(fit, *words: str) -> dict:  # type: ignore[no-untyped-def, type-arg]
    at = words.index("--") if "--" in words else len(words)
    data: dict = json.loads(fit([*words[:at], "--json", *words[at:]])[1])  # type: ignore[type-arg]
    return data


def test_bands_decide() -> None:
    def answer(need: tuple[float, float], have: tuple[float, float]) -> str:
        return compare("q", Band(*need, "s"), Band(*have, "s"), "w").answer

    assert answer((1, 2), (2, 3)) == "fits"
    assert answer((1, 2), (1.5, 3)) == "tight"
    assert answer((3.1, 4), (2, 3)) == "does not fit"
    assert compare("q", None, Band(1, 1, "s"), "w").answer == "unknown"
    assert compare("q", Band(1, 2, "s"), Band(4, 5, "s"), "w").margin == (2, 4)


def test_a_pool_too_small_does_not_fit_whatever_the_card(fit) -> None:  # type: ignore[no-untyped-def]
    status, text = fit(["--profile", "dflash2-huge-reproduction", "--machine", "h200", "MAX_LEN=229376"])
    assert status == 1
    assert text.startswith("does not fit\n")
    assert "-0.05" in text


def test_an_unknown_machine_is_unknown(fit, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    machine = tmp_path / "bare.yaml"
    machine.write_text(
        "machine: {title: bare, source: a test}\nfacts: {device: cuda}\nengine: {version: '0.31.0', overlays: [hyperqwen-0.31]}\n"
    )
    data = ask(fit, "--profile", "mtp-fast", "--machine", str(machine), "--solve", "max_model_len")
    assert data["answer"] == "unknown"
    assert data["solve"] == {"max_model_len": {}}
    assert data["numbers"]["without a pool"]["block"] == 432
    assert (
        "unknown, as the pool is"
        in fit(["--profile", "mtp-fast", "--machine", str(machine), "--solve", "max_model_len"])[1]
    )


def test_what_the_engine_will_print(fit) -> None:  # type: ignore[no-untyped-def]
    data = ask(fit, "--profile", "dflash2-fast", "--machine", "rtx-3090")
    assert data["prints"] == {
        "exact": "GPU KV cache size: 68,605 tokens, Maximum concurrency for 65,536 tokens per request: 1.05x"
    }
    assert data["answer"] == "tight"
    assert data["refused"] is False


def test_the_users_own_flags_count(fit) -> None:  # type: ignore[no-untyped-def]
    status, text = fit(
        ["--profile", "dflash2-fast", "--machine", "rtx-3090", "--json", "--", "--max-num-batched-tokens", "8192"]
    )
    found = json.loads(text)
    assert (status, found["answer"]) == (1, "does not fit")
    assert found["questions"][0]["need_gib"]["low"] == pytest.approx(5.35, abs=0.01)


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("max_model_len", 69440),
        ("num_speculative_tokens", 9),
        ("max_num_seqs", {"at_full_length": 1, "short": 6, "empty": 7}),
    ],
)
def test_solve(fit, what: str, value: object) -> None:  # type: ignore[no-untyped-def]
    data = ask(fit, "--profile", "dflash2-fast", "--machine", "rtx-3090", "--solve", what)
    assert data["solve"] == {what: {"exact": value}}


def test_solve_drafts_without_a_drafter(fit) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match="drafts nothing"):
        fit(["--profile", "off-fast", "--machine", "rtx-3090", "--solve", "num_speculative_tokens"])


def test_solve_at_both_ends_of_the_band(fit) -> None:  # type: ignore[no-untyped-def]
    ends = ask(fit, "--profile", "mtp-fast", "--machine", "rtx-3090", "--solve", "max_model_len")["solve"][
        "max_model_len"
    ]
    assert 65536 <= ends["low"] < ends["high"]


def test_knobs(fit) -> None:  # type: ignore[no-untyped-def]
    rows = {row["change"]: row for row in ask(fit, "--profile", "dflash2-fast", "--machine", "rtx-3090")["knobs"]}
    assert rows["as it is"]["printed_tokens"] == 68605
    assert rows["PREFIX_CACHE=0"]["printed_tokens"] == 69758
    assert rows["--max-num-batched-tokens 4096"]["printed_tokens"] == 66945
    assert rows["DFLASH_TOKENS=15"]["fits"] is False


def test_formulas(fit) -> None:  # type: ignore[no-untyped-def]
    text = fit(["--profile", "dflash2-fast", "--machine", "rtx-3090", "--formulas"])[1]
    assert "= align * ceil_div(state_bytes, align * target_bytes)\n" in text
    assert "= 16 * ceil_div(1777664, 16 * 4096)\n" in text
    data = ask(fit, "--profile", "dflash2-fast", "--machine", "rtx-3090", "--formulas")
    assert {n["name"] for n in data["formulas"]} == set(data["numbers"]["exact"])


def test_stock_groups_are_marked(fit) -> None:  # type: ignore[no-untyped-def]
    asked = ("--profile", "dflash2-long", "--machine", "h200", "--engine", "0.31.0")
    assert "derived from code, not booted" in ask(fit, *asked)["grouping"]
    assert ask(fit, "--profile", "mtp-fast", "--machine", "rtx-3090")["grouping"] == "patched groups: booted"


def test_the_cpu_engine(fit, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """1 GiB of two small layers, as the CPU engine printed it."""
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    data = ask(fit, "--profile", "cpu-tiny", "--machine", "cpu-only", f"MODEL={tmp_path}")
    assert data["answer"] == "fits"
    assert data["prints"] == {
        "exact": "CPU KV cache size: 2,097,152 tokens, Maximum concurrency for 2,048 tokens per request: 1024.00x"
    }


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--", "--pipeline-parallel-size", "2"], "pipeline"),
        (["MODEL=/no/such/model"], "cannot be read"),
        (["--", "--kv-cache-dtype", "turboquant_4bit_nc"], "turboquant"),
        (["MAX_LEN=auto"], "left to the engine"),
    ],
)
def test_no_arithmetic(fit, words: list[str], match: str) -> None:  # type: ignore[no-untyped-def]
    asked = ["--profile", "mtp-fast", "--machine", "2x-rtx-3080-20gb", *words]
    at = asked.index("--") if "--" in asked else len(asked)
    status, text = fit(asked)
    assert status == 0
    assert text.startswith("unknown\n  why  ")
    data = ask(fit, *asked)
    assert (data["answer"], match in data["why"], bool(data["fix"])) == ("unknown", True, True)
    with pytest.raises(UsageError, match=match) as error:
        fit([*asked[:at], "--solve", "max_model_len", *asked[at:]])
    assert error.value.fix


def test_a_length_may_be_written_as_vllm_reads_it(fit) -> None:  # type: ignore[no-untyped-def]
    short, plain = (
        ask(fit, "--profile", "mtp-long", "--machine", "rtx-3090", f"MAX_LEN={text}") for text in ("140k", "140000")
    )
    assert short == plain


TINY = {
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "layer_types": ["full_attention"] * 2,
}
HYBRID = {
    "text_config": {
        "num_hidden_layers": 64,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_num_value_heads": 48,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "mtp_num_hidden_layers": 1,
        "max_position_embeddings": 262144,
    }
}


def test_shapes_from_config(tmp_path: Path) -> None:
    """The shipped model's configuration gives the shape that rules/geometry.yaml states."""
    (tmp_path / "config.json").write_text(json.dumps(HYBRID))
    shape, shipped = shape_from_config(tmp_path), KNOWN.shapes["qwen3.8-27b"]
    assert (shape.attention, shape.recurrent, shape.mtp_layers) == (
        shipped.attention,
        shipped.recurrent,
        shipped.mtp_layers,
    )
    assert shape.longest == shipped.longest
    drafter = {
        "num_hidden_layers": 5,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "sliding_window": 2048,
    }
    (tmp_path / "config.json").write_text(json.dumps(drafter))
    assert drafter_from_config(tmp_path) == shipped.drafter == Attention(5, 8, 128, 2048)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"num_hidden_layers": 2, "layer_types": ["mamba"]}',
        '{"num_hidden_layers": 2, "kv_lora_rank": 512}',
    ],
)
def test_a_config_that_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(NoGeometry):
        shape_from_config(tmp_path)


def test_what_stands_on_the_card() -> None:
    load = Load("fast", "dflash", "bfloat16", tower=True, embedding_in_host=True)
    names = {part.name: part.band for part in parts(KNOWN, load) or []}
    assert set(names) == {"weights", "drafter", "vision tower", "embedding in host memory", "context, peak, graphs"}
    assert names["embedding in host memory"].high < 0
    assert parts(KNOWN, Load(None, "none", "fp8")) is None
    halves = total(parts(KNOWN, Load("fast", "none", "fp8", gpus=2)) or [])
    whole = total(parts(KNOWN, Load("fast", "none", "fp8")) or [])
    assert whole.low - halves.low == pytest.approx(14.26 / 2)
    by_size = parts(KNOWN, Load(None, "dflash", "int4", model_bytes=20 * GIB, draft_bytes=3 * GIB)) or []
    assert [p.band.high > n for p, n in zip(by_size, (20, 3), strict=False)] == [True, True]


def test_what_is_free_on_the_card() -> None:
    card = Card("NVIDIA GeForce RTX 4090", 24576)
    assert (memory(KNOWN, card).low, free(KNOWN, card).low) == (23.9, 23.9)
    assert free(KNOWN, Card(card.name, 24576, wsl=True)).high == 22.5
    assert free(KNOWN, Card(card.name, 24576, free_mib=10240)).high == 10
    other = memory(KNOWN, Card("NVIDIA H200", 143771))
    assert other.low < other.high <= 143771 / 1024


def test_a_card_that_somebody_uses_does_not_fit() -> None:
    load = Load("fast", "dflash", "bfloat16")
    there = Card("NVIDIA GeForce RTX 3090", 24576, free_mib=12000)
    assert judge(KNOWN, dflash("bfloat16"), load, there, 0.93).answer == "does not fit"
    assert judge(KNOWN, dflash("bfloat16", pool=None), load, there, 0.93).answer == "does not fit"
    assert judge(KNOWN, dflash("bfloat16", pool=None), load, Card("NVIDIA H200", 143771), 0.93).answer == "fits"
    under_wsl = judge(
        KNOWN, dflash("bfloat16"), load, Card("NVIDIA GeForce RTX 4090", 24576, free_mib=12000, wsl=True), 0.93
    )
    assert under_wsl.answer == "tight"
    assert "host memory" in under_wsl.questions[-1].why
