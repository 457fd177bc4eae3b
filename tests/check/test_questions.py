"""Questions about rules: right answers with witnesses that are resolved again, and clear errors, by function and on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from resolver.analysis.questions import Answer, ask
from resolver.compile import product_root
from resolver.diagnostics import UsageError
from resolver.interpret import holds
from resolver.resolve import Resolver
from tests.check import base


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Resolver:
    root = tmp_path_factory.mktemp("rules")
    base.write(root, base.clean())
    return base.load(root)


# question, rules, for all requests, for those that no other rule refuses
CASES = [
    ("never", ["{spec: 'off', speculates: 'on'}"], True, True),
    ("never", ["{drafts: '> 64'}"], True, True),
    ("never", ["drafts-at-huge"], False, False),
    ("never", ["{ctx: huge, num_drafts: '> 15'}"], False, True),
    ("never", ["{gpu.vram_mib: 7999}"], False, True),
    ("never", ["{gpu.vram_mib: 8000}"], False, False),
    ("never", ["max_num_seqs[2]"], False, False),
    ("always", ["{max_num_seqs: '>= 1'}"], True, True),
    ("always", ["{arm: {not: unknown}}"], False, True),
    ("always", ["{cache: 'on'}"], False, False),
    ("implies", ["drafts-at-huge", "{ctx: huge}"], True, True),
    ("implies", ["{ctx: huge}", "drafts-at-huge"], False, False),
    ("implies", ["huge-flash", "{gpu.capability: '9.0'}"], True, True),
    ("implies", ["{verified: '> 4000'}", "large-batch"], True, True),
    ("disjoint", ["flash", "triton"], True, True),
    ("disjoint", ["seqs-at-huge", "large-batch"], False, False),
    ("disjoint", ["triton-before-31", "triton-since-32"], True, True),
    ("disjoint", ["{verified: '> 8000'}", "{verified: '< 100'}"], True, True),
]


def contrary(resolver: Resolver, answer: Answer, question: str, texts: list[str]) -> bool:
    """Whether the witness, resolved again, is against what was asked."""
    from resolver.analysis.questions import Asker, read_rule

    assert answer.witness is not None
    seen = base.replay(resolver, answer.witness.request)
    truths = [Asker.true_of(read_rule(resolver, text))(seen) for text in texts]
    if "no other rule" in answer.scope:
        assert not any(d.severity == "refuse" and d.rule not in texts for d in seen.diagnostics)
    wanted = {"never": [True], "always": [False], "implies": [True, False], "disjoint": [True, True]}[question]
    return truths == wanted


@pytest.mark.parametrize(
    ("question", "texts", "everywhere", "accepted"), CASES, ids=[f"{c[0]} {' '.join(c[1])}" for c in CASES]
)
def test_answers(small: Resolver, question: str, texts: list[str], everywhere: bool, accepted: bool) -> None:
    answers = ask(small, question, texts)
    assert [a.holds for a in answers] == [everywhere, accepted], [a.as_json() for a in answers]
    for answer in answers:
        assert (answer.witness is None) == bool(answer.holds)
        if answer.witness:
            assert contrary(small, answer, question, texts)


def test_what_cannot_be_inverted_is_not_known(small: Resolver) -> None:
    """The one product that could be found is not: the answer says that it rests on the setting, not that it never happens."""
    everywhere, _ = ask(small, "never", ["{verified: 64999}"])
    assert everywhere.holds is None
    assert set(everywhere.rests_on) == {"max_num_seqs", "num_drafts"}
    assert everywhere.as_json()["exact"] is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flush", "flash"), ("{ctx: hug}", "huge"), ("{ctxx: huge}", "ctx"), ("{ctx: ", "YAML"), ("{}", "empty"), ("max_num_seqs[9]", "no rule"),
        ("{speculates: given}", "not a knob"), ("", "no rule"),
    ],
)  # fmt: skip
def test_what_is_not_there(small: Resolver, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        ask(small, "never", [text])
    assert said in f"{caught.value.message} {caught.value.fix}"


def command(*words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "launch.py", "check", *words], cwd=product_root(), capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command_line(tmp_path: Path) -> None:
    code, out, _ = command("--implies", "mtp-long-custom-int8", "{ctx: long}", "--json")
    report = json.loads(out)
    assert code == 0
    assert [a["holds"] for a in report["answers"]] == [True, True]
    code, out, _ = command("--never", "fa2-beside-pth", "--json")
    assert code == 1
    assert json.loads(out)["answers"][0]["witness"]["request"]["knobs"]
    code, _, said = command("--implies", "fa2-beside-pth")
    assert code not in (0, 1)
    assert "two rules" in said
    code, _, said = command("--never", "fa2-beside-pht")
    assert code not in (0, 1)
    assert "fa2-beside-pth" in said


def test_the_findings_on_the_command_line() -> None:
    code, out, _ = command("--json")
    report = json.loads(out)
    assert code == 0, report
    assert all(f["accepted"] for f in report["findings"])
    assert report["counts"]["examples"] > 100


def test_a_condition_is_what_it_says(small: Resolver) -> None:
    """Asker.true_of reads the same condition as the resolver's own interpreter."""
    from resolver.analysis.questions import Asker, read_rule

    rule = read_rule(small, "{ctx: huge}")
    seen = base.replay(small, {"knobs": {"CTX": "huge"}, "machine": "rtx-3090"})
    assert rule.condition is not None
    assert Asker.true_of(rule)(seen) is holds(seen, rule.condition) is True
