"""Known deaths: the table's entries are sound, each is found by its log, and the engine's own error is told from its echoes."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.compile import open_resolver, product_root
from resolver.diagnostics import RulesError
from resolver.serving.failures import FATAL, FILE, SCHEMA, Signature, explain, last_error, load
from resolver.views.hazards import read_hazards
from tests.views.test_messages import VERBS

ROOT = product_root()
KNOWN = load(ROOT)
WRAPPED = """\
(EngineCore pid=6945) INFO 12-01 09:08:26 [core.py:129] Initializing a V1 LLM engine
(Worker pid=6986) ERROR 12-01 09:08:26 [multiproc_executor.py:1058] Traceback (most recent call last):
(Worker pid=6986) ERROR 12-01 09:08:26 [multiproc_executor.py:1058]     assert len(mamba_groups) > 0, "no mamba layers in the model"
(Worker pid=6986) ERROR 12-01 09:08:26 [multiproc_executor.py:1058] AssertionError: no mamba layers in the model
(EngineCore pid=6945) ERROR 12-01 09:08:26 [core.py:1435] EngineCore encountered a fatal error.
(EngineCore pid=6945) ERROR 12-01 09:08:26 [core.py:1435] RuntimeError: Worker failed with error 'no mamba layers in the model', please check
(APIServer pid=6891) ERROR 12-01 09:08:26 [async_llm.py:871] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.
INFO:     Shutting down
/usr/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: leaked
(Worker pid=6986) torch.cuda.FutureWarning: this will change
(APIServer pid=6891) asyncio.exceptions.CancelledError
"""
PYDANTIC = """\
(APIServer pid=7) Traceback (most recent call last):
(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig
(APIServer pid=7)   Value error, Currently, async scheduling is only supported with EAGLE [type=value_error]
(APIServer pid=7)     For further information visit https://errors.pydantic.dev/2.14/v/value_error
"""
ARGUMENTS = "usage: vllm serve [model_tag]\nvllm serve: error: unrecognized arguments: --bogus\n"


@pytest.mark.parametrize("known", KNOWN, ids=[known.id for known in KNOWN])
class TestEntry:
    def test_is_found_by_its_log(self, known: Signature) -> None:
        assert explain(KNOWN, known.log.splitlines()) is known

    def test_its_last_error_is_shown(self, known: Signature) -> None:
        assert (
            any(known.pattern.search(text) for text in last_error(known.log.splitlines()))
            or known.id == "no-mamba-layers"
        )

    def test_names_what_exists(self, known: Signature) -> None:
        assert known.rule is None or known.rule in open_resolver().rules.guards
        assert known.hazard is None or known.hazard in read_hazards(ROOT)[1]["places"]
        assert known.doc is None or (ROOT / "docs" / known.doc).is_file()

    def test_is_written_as_messages_are(self, known: Signature) -> None:
        assert not known.means.endswith(".")
        assert not known.fix.endswith(".")
        assert known.fix.split()[0] in VERBS

    def test_does_not_match_a_boot_that_works(self, known: Signature) -> None:
        assert not any(known.pattern.search(line) for line in GOOD.splitlines())


GOOD = """\
(APIServer pid=1) WARNING 12-01 10:06:45 [system_utils.py:249] Found ulimit of 20000 and failed to automatically increase with \
error current limit exceeds maximum limit. This can cause fd limit errors like `OSError: [Errno 24] Too many open files`.
(APIServer pid=1) WARNING 12-01 10:06:45 [cpu.py:207] Triton is not installed. triton-cpu is expected on x86 CPUs.
(EngineCore pid=2) INFO 12-01 10:07:22 [kv_cache_utils.py:2464] CPU KV cache size: 2,097,152 tokens
"""


def test_there_are_at_least_ten() -> None:
    assert len(KNOWN) >= 10
    assert len({known.id for known in KNOWN}) == len(KNOWN)


def test_the_error_is_told_from_its_echoes() -> None:
    lines = WRAPPED.splitlines()
    assert last_error(lines) == ["AssertionError: no mamba layers in the model"]
    known = explain(KNOWN, lines)
    assert known is not None
    assert known.id == "no-mamba-layers"
    assert known.see().endswith(f"no-mamba-layers, {known.position}")
    assert known.position.startswith("rules/failures.yaml:")
    assert any(FATAL.search(line) for line in lines)


def test_a_validation_error_is_shown_with_what_is_wrong() -> None:
    assert last_error(PYDANTIC.splitlines())[1].startswith("Value error, Currently, async scheduling")


def test_a_command_line_error_is_one() -> None:
    assert last_error(ARGUMENTS.splitlines()) == ["vllm serve: error: unrecognized arguments: --bogus"]


def test_an_echo_is_better_than_nothing() -> None:
    echo = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above."
    assert last_error([echo, "INFO:     bye"]) == [
        "RuntimeError: Engine core initialization failed. See root cause above."
    ]


def test_without_an_error_the_last_words_are_shown() -> None:
    assert last_error(["one", "two", "", "three", "four"]) == ["two", "three", "four"]
    assert last_error([]) == []


def test_a_very_long_error_is_cut() -> None:
    assert len(last_error(["ValueError: " + "x" * 5000])[0]) < 700


def test_an_unknown_death_has_no_explanation() -> None:
    assert explain(KNOWN, ["ValueError: something new"]) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("failures:\n  a: {pattern: '(aaaaaa', means: m, fix: f, source: s, log: l}\n", "is no regular expression"),
        ("failures:\n  a: {pattern: aaaaaa, means: m, fix: f, source: s}\n", "missing key 'log'"),
        ("failures:\n  a: {pattern: aaaaaa, means: m, fix: f, source: s, log: l, rul: r}\n", "unknown key 'rul'"),
        ("failures: [", ""),
    ],
)
def test_a_broken_table_is_an_error_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rules/schema").mkdir(parents=True)
    (tmp_path / SCHEMA).write_text((ROOT / SCHEMA).read_text())
    (tmp_path / FILE).write_text(text)
    with pytest.raises(RulesError) as caught:
        load(tmp_path)
    assert said in caught.value.diagnostics[0].message
    assert str(caught.value.diagnostics[0].position).startswith("rules/failures.yaml:")
