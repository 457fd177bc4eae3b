"""Which words are keys, by the name before them."""

from __future__ import annotations

import time
from itertools import product

import pytest

from resolver import masking
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


@pytest.mark.parametrize(
    "words",
    [
        ["VLLM_API_KEY=hunter2"],
        ["HF_TOKEN=hunter2"],
        ["api-key=hunter2"],
        ["api-key", "hunter2"],
        ["\u2014api-key", "hunter2"],
        ["\u2013\u2013api-key=hunter2"],
        ["Bearer", "hunter2"],
        ["--x", "sk-secret-hunter2"],
        ["hf_token_hunter2"],
        ["--seed", "7", "sk-api-key-hunter2", "hunter2"],
        ["--x", '{"a":{"secret":["hunter2"]}}'],
        ["--x", '{"secret":{"a":{"b":"hunter2"}},"c":"hunter2"}'],
        ["--x", '{"password":', '"hunter2"}'],
        ["--x", "https://user:hunter2@host/path"],
        ["--x", '["s3://key:hunter2@bucket"]'],
        ["--x", "{api_key:hunter2}"],
        ["--x", "{a:1,api_key:", "hunter2}"],
        ["--x", "{'a': 1, 'api_key': 'hunter2'}"],
        ["--x", "{'api_key':", "'hunter2'}"],
        ["--x", r'"{\"api_key\": \"hunter2\"}"'],
        ["--x", '{api_key: "hunter2"}'],
        ["--x", "{api_key:***hunter2}"],
        ["--x={api_key:hunter2,b:1}"],
        ["--x", '{"password": 7, "token": hunter2}'],
        ["--x", '{"headers":{"Authorization":"Bearer hunter2"}}'],
        ["--x.headers.Authorization", "Bearer hunter2"],
        ["Authorization: Bearer hunter2"],
        ["api-key: hunter2"],
        ["api-key:", "hunter2"],
        ["--api-key:hunter2"],
        ["--api-key,hunter2"],
        ["'--api-key'", "hunter2"],
        ['"--api-key=hunter2"'],
        ['"api-key"', "hunter2"],
        ["--x", "https://user:hun@hunter2@host"],
        ["--x", "https://user:hun'hunter2@host"],
        ["--x", 'https://user:hun"hunter2@host'],
        ["--x", "https://abcdefghijklmnophunter2@host"],
    ],
    ids=lambda words: words[-1][:24],
)
def test_keys_in_the_wrong_place_are_hidden(words: list[str]) -> None:
    assert "hunter2" not in " ".join(mask(words))
    assert mask([*words, "--seed", "7"])[-2:] == ["--seed", "7"]


@pytest.mark.parametrize(
    "words",
    [
        ["--served-model-name", "x=y"],
        ["--x", "https://host:8000/a@b"],
        ["--x", '{"max_cudagraph_capture_size":32,"custom_ops":["+rms_norm"]}'],
        ["--x", '{"tokenizer":{"a":"b"},"num_speculative_tokens":[1]}'],
        ["\u2014seed", "7"],
        ["--served-model-name", "monkey", "--seed", "7"],
        ["--x", '{"num_key_value_heads": 8, "tie_key": false, "key_map": null}'],
        ["--x", "{num_key_value_heads: 8}"],
        ["--x", "{tokenizer: a, max_tokens: b}"],
        ["--x", '{"a":"http://host:8000","b":"c@d"}'],
        ["--x", "https://me@host"],
    ],
    ids=lambda words: words[-1][:24],
)
def test_nothing_else_is_hidden(words: list[str]) -> None:
    assert mask(words) == words


WORDS = [
    "--api-key",
    "--api-key=hunter2",
    "hunter2",
    "--port",
    "8000",
    "-1",
    "token",
    "HF_TOKEN=hunter2",
    "Bearer",
    "\u2014api-key",
    "sk-hunter2hunter2",
    '{"password":',
    '{"a":1}',
    '{"secret":"hunter2"}',
    "https://user:hunter2@host",
    "",
]


def test_what_is_hidden_does_not_rest_on_what_was_masked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every triple of words, once with nothing remembered, once with all of them."""
    fresh = {}
    for words in product(WORDS, repeat=3):
        monkeypatch.setattr(masking, "_harmless", set())
        fresh[words] = mask(words)
    known: set[str] = set()
    monkeypatch.setattr(masking, "_harmless", known)
    for _ in range(2):
        assert {words: mask(words) for words in fresh} == fresh
    assert "--port" in known, "nothing was remembered"
    assert not any("hunter2hunter2" in word or "user:hunter2" in word for word in known)


@pytest.mark.parametrize("name", ["password", "client_secret", "db_passwd"])
def test_a_number_under_the_name_of_a_password_is_hidden(name: str) -> None:
    assert "1234567" not in " ".join(mask([f'{{"a": 1, "{name}": 1234567}}']))


@pytest.mark.parametrize(
    "piece", ["a", "a-", "-", " ", "a ", "a:", '"', "a: ", '"a":', "://a:", "'a' ", "\\", "key", "bearer "]
)
@pytest.mark.parametrize("end", ["", ":", " b:", "@", '"'])
def test_a_long_word_is_masked_in_no_time(piece: str, end: str) -> None:
    """Nothing in it is read again and again: that would take minutes, or hours for a name with a long run before it."""
    began = time.process_time()
    mask(["x", piece * 40_000 + end])
    assert time.process_time() - began < 2
