"""Speeds are those of the server, and every reason not to believe them is found."""

from __future__ import annotations

from typing import Any

import pytest

from resolver.measure import conversations, decode, prefill, traffic, ttft
from resolver.measure.journal import Journal
from resolver.measure.report import Report
from resolver.measure.settings import SpeedOptions
from tests.measure.fake_server import FakeServer, Faults, running

OPTIONS = SpeedOptions(contexts=(600,), streams=(1,), repeats=3, answer=61, longest=4096)


def run(tool: Any, server: FakeServer, options: SpeedOptions = OPTIONS, journal: Journal | None = None) -> Report:
    with running(server):
        found = tool.run(server.server(), options, journal)
    assert isinstance(found, Report)
    return found


def values(report: Report, metric: str) -> list[float]:
    return [one.value for one in report.measurements if one.metric == metric]


def verdict(report: Report, subject: str) -> str:
    return next(finding.verdict for finding in report.findings if finding.subject == subject)


def reason(report: Report, subject: str) -> str:
    return next(finding.reason for finding in report.findings if finding.subject == subject)


def test_decode_speed_and_tokens_per_step() -> None:
    """20 steps of 10 ms bring 60 tokens: at most 300 tok/s, and three tokens a step whatever the machine does."""
    report = run(decode, FakeServer(per_step=0.01))
    assert report.verdict == "clean", report
    (speed,) = values(report, "decode_tok_s")
    assert 30 < speed <= 300
    assert values(report, "tokens_per_step") == [pytest.approx(3.0)]
    (step,) = values(report, "step_ms")
    assert 10 <= step < 100
    assert step == pytest.approx(3000 / speed, rel=0.5)
    one = report.measurements[0]
    assert (one.n, one.unit, one.spread, one.sound) == (3, "tok/s", "min-max", True)
    assert one.low is not None
    assert one.high is not None
    assert one.low <= one.value <= one.high
    assert one.conditions["context"] == 600
    assert 570 < int(one.conditions["prompt_tokens"]) <= 600
    assert str(one.conditions["corpus"]).startswith("v1:")


def test_tokens_are_not_parts() -> None:
    """Without drafts a part is a token, with them three: the count is the server's."""
    fast = run(decode, FakeServer(per_step=0.01))
    slow = run(decode, FakeServer(per_step=0.01, drafts=False))
    assert values(slow, "tokens_per_step") == []
    assert values(slow, "decode_tok_s")[0] <= 100
    assert values(fast, "decode_tok_s")[0] > values(slow, "decode_tok_s")[0]


def test_several_streams_add_up() -> None:
    options = SpeedOptions(contexts=(600,), streams=(3,), repeats=2, answer=61, longest=4096)
    report = run(decode, FakeServer(per_step=0.02), options)
    assert report.verdict == "clean", report
    (whole,), (each,) = values(report, "decode_tok_s"), values(report, "decode_stream_tok_s")
    assert each <= 150
    assert each < whole <= 520
    assert next(one.n for one in report.measurements if one.metric == "decode_stream_tok_s") == 6


def test_without_a_running_count_the_streams_rates_are_added() -> None:
    options = SpeedOptions(contexts=(600,), streams=(2,), repeats=2, answer=61, longest=4096)
    report = run(decode, FakeServer(Faults(no_running_usage=True), per_step=0.01), options)
    assert report.verdict == "clean", report


def test_the_first_observation_is_thrown_away_and_texts_differ() -> None:
    server = FakeServer()
    run(decode, server)
    prompts = [str(body["messages"]) for path, body in server.asked if path == "/v1/chat/completions"]
    assert len(prompts) == 1 + 3
    assert len(set(prompts)) == 4
    assert all(body["ignore_eos"] and body["temperature"] == 0 for path, body in server.asked if "chat" in path)


def test_prefill_speed() -> None:
    """600 tokens of 0.1 ms each: at most 10,000 tok/s."""
    report = run(prefill, FakeServer(per_token=1e-4))
    assert report.verdict == "clean", report
    assert 300 < values(report, "prefill_tok_s")[0] <= 10_000


def test_a_second_session_is_not_served_by_the_first_ones_cache() -> None:
    server = FakeServer()
    with running(server):
        first = prefill.run(server.server(), OPTIONS)
        second = prefill.run(server.server(), OPTIONS)
    assert (first.verdict, second.verdict) == ("clean", "clean")


def test_a_prefill_out_of_the_cache_is_no_prefill() -> None:
    report = run(prefill, FakeServer(Faults(always_hits=True)))
    assert report.verdict == "broken"
    assert report.measurements == ()
    assert "came from the cache" in reason(report, "answers")


def test_first_token_cold_and_from_the_cache() -> None:
    report = run(ttft, FakeServer(per_token=5e-4))
    assert report.verdict == "clean", report
    cold, again = (one for one in report.measurements if one.metric == "ttft_s")
    assert (cold.conditions["cache_state"], again.conditions["cache_state"]) == ("cold prompt", "prefix hit")
    assert cold.value > max(0.28, again.value)
    assert values(report, "prefix_reuse_pct")[0] > 90


def test_no_hit_no_number_for_it() -> None:
    report = run(ttft, FakeServer(Faults(never_hits=True)))
    assert report.verdict == "inconclusive"
    assert [one.conditions["cache_state"] for one in report.measurements] == ["cold prompt"]
    assert "did not come from the cache" in reason(report, "prefix hit at 600")


def test_a_prompt_shorter_than_two_blocks_is_told_of() -> None:
    report = run(ttft, FakeServer(block=1024))
    assert "shorter than two blocks of 1024 tokens never do" in reason(report, "prefix hit at 600")


def test_hits_are_seen_by_the_counter_where_usage_does_not_say() -> None:
    assert run(ttft, FakeServer(Faults(no_details=True))).verdict == "clean"


def test_two_conversations_that_keep_their_prefixes() -> None:
    report = run(conversations, FakeServer())
    assert report.verdict == "clean", report
    assert [one.conditions["conversation"] for one in report.measurements] == ["alone", "first", "second"]
    assert all(value > 90 for value in values(report, "prefix_reuse_pct"))


def test_two_conversations_that_evict_each_other() -> None:
    report = run(conversations, FakeServer(Faults(forgets=True)))
    assert verdict(report, "two conversations at 600") == "broken"
    alone, first, second = values(report, "prefix_reuse_pct")
    assert alone > 90
    assert (first, second) == (0, 0)


def test_conversations_without_a_cache_conclude_nothing() -> None:
    report = run(conversations, FakeServer(Faults(never_hits=True)))
    assert verdict(report, "two conversations at 600") == "inconclusive"


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "others' requests": ({"faults": Faults(foreign=7)}, "traffic", "others used it, or its usage is wrong"),
    "others running": ({"faults": Faults(busy=2)}, "traffic", "2 requests of others were running"),
    "an answer that was held back": ({"faults": Faults(buffers=True), "per_step": 0.03}, "traffic", "was held up"),
    "no counters": ({"faults": Faults(no_metrics=True)}, "traffic", "has no counters"),
    "dead counters": ({"faults": Faults(frozen_metrics=True)}, "traffic", "counters do not move"),
    "a lie about the prompt": ({"faults": Faults(lie="prompt")}, "answers", "/tokenize counts"),
    "a lie about the answer": ({"faults": Faults(lie="more")}, "answers", "183 tokens"),
    "an answer in one piece": ({"faults": Faults(one_piece=True)}, "answers", "in one piece"),
    "dropped streams": ({"faults": Faults(drop_after=5)}, "answers", "cut"),
    "500 after some": ({"faults": Faults(fail_after=2)}, "answers", "2 of 3 failed: status 500"),
    "garbage": ({"faults": Faults(garbage="nope")}, "answers", "no JSON"),
    "a text that repeats itself": ({"damage": lambda *_: "the door is the door is " * 40}, "text", "repeats itself"),
}


@pytest.mark.parametrize("name", WRONG)
def test_nothing_is_sound_that_is_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "SETTLE", 0.3)
    make, subject, says = WRONG[name]
    report = run(decode, FakeServer(**make))
    assert report.verdict != "clean"
    assert says in reason(report, subject)
    assert not any(one.sound for one in report.measurements)


@pytest.mark.parametrize("faults", [Faults(keep_alive=True), Faults(split=9), Faults(no_details=True)])
def test_what_is_harmless_stays_clean(faults: Faults) -> None:
    assert run(decode, FakeServer(faults)).verdict == "clean"


def test_a_context_that_is_too_short_is_told_of() -> None:
    report = run(conversations, FakeServer(), SpeedOptions(contexts=(100, 600), longest=4096))
    assert "too few here: 400 at least" in reason(report, "context 100")
    assert verdict(report, "two conversations at 600") == "clean"


def test_preemptions_are_told_of() -> None:
    report = run(decode, FakeServer(Faults(preempts=True)))
    assert all(one.notes[0].startswith("3 requests were preempted") for one in report.measurements)
    assert not any("preempted" in note for one in run(decode, FakeServer()).measurements for note in one.notes)


def test_a_context_that_has_no_room_is_told_of() -> None:
    options = SpeedOptions(contexts=(600, 8000), repeats=2, answer=61, longest=4096)
    report = run(decode, FakeServer(), options)
    assert verdict(report, "context 8000") == "inconclusive"
    assert {one.conditions["context"] for one in report.measurements} == {600}


def test_an_interrupted_tool_gives_what_it_has() -> None:
    class Stops:
        steps = 0

        def begin(self, tool: str, total: int, done: int) -> None:
            return None

        def step(self, what: str) -> None:
            self.steps += 1
            if self.steps == 3:
                raise KeyboardInterrupt

        def end(self) -> None:
            return None

    journal = Journal(Stops())
    report = run(decode, FakeServer(), journal=journal)
    assert journal.interrupted
    assert (report.interrupted, report.verdict) == (True, "inconclusive")
    assert report.measurements[0].n == 2
