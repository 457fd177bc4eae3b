"""A knob that is itself a variable of the engine: given as a word it is in every format, given in the environment it is there already."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Cli

ASK = ("resolve", "--machine", "rtx-3090", "--profile", "mtp-long", "ATTENTION_BACKEND=TRITON_ATTN")
NAME = "VLLM_SPEC_DECODE_ATTN"


@pytest.mark.parametrize("format_", ["shell", "env", "json", "systemd", "compose", "llama-swap"])
def test_given_as_a_word_it_is_set(cli: Cli, format_: str) -> None:
    ran = cli.run(*ASK, f"{NAME}=1", "--format", format_)
    assert ran.status == 0, ran.err
    assert NAME in (json.loads(ran.out)["env"]["set"] if format_ == "json" else ran.out)


def test_given_in_the_environment_it_is_not_repeated(cli: Cli) -> None:
    ran = cli.run(*ASK, "--format", "env", env={NAME: "1"})
    assert NAME not in ran.out


def test_what_is_rendered_wins(cli: Cli) -> None:
    ran = cli.run("resolve", "--machine", "rtx-3090", "--profile", "mtp-fast", f"{NAME}=0", "--json")
    assert json.loads(ran.out)["env"]["set"][NAME] == "1"
