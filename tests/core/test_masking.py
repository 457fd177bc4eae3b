"""Which words are keys, by the name before them."""

from __future__ import annotations

import pytest

from resolver.masking import HIDDEN, mask, secret_flag


@pytest.mark.parametrize("name", ["password", "passwd", "secret", "client-secret", "credential-file"])
@pytest.mark.parametrize(
    "before", ["", "ssl-", "ssl-keyfile-", "cache-", "tokenizer-", "prompt-tokens-", "keep-alive-"]
)
def test_a_password_is_one_whatever_else_the_flag_says(before: str, name: str) -> None:
    assert secret_flag(f"--{before}{name}")
    assert secret_flag(f"--{before}{name}".replace("-", "_").replace("__", "--", 1))
    assert "hunter2" not in " ".join(mask([f"--{before}{name}", "hunter2", "--seed", "7"]))
    assert mask([f"--{before}{name}=hunter2"]) == [f"--{before}{name}={HIDDEN}"]


@pytest.mark.parametrize("flag", ["--ssl-keyfile", "--tokenizer", "--max-num-batched-tokens", "--api-server-count"])
def test_flags_that_only_sound_like_one_are_shown(flag: str) -> None:
    assert mask([flag, "x"]) == [flag, "x"]
