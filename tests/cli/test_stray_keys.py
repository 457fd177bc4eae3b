"""A key among words that no flag takes: no command repeats it, not as a suggestion's change nor as what rules an arm out."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli

KEY = "hunter2hunter2"
TYPED = [
    ["Bearer", KEY],
    ["api-key:", KEY],
    ["--additional-config", "{api_key:", f"{KEY}}}"],
    ["--additional-config", f"{{api_key:{KEY}}}"],
    ["--seed", "7", f"Authorization: Bearer {KEY}"],
    ["'--api-key'", KEY],
]
COMMANDS = [
    ["resolve"],
    ["resolve", "--json"],
    ["explain"],
    ["explain", "--arm", "dflash2-fast-triton-bf16"],
    ["explain", "--arm", "dflash2-fast-triton-bf16", "--json"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "words", TYPED, ids=lambda words: words[-2] if words[-1] == KEY else words[-1].replace(KEY, "")
)
def test_a_key_that_lost_its_flag_is_not_repeated(cli: Cli, words: list[str], command: list[str]) -> None:
    done = cli.run(*command, "--machine", "rtx-3090", "--", *words)
    assert done.status in (0, 1), done.err
    assert done.all, "nothing was said"
    assert KEY not in done.all


def test_a_command_with_a_hidden_key_says_so(cli: Cli) -> None:
    """Whoever pastes it would set the key to three stars."""
    refused = ["resolve", "--machine", "rtx-3090", "--", "--kv-cache-dtype", "foo"]
    assert "type your own key where ***" in cli.run(*refused, "--api-key", KEY).err
    assert "type your own key" not in cli.run(*refused).all
