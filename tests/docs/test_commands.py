"""Every command of the documents works, and prints what the document shows for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import LANGUAGES, Command, blocks, commands, documents
from tests.docs.left_out import LEFT_OUT, LEFT_OUT_BY_START, reason
from tests.docs.run import fresh_copy, ran, unwrapped

MAY_REFUSE = ("resolve", "doctor", "fit", "check", "explain", "diff")
"""Commands whose answer may be no, or not the same: their exit status is 0 or 1."""
ALL = [command for document in documents() for command in commands(document)]
RUN = list({command.text: command for command in reversed(ALL) if reason(command.text) is None}.values())[::-1]
"""Each once, where it stands first; one whose output is shown stands first in README."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fresh_copy(tmp_path_factory.mktemp("docs") / "launch-resolver")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("command", RUN, ids=lambda c: f"{c.document}:{c.line}")
def test_the_command_works(command: Command, copy: Path, cache: Path) -> None:
    status, printed = ran(command, copy, cache)
    words = command.text.split()
    may_refuse = "launch.py" in command.text and any(word in MAY_REFUSE for word in words)
    assert status in ((0, 1) if may_refuse else (0,)), printed
    assert "internal error" not in printed
    assert "Traceback" not in printed
    if command.shown is not None:
        assert unwrapped(printed) == unwrapped(command.shown), "another output is shown: python -m tests.docs.run"


def test_left_out_commands_are_in_the_documents() -> None:
    texts = {command.text for command in ALL}
    assert [text for text in LEFT_OUT if text not in texts] == []
    assert [start for start in LEFT_OUT_BY_START if not any(text.startswith(start) for text in texts)] == []


def test_commands_are_marked_as_such() -> None:
    """A block without a language holds no command, or nobody would run it."""
    for document in documents():
        for block in blocks(document):
            assert block.language in LANGUAGES, f"{document}:{block.line}: {block.language}"
            if block.language not in ("sh", "console"):
                hidden = [line for line in block.lines if re.match(r"\s*(\$ |python3? |make |pip |\. )", line)]
                assert hidden == [], f"{document}:{block.line}: mark the block as sh"


def test_shown_output_is_compared() -> None:
    compared = {id(command) for command in RUN}
    assert [command.text for command in ALL if command.shown is not None and id(command) not in compared] == []


def test_the_documents_have_commands() -> None:
    assert len(RUN) > 40
