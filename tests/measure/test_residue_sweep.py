"""The sweep finds every planted breakage, passes a clean server, and refuses to conclude where it cannot."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import pytest

from resolver.measure import residue_sweep
from resolver.measure.journal import Journal
from resolver.measure.report import Report
from resolver.measure.residue_sweep import Options
from resolver.measure.server import NotMeasurable
from tests.measure.fake_server import Damage, FakeServer, Faults, bytes_of, ids, running

OPTIONS = Options(context=700, lines=12, answer=400, longest=4096)
BROKEN = 77


def sweep(server: FakeServer, options: Options = OPTIONS) -> Report:
    with running(server):
        return residue_sweep.run(server.server(), options)


def at(residue: int, change: Callable[[str], str]) -> Damage:
    """Damage what comes out of the cache at one residue."""
    return lambda length, cached, text: change(text) if length % 128 == residue and cached > length - 40 else None


def lines(text: str) -> list[str]:
    return text.split("\n")


BREAKAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "an empty answer": (lambda text: "", "empty"),
    "spaces and line breaks": (lambda text: "\n  \n", "empty"),
    "one character": (lambda text: "!" * 200, "one character"),
    "a fluent invention": (
        lambda text: "The committee met on Tuesday to discuss the budget. " + "It was agreed that the plan is sound. ",
        "invented",
    ),
    "a loop of a line": (lambda text: "\n".join([lines(text)[0], lines(text)[1]] * 12), "loop"),
    "a loop after a good start": (lambda text: text[:200] + " the the the the" * 20, "loop"),
    "ends early": (lambda text: text[:150], "cut short"),
    "starts at another line": (lambda text: "\n".join(lines(text)[3:]), "wrong place"),
    "leaves lines out": (lambda text: "\n".join(lines(text)[:4] + lines(text)[7:]), "lines missing"),
    "a digit is another one": (lambda text: text[:300] + "9" + text[300:], "diverges"),
    "broken characters": (lambda text: text[:80] + "\ufffd\ufffd\ufffd" + text[83:], "garbled"),
    "capitals": (lambda text: text.upper(), "other case"),
    "another document": (lambda text: "# 0123456789ab: a description\n1. The grey lamp opens the door.", "invented"),
    "the first word twice": (lambda text: text.split(" ")[0] + " " + text, "invented"),
}


def test_there_are_twelve_at_least() -> None:
    assert len(BREAKAGES) >= 12


def test_every_planted_breakage_is_found_and_named() -> None:
    """Each at a residue of its own, in one sweep."""
    planted = dict(zip(range(3, 128, 8), BREAKAGES.values(), strict=False))
    assert len(planted) == len(BREAKAGES)

    def damage(length: int, cached: int, text: str) -> str | None:
        change = planted.get(length % 128)
        return change[0](text) if change and cached > length - 40 else None

    report = sweep(FakeServer(damage=damage))
    finding = report.findings[0]
    assert report.verdict == "broken"
    assert finding.details["broken"] == {str(residue): kind for residue, (_, kind) in planted.items()}
    assert finding.details["covered"] == 128
    assert not any(one.sound for one in report.measurements)


@pytest.mark.parametrize("name", ["a fluent invention", "ends early"])
def test_one_residue_of_128_is_enough(name: str) -> None:
    change, kind = BREAKAGES[name]
    report = sweep(FakeServer(damage=at(BROKEN, change)))
    assert report.verdict == "broken"
    assert report.findings[0].details["broken"] == {str(BROKEN): kind}
    assert report.findings[0].reason.endswith(f": {BROKEN}")


def test_a_clean_server_passes() -> None:
    report = sweep(FakeServer())
    finding = report.findings[0]
    assert (report.verdict, finding.verdict) == ("clean", "clean"), report
    assert (finding.details["covered"], finding.details["served_from_cache"]) == (128, 128)
    count = report.measurements[0]
    assert (count.metric, count.value, count.n, count.sound) == ("count", 128, 128, True)


def test_a_cache_that_never_hits_concludes_nothing() -> None:
    report = sweep(FakeServer(Faults(never_hits=True)))
    assert report.findings[0].verdict == "inconclusive"
    assert "the cache served 0 of 128" in report.findings[0].reason
    assert not report.measurements[0].sound


def test_a_cache_that_misses_one_residue_concludes_nothing() -> None:
    class Misses(FakeServer):
        def look_up(self, salt: str, tokens: Any) -> int:
            found = super().look_up(salt, tokens)
            return 0 if len(tokens) % 128 == 5 else found

    report = sweep(Misses())
    assert report.findings[0].verdict == "inconclusive"
    assert report.findings[0].details["not_served"] == [5]


def test_hits_are_proved_by_the_counters_where_the_answer_does_not_say() -> None:
    assert sweep(FakeServer(Faults(no_details=True))).verdict == "clean"


def test_without_counters_and_details_there_is_no_proof() -> None:
    report = sweep(FakeServer(Faults(no_details=True, no_metrics=True)))
    assert report.findings[0].verdict == "inconclusive"
    assert report.findings[0].details["served_from_cache"] == 0


def test_a_model_that_cannot_copy_proves_nothing() -> None:
    report = sweep(FakeServer(reply=lambda messages: "I would rather not repeat that, but here is a poem about doors."))
    assert report.findings[0].verdict == "inconclusive"
    assert "does not copy a text even without the cache" in report.findings[0].reason


def test_all_residues_broken_in_a_model_that_can_copy_is_broken() -> None:
    """Only the control, which no cache has a part in, comes back: so it is the cache."""
    report = sweep(FakeServer(damage=lambda length, cached, text: "" if cached else None))
    assert report.verdict == "broken"
    assert "128 of 128" in report.findings[0].reason


def test_a_padding_of_two_tokens_is_not_taken_for_one() -> None:
    """A tokenizer of bytes: " x" is two tokens, so by it alone only 64 residues are met."""
    report = sweep(
        FakeServer(tokenizer=bytes_of, longest=8192), Options(context=1500, lines=3, answer=400, longest=8192)
    )
    assert report.findings[0].details["covered"] == 128
    assert report.verdict == "clean"


def test_residues_that_cannot_be_met_are_never_called_clean() -> None:
    def even(text: str) -> list[int]:
        found = ids(text)
        return [*found, 0] if len(found) % 2 else found

    report = sweep(FakeServer(tokenizer=even))
    assert report.findings[0].verdict == "inconclusive"
    assert "64 of 128 residues were tried" in report.findings[0].reason
    assert len(report.findings[0].details["not_covered"]) == 64


def test_the_length_is_that_of_the_templated_prompt() -> None:
    server = FakeServer()
    with running(server):
        residue_sweep.run(server.server(), OPTIONS)
    asked = [body for path, body in server.asked if path == "/v1/chat/completions"]
    lengths = {len(ids("".join(str(body["messages"])))) for body in asked}
    assert len(lengths) >= 128
    counted = [body for path, body in server.asked if path == "/tokenize"]
    assert all(body["chat_template_kwargs"] == {"enable_thinking": False} for body in counted)
    assert {str(body["messages"]) for body in asked} <= {str(body["messages"]) for body in counted}


def test_one_residue_that_is_never_answered_is_broken() -> None:
    hashes: dict[int, int] = {}

    class Fails(FakeServer):
        def look_up(self, salt: str, tokens: Any) -> int:
            if len(tokens) % 128 == 9 and hashes.setdefault(zlib.crc32(repr(tokens).encode()), 1):
                raise OSError("the engine dropped it")
            return super().look_up(salt, tokens)

        def handle_error(self, *_: object) -> None:
            """Say nothing."""

    report = sweep(Fails())
    assert report.verdict == "broken"
    assert report.findings[0].details["broken"] == {"9": "no whole answer"}


def test_interrupted_it_is_not_clean_and_goes_on_later() -> None:
    server = FakeServer()
    journal = Journal()
    with running(server):
        target = server.server()
        count = 0

        def damage(length: int, cached: int, text: str) -> None:
            nonlocal count
            count += 1

        server.damage = damage
        stop = journal.bar

        class Stops:
            def begin(self, tool: str, total: int, done: int) -> None:
                self.total = total

            def step(self, what: str) -> None:
                if count > 60:
                    raise KeyboardInterrupt

            def end(self) -> None:
                return None

        journal.bar = Stops()
        first = residue_sweep.run(target, OPTIONS, journal)
        assert first.interrupted
        assert first.verdict == "inconclusive"
        assert 20 < first.findings[0].details["covered"] < 128
        journal.bar, journal.interrupted = stop, False
        before = count
        second = residue_sweep.run(target, OPTIONS, journal)
    assert second.verdict == "clean"
    assert before < count < 2 * 128 + 3


def test_a_sweep_that_has_no_room_says_so() -> None:
    with running(FakeServer(longest=512)) as server, pytest.raises(NotMeasurable, match="no room"):
        residue_sweep.run(server.server(), Options(longest=512))
