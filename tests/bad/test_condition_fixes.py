"""Every error in a condition has a fix, in a rule file and in a question to `check`."""

from __future__ import annotations

import pytest

from resolver import yaml12
from resolver.cli.dispatch import main
from resolver.cli.start import guarded
from resolver.conditions import read_condition
from resolver.diagnostics import RulesError

BAD = (
    "{max_seqs: {gt: 4}}", "{max_seqs: {}}", "{max_seqs: {not: 4, gt: 1}}", "{max_seqs: []}", "{max_seqs: [[]]}",
    "{max_seqs: null}", "{max_seqs: 1.5}", "{max_seqs: '>4'}", "{max_seqs: '> four words here'}", "{}", "[]", "5",
    "{max_seqs: '> 9999999999999999999'}", "{any: 1}", "{all: []}", "{not: 1}", "{any: [1]}", "{'a b': 1}",
)  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_a_condition_that_is_none_is_told_with_a_fix(text: str) -> None:
    document = yaml12.parse(text, "c.yaml")
    with pytest.raises(RulesError) as caught:
        read_condition(document, document.data, ())
    for found in caught.value.diagnostics:
        assert found.fix, found.message
        assert found.position


def test_a_question_is_told_so_too(capfd: pytest.CaptureFixture[str]) -> None:
    for text in (one for one in BAD if one.startswith("{max_seqs")):
        assert guarded(lambda text=text: main(["check", "--never", text])) == 2  # type: ignore[misc]
        assert "  fix: " in capfd.readouterr().err, text
