"""A user edits profiles.yaml, one change after another: each time the file is read, or refused at a place, and no answer changes that should not."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from resolver.analysis.revision import load
from resolver.diagnostics import RulesError
from resolver.machines import load_machine
from resolver.request import build
from resolver.resolve import Resolver
from tests.matrix import editing, laws
from tests.matrix.asked import product

ASKED = [
    (profile, machine)
    for profile in ("mtp-fast", "dflash2-long", "off-huge", "cpu-tiny")
    for machine in ("rtx-3090", "rtx-4090", "h200")
    if machine in [p.stem for p in (product().root / "rules" / "machines").glob("*.yaml")]
]
PLACE = re.compile(r"profiles\.yaml:\d+:\d+")
"""Lines move when others are added above them; that is no other answer."""
CI = os.environ.get("HYPOTHESIS_PROFILE", "ci") in ("", "ci")


def said_of(line: str) -> dict[str, Any]:
    """A message without places, and without the list of all arms that were looked at."""
    said: dict[str, Any] = json.loads(PLACE.sub("profiles.yaml", line))
    said.pop("details", None)
    return said


def answers(resolver: Resolver) -> dict[str, Any]:
    """What some requests get, and that each gets a launch or a refusal with a way out."""
    found: dict[str, Any] = {}
    for profile, machine in ASKED:
        if profile not in resolver.rules.profiles:
            continue
        request = build(resolver.rules, resolver.table, profile=profile, assignments=[], environ={})
        seen = resolver.resolve(request, load_machine(product().root, machine))
        assert seen.refused == any(d.severity == "refuse" for d in seen.diagnostics)
        assert all(d.fix for d in seen.diagnostics if d.severity == "refuse")
        found[f"{profile} on {machine}"] = (laws.outcome(seen), [said_of(line) for line in laws.said(seen)])
    return found


class Editing(RuleBasedStateMachine):
    """The text and its answers; None for answers: the file cannot be read."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="edits-"))
        (self.folder / "rules").symlink_to(product().root / "rules")
        self.past: list[tuple[str, dict[str, Any] | None]] = []
        self.says: list[str] = []

    @initialize()
    def begin(self) -> None:
        self.text = (product().root / "profiles.yaml").read_text(encoding="utf-8")
        self.answers = self.read()
        assert self.answers

    def read(self) -> dict[str, Any] | None:
        """Load the file as it stands; a refusal names places that exist."""
        path = self.folder / "profiles.yaml"
        path.write_bytes(self.text.encode("utf-8", "surrogatepass"))
        try:
            return answers(load(self.folder))
        except RulesError as error:
            self.refused(error)
            return None

    def refused(self, error: RulesError) -> None:
        """Everything that is wrong has a message and a place that exists."""
        assert error.diagnostics
        for said in error.diagnostics:
            assert said.message
            assert said.position is not None, said
            lines = (self.folder / said.position.file).read_bytes().splitlines() if said.position.line else []
            assert said.position.line <= len(lines) + 1, said
        self.says = [str(said) for said in error.diagnostics]

    def change(self, text: str) -> None:
        self.past.append((self.text, self.answers))
        self.text = text
        self.answers = self.read()

    @precondition(lambda self: self.answers is not None)
    @rule(which=st.integers(0, len(editing.HARMLESS) - 1), seed=st.integers(0, 2**32))
    def add_what_changes_no_answer(self, which: int, seed: int) -> None:
        before = self.answers
        self.change(editing.HARMLESS[which](self.text, random.Random(seed)))
        assert self.answers is not None, (editing.HARMLESS[which].__name__, self.says)
        for asked, (outcome, said) in (before or {}).items():
            assert self.answers[asked][0] == outcome, (editing.HARMLESS[which].__name__, asked)
            assert self.answers[asked][1] == said, (editing.HARMLESS[which].__name__, asked)

    @rule(which=st.integers(0, len(editing.ANY) - 1), seed=st.integers(0, 2**32))
    def edit(self, which: int, seed: int) -> None:
        self.change(editing.ANY[which](self.text, random.Random(seed)))

    @precondition(lambda self: bool(self.past))
    @rule()
    def undo(self) -> None:
        """The file as it was gives the answers that it gave: nothing of the edit stays behind."""
        self.text, wanted = self.past.pop()
        self.answers = self.read()
        assert self.answers == wanted

    @invariant()
    def nothing_is_lost(self) -> None:
        """The product reads the file and never writes it."""
        path = self.folder / "profiles.yaml"
        assert not path.exists() or path.read_bytes() == self.text.encode("utf-8", "surrogatepass")

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


TestEditing = Editing.TestCase
TestEditing.settings = settings(
    max_examples=5 if CI else 100,
    stateful_step_count=8 if CI else 20,
    phases=[Phase.reuse, Phase.generate],  # each step loads all rules: to make a failure smaller would take an hour
)


@pytest.mark.parametrize("edit", [editing.copy_arm_below, editing.add_profile])
def test_what_is_added_twice_from_one_seed_has_two_names(edit: editing.Edit) -> None:
    text = (product().root / "profiles.yaml").read_text(encoding="utf-8")
    twice = edit(edit(text, random.Random(3)), random.Random(3))
    assert len(twice) > len(text)
    keys = re.findall(r"^  [\w.-]+:", twice, re.MULTILINE)
    assert len(set(keys)) == len(keys)
