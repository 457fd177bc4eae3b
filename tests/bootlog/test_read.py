"""The reader of boot logs: one real log, excerpts in the wording of five versions, and files that are no log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.bootlog.read import NoBoot, read_boot, read_file
from tests.bootlog import logs

CPU = Path(__file__).parent / "data" / "cpu-tiny-0.31.0.log"

SAID: list[tuple[str, str, str | None, dict[str, Any]]] = [
    (
        logs.V028,
        "0.28.0",
        "refuses",
        {
            "max_model_len": 65536,
            "backends": ["FLASH_ATTN"],
            "block": 432,
            "state_padding_percent": 3.11,
            "capture_sizes": [1, 2, 4, 8, 16, 24, 32, 40],
            "loaded_gib": 14.26,
            "needed_gib": 4.76,
            "available_gib": 4.63,
            "estimated_max_len": 63072,
        },
    ),
    (
        logs.V029,
        "0.29.0",
        "runs",
        {
            "max_model_len": 65536,
            "backends": ["FLASH_ATTN"],
            "block": 432,
            "capture_sizes": [1, 2, 4, 8, 16, 24, 32, 40],
            "loaded_gib": 14.26,
            "available_gib": 5.37,
            "pool_tokens": 73631,
            "concurrency": 1.12,
            "graphs_gib": 0.09,
            "graphs_estimated_gib": 1.03,
            "free_at_start_gib": 23.3,
            "card_gib": 23.56,
            "peak_gib": 0.41,
            "non_torch_gib": 0.13,
            "engine_seconds": 61.2,
        },
    ),
    (
        logs.V030,
        "0.30.0",
        "runs",
        {
            "max_model_len": 65536,
            "backends": ["FLASH_ATTN"],
            "block": 448,
            "padding_layers": 3,
            "capture_sizes": [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64],
            "loaded_gib": 15.46,
            "free_at_start_gib": 23.3,
            "pinned_gib": 5.2,
            "pool_tokens": 68605,
            "concurrency": 1.05,
            "graphs_gib": 1.45,
            "engine_seconds": 70.1,
        },
    ),
    (
        logs.V033,
        "0.33.0",
        "runs",
        {
            "max_model_len": 131072,
            "kv_cache_layout": "LBHNC",
            "backends": ["TRITON_ATTN", "FLASH_ATTN"],
            "flash_attention": 3,
            "block": 864,
            "capture_sizes": [1, 2, 4, 8],
            "pool_tokens": 136429,
            "concurrency": 1.04,
            "free_at_start_gib": 23.3,
            "card_gib": 23.56,
            "peak_gib": 1.09,
            "consumed_gib": 15.61,
        },
    ),
]


@pytest.mark.parametrize(("text", "version", "outcome", "said"), SAID, ids=[row[1] for row in SAID])
def test_wording_of_each_version(text: str, version: str, outcome: str, said: dict[str, Any]) -> None:
    boot = read_boot(text.splitlines())
    assert (boot.version, boot.outcome, boot.said) == (version, outcome, said)


def test_a_request_that_kills_the_engine() -> None:
    boot = read_boot(logs.V032.splitlines())
    assert (boot.version, boot.outcome, boot.said["pool_tokens"]) == ("0.32.0", "dies", 69758)


def test_the_real_log_of_the_cpu_engine() -> None:
    boot = read_file(CPU)
    assert (boot.version, boot.outcome) == ("0.31.0", "runs")
    assert boot.said["pool_tokens"] == 2097152
    assert boot.said["pinned_gib"] == 1.0
    assert boot.said["max_model_len"] == 2048
    assert boot.said["kv_cache_layout"] == "LBHNC"
    assert boot.said["engine_seconds"] == 0.89


def test_the_last_boot_of_a_file_counts() -> None:
    boot = read_boot((logs.V028 + logs.V029).splitlines())
    assert (boot.version, boot.outcome) == ("0.29.0", "runs")
    assert "needed_gib" not in boot.said
    again = read_boot((logs.V029 + logs.V028).splitlines())
    assert (again.version, again.outcome) == ("0.28.0", "refuses")
    assert "pool_tokens" not in again.said


@pytest.mark.parametrize("text", ["", "hello\n", "GPU KV cache size: many tokens\n"])
def test_no_log(text: str) -> None:
    with pytest.raises(NoBoot):
        read_boot(text.splitlines())


@given(st.lists(st.one_of(st.text(), st.sampled_from((logs.V028 + logs.V033).splitlines()))))
def test_any_text_is_read_or_refused(lines: list[str]) -> None:
    try:
        boot = read_boot(lines)
    except NoBoot:
        return
    assert boot.said


def test_nothing_of_a_line_but_its_numbers_is_kept() -> None:
    """The log shows the arguments, and a key may be among them."""
    secret = "sk-planted-0123456789"
    boot = read_boot([f"non-default args: {{'api_key': ['{secret}']}} Using max model len 2048"])
    assert secret not in repr(boot)
