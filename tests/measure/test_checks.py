"""Recall, tool calls, perplexity and questions: right ones pass, wrong ones are named, and a weak model is not a broken server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from resolver.diagnostics import UsageError
from resolver.measure import exact_match, needle, perplexity, tool_call, user_files
from resolver.measure.metrics import parse
from resolver.measure.settings import SpeedOptions
from tests.measure.fake_server import FakeServer, Faults, Handler, answer_to, running

OPTIONS = SpeedOptions(contexts=(600, 1500), longest=4096)
TEXT = "The gate opens at noon, and the lamp beside it burns until the ferry has come.\n" * 60


def test_all_needles_are_found() -> None:
    with running(FakeServer()) as server:
        report = needle.run(server.server(), OPTIONS)
    assert report.verdict == "clean", report
    shares = [one for one in report.measurements if one.metric == "pct"]
    assert [(one.value, one.n) for one in shares] == [(100, 5), (100, 5)]
    assert shares[0].low == pytest.approx(56.55, abs=0.1)  # Wilson: five of five is no proof of all
    longest = next(one for one in report.measurements if one.metric == "needle_tokens")
    assert 1400 < longest.value <= 1500
    found = report.findings[0].details["needles"]
    assert [one["depth"] for one in found] == list(needle.DEPTHS)
    assert found[0]["cached"] == 0
    assert all(one["cached"] > 400 for one in found[1:])


def test_a_needle_that_is_lost_is_told_of_with_its_place() -> None:
    def reply(messages: Sequence[dict[str, Any]]) -> str:
        said = str(messages[-1]["content"])
        question = said.rpartition("\n\n")[2]
        what = question.split("the ", 2)[2].split(" vault")[0]
        place = said.index(f"{what} vault is") / len(said)
        return "I do not know." if 0.4 < place < 0.6 and len(said) > 4000 else answer_to(messages)

    with running(FakeServer(reply=reply)) as server:
        report = needle.run(server.server(), OPTIONS)
    assert report.verdict == "broken"
    assert report.findings[0].verdict == "clean"
    assert report.findings[1].reason == "1 of 5 were not found, at 50% of the text"
    assert next(one.value for one in report.measurements if one.metric == "needle_tokens") <= 600


def test_a_model_that_finds_nothing_even_in_a_short_text_proves_nothing() -> None:
    with running(FakeServer(reply=lambda messages: "Who knows?")) as server:
        report = needle.run(server.server(), OPTIONS)
    assert report.verdict == "inconclusive"
    assert not any(one.sound for one in report.measurements)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("48213", True),
        ("It is 48,213.", True),
        ("48213 or 48214", False),
        ("4821", False),
        ("", False),
        ("148213", False),
    ],
)
def test_a_needle_is_its_number_and_no_other(answer: str, right: bool) -> None:
    assert needle.right(answer, 48213) is right


def test_a_tool_call_goes_there_and_back() -> None:
    with running(FakeServer()) as server:
        report = tool_call.run(server.server())
    assert report.verdict == "clean", report
    assert [one.subject for one in report.findings] == ["forced call", "forced call, streamed", "answer to the result"]


def test_a_result_that_is_not_named_is_no_proof() -> None:
    with running(FakeServer(reply=lambda messages: "Thank you.")) as server:
        report = tool_call.run(server.server())
    assert report.verdict == "inconclusive"


def test_a_server_that_fails_tool_calls() -> None:
    with running(FakeServer(Faults(fail_after=0))) as server:
        report = tool_call.run(server.server())
    assert [one.verdict for one in report.findings] == ["broken"] * 3
    assert "status 500" in report.findings[0].reason


def test_perplexity_is_that_of_the_log_probabilities(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(TEXT)
    with running(FakeServer()) as server:
        report = perplexity.run(server.server(), perplexity.Options((path,), window=100, windows=5))
        asked = [body for at, body in server.asked if at == "/v1/completions"]
    assert report.verdict == "clean", report
    one = report.measurements[0]
    assert (one.metric, one.n, one.conditions["tokens"]) == ("ppl", 5, 495)
    assert one.value == pytest.approx(8.0)
    assert one.low == pytest.approx(8.0)
    assert all(body["prompt_logprobs"] == 0 and len(body["prompt"]) == 100 for body in asked)


def test_perplexity_of_a_short_text_has_no_interval(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("A short text, of a few words only.")
    with running(FakeServer()) as server:
        one = perplexity.run(server.server(), perplexity.Options((path,))).measurements[0]
    assert (one.n, one.low, one.spread) == (1, None, "")


def test_log_probabilities_that_are_none_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(TEXT)
    for answer in ({}, {"choices": [{"prompt_logprobs": [None]}]}, {"choices": [{"prompt_logprobs": None}]}):
        monkeypatch.setattr(Handler, "log_probabilities", lambda self, body, answer=answer: self.send(200, answer))
        with running(FakeServer()) as server:
            report = perplexity.run(server.server(), perplexity.Options((path,), windows=2))
        assert report.verdict == "broken"
        assert report.measurements == ()


def test_perplexity_warns_of_memory_and_of_where_it_is_wrong(tmp_path: Path) -> None:
    full = parse('vllm:cache_config_info{gpu_memory_utilization="0.97"} 1.0')
    assert "above 0.93" in perplexity.warnings(full)[1]
    assert len(perplexity.warnings(parse('vllm:cache_config_info{gpu_memory_utilization="0.9"} 1.0'))) == 1
    path = tmp_path / "mine.txt"
    path.write_text(TEXT)
    where = 'cache_dtype="kvarn_k4v2_g128",enable_prefix_caching="True",'
    with running(FakeServer(cache_info=where)) as server:
        report = perplexity.run(server.server(), perplexity.Options((path,), windows=2))
    assert report.verdict == "inconclusive"
    assert not report.measurements[0].sound
    with running(FakeServer(cache_info=where, drafts=False)) as server:
        assert perplexity.run(server.server(), perplexity.Options((path,), windows=2)).verdict == "clean"


def questions(path: Path, wrong: int = 0, n: int = 40) -> Path:
    path.write_text(
        "".join(
            json.dumps({"question": f"What is {i} plus 2?", "answer": f"Add. #### {i + 2 + (i < wrong)}"}) + "\n"
            for i in range(n)
        )
    )
    return path


def test_questions_are_graded(tmp_path: Path) -> None:
    with running(FakeServer()) as server:
        options = exact_match.Options(questions(tmp_path / "gsm8k-mine.jsonl", wrong=4), workers=8)
        report = exact_match.run(server.server(), options)
    assert report.verdict == "clean", report
    one = report.measurements[0]
    assert (one.metric, one.value, one.n, one.spread) == ("gsm8k_pct", 90.0, 40, "95 % interval")
    assert one.low == pytest.approx(76.95, abs=0.1)
    assert one.high == pytest.approx(96.04, abs=0.1)


def test_questions_that_are_not_answered_are_no_measurement(tmp_path: Path) -> None:
    with running(FakeServer(Faults(fail_after=30))) as server:
        report = exact_match.run(server.server(), exact_match.Options(questions(tmp_path / "q.jsonl"), workers=4))
    assert report.verdict == "broken"
    assert "10 of 40 questions were not answered: status 500" in report.findings[0].reason
    assert not report.measurements[0].sound
    assert report.measurements[0].metric == "pct"


@pytest.mark.parametrize(
    ("answer", "wanted", "right"),
    [
        ("So it is\n#### 1,234", "1234", True),
        ("#### $18.00", "18", True),
        ("First 3, then 5 apples, so 8.", "8", True),
        ("First 8, then 5.", "8", False),
        ("The answer is Paris.\n#### The Paris", "paris", True),
        ("Thinking\n#### Rome", "Paris", False),
        ("", "8", False),
        ("#### ", "8", False),
        ("#### 18 dollars", "18", True),
        ("-3", "-3", True),
        ("3", "-3", False),
        ("50%", "50", True),
    ],
)
def test_final_answers(answer: str, wanted: str, right: bool) -> None:
    assert exact_match.same(exact_match.final(answer, wanted), wanted) is right


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"", "holds no question"),
        (b'{"question": "a", "answer": "1"}\n{"question": "b"', ":2:"),
        (b'{"question": "a"}\n', ":1:1: this line has no `question` and `answer`"),
        (b'{"question": "a", "answer": "x ####"}\n', ":1:1: the answer is empty"),
        (b'\n\n{"question": 3, "answer": "1"}\n', ":3:1"),
        (b'{"question": "\xe9"}\n', ":1:1: this line is no JSON in UTF-8"),
    ],
)
def test_a_file_of_questions_that_is_none(tmp_path: Path, content: bytes, where: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        user_files.questions(path)
    assert where in caught.value.message


def test_a_text_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b"abc\nde\xff")
    with pytest.raises(UsageError, match=r":2:3: this is no UTF-8"):
        user_files.text(path)
    for wrong in (tmp_path / "missing", tmp_path, Path("/dev/zero")):
        with pytest.raises(UsageError, match="cannot be read"):
            user_files.text(wrong)
