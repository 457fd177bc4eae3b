"""R123: the key comes from the environment or from api_key.txt, and shows nowhere."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path

import pytest

from resolver.serving import secrets
from resolver.serving.errors import LaunchError

KEY = "sk-do-not-show-me"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (KEY, KEY),
        (KEY + "\n", KEY),
        (KEY + "\n\n\n", KEY),
        (" a b \n", "a b"),
        (KEY + "\r\n", KEY),
        ("\ufeff" + KEY + "\r\n", KEY),
        ("\t" + KEY + " ", KEY),
        ("", ""),
        ("\n\n", ""),
        ("\ufeff\r\n", ""),
        ("  \n", ""),
    ],
)
def test_a_mark_blanks_and_line_breaks_around_the_key_are_dropped_and_nothing_else(
    tmp_path: Path, text: str, key: str
) -> None:
    file = tmp_path / "api_key.txt"
    file.write_bytes(text.encode())
    assert secrets.with_key({}, file) == {"VLLM_API_KEY": key}
    assert secrets.holds_key(file) is bool(key)


@pytest.mark.parametrize(
    ("text", "lines"), [(f"{KEY}\nother\n", 2), (f"{KEY}\r\n\r\nother\r\n", 3), (f"{KEY}\rother", 2)]
)
def test_several_lines_are_no_key(tmp_path: Path, text: str, lines: int) -> None:
    file = tmp_path / "api_key.txt"
    file.write_bytes(text.encode())
    with pytest.raises(LaunchError, match=f"holds {lines} lines") as error:
        secrets.with_key({}, file)
    assert error.value.fix == "write the key into it as one line"
    assert KEY not in f"{error.value} {error.value.fix}"
    assert secrets.holds_key(file) is None


def test_bytes_that_are_no_text_arrive_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "api_key.txt"
    file.write_bytes(b"\xff\xfe\n")
    import os

    assert os.fsencode(secrets.with_key({}, file)["VLLM_API_KEY"]) == b"\xff\xfe"


@pytest.mark.parametrize(
    ("environ", "key"),
    [({"VLLM_API_KEY": "mine"}, "mine"), ({"VLLM_API_KEY": ""}, KEY), ({}, KEY), ({"VLLM_API_KEY": " "}, " ")],
)
def test_the_environment_comes_first_unless_blank(tmp_path: Path, environ: dict[str, str], key: str) -> None:
    (tmp_path / "api_key.txt").write_text(KEY + "\n")
    before = dict(environ)
    assert secrets.with_key(environ, tmp_path / "api_key.txt")["VLLM_API_KEY"] == key
    assert environ == before


def test_no_file_adds_nothing(tmp_path: Path) -> None:
    assert secrets.with_key({"A": "b"}, tmp_path / "api_key.txt") == {"A": "b"}
    assert secrets.holds_key(tmp_path / "api_key.txt") is False


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_a_needed_key_that_is_gone_refuses(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "api_key.txt"
    if content is not None:
        file.write_text(content)
    with pytest.raises(LaunchError, match="counts on an API key"):
        secrets.with_key({}, file, needed=True)


def test_an_unreadable_file_refuses_rather_than_serving_everybody(tmp_path: Path) -> None:
    (tmp_path / "api_key.txt").mkdir()
    with pytest.raises(LaunchError, match="cannot be read"):
        secrets.with_key({}, tmp_path / "api_key.txt")
    assert secrets.holds_key(tmp_path / "api_key.txt") is None


def test_the_key_shows_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "api_key.txt"
    file.write_bytes(KEY.encode() + b"\0" + b"\n")
    with pytest.raises(LaunchError) as caught:
        secrets.with_key({}, file)
    assert KEY not in "".join(traceback.format_exception(caught.value)) + repr(caught.value) + str(vars(caught.value))
    secret = secrets.Secret(KEY)
    assert KEY not in f"{secret} {secret!r} {[secret]}"
    assert f"{secret}" == f"set({len(KEY)} chars)"
    assert f"{secrets.Secret('')}" == "unset"
    assert secret.reveal() == KEY
    with pytest.raises(TypeError):
        pickle.dumps(secret)
