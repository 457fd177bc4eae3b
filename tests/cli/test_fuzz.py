"""Any words and any variables: an answer with a documented status, never an internal error, never the planted secret."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolver.cli import start
from resolver.cli.dispatch import COMMANDS, main
from resolver.cli.options import OPTIONS
from resolver.compile import open_resolver
from resolver.serving import launch
from resolver.serving.errors import LaunchError
from tests.cli.conftest import SECRET

KNOBS = sorted(open_resolver().table.by_variable)
ENGINE_FLAGS = (
    ("--seed", "7"),
    ("--api-key", SECRET),
    (f"--api-key={SECRET}",),
    ("--no-such-token", SECRET),
    ("--max-num-seqs", "4"),
    ("-tp=2",),
    ("-O3",),
    ("--seed",),
    ("{}",),
    ("--",),
)
SLOW = ("check", "doctor", "engines", "matrix")
TEXTS = (
    "",
    "0",
    "1",
    "on",
    "x",
    "-1",
    "64k",
    "auto",
    "1e9",
    "9" * 30,
    "/m/it's",
    "\x1b[31m",
    "\n",
    "\0",
    "gr\u00fc\u00df",
    "\udcff",
    "null",
    "[[1,2,3]]",
)

values = st.one_of(st.sampled_from(TEXTS), st.text(max_size=8))
assignments = st.builds(lambda k, v: f"{k}={v}", st.sampled_from(KNOBS), values)
named = st.builds(
    lambda o, v: f"{o}={v}",
    st.sampled_from([o.name for o in OPTIONS.values() if o.value and o.name != "--batch"]),
    st.one_of(
        values,
        st.sampled_from(["rtx-3090", "cpu-only", "dflash2-long", "json", "argv", "table", "fast", "0.31.0", "1"]),
    ),
)
words = st.one_of(
    st.sampled_from(
        [
            *(c for c in COMMANDS if c not in SLOW),
            *(n for n in OPTIONS if n != "--batch"),
            "rtx-3090",
            "mtp-fast",
            "-",
            "-x",
            f"VLLM_API_KEY={SECRET}",
        ]
    ),
    assignments,
    named,
    values,
)
lines = st.builds(
    lambda command, before, flags: [
        command,
        "--machine",
        "rtx-3090",
        *before,
        *(["--", *(w for flag in flags for w in flag)] if flags else []),
    ],
    st.sampled_from(["resolve", "launch"]),
    st.lists(st.one_of(assignments, named), max_size=5),
    st.lists(st.one_of(st.sampled_from(ENGINE_FLAGS), st.tuples(values)), max_size=4),
)
environments = st.dictionaries(st.sampled_from(KNOBS), values.filter(lambda v: "\0" not in v), max_size=4)


@pytest.fixture(autouse=True)
def _no_engine_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise LaunchError("nothing is started in this test", "look at the answer")

    monkeypatch.setattr(launch, "launch", refuse)


def answer(line: list[str], env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Status and everything that was written, in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogatepass") for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        for name in KNOBS:
            patch.delenv(name, raising=False)
        for name, value in env.items():
            patch.setenv(name, value)
        patch.setenv("VLLM_API_KEY", SECRET)
        patch.setenv("HF_TOKEN", SECRET)
        status = start.guarded(lambda: main(line))
        out.flush()
        err.flush()
    written = b"".join(s.buffer.getvalue() for s in (out, err))  # type: ignore[attr-defined]
    return status, written.decode("utf-8", errors="replace")


FEW = settings(max_examples=max(60, settings.default.max_examples // 5))
"""Each example is a whole command."""


@FEW
@given(st.lists(words, max_size=7))
def test_any_words(line: list[str]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        status, written = answer(line, {}, monkeypatch)
    assert status in (0, 1, 2, 3), written
    assert SECRET not in written, line


@FEW
@given(lines, environments)
def test_any_request(line: list[str], env: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        status, written = answer(line, env, monkeypatch)
    assert status in (0, 1, 2, 3), written
    assert SECRET not in written, line
    assert status == 0 or "error: " in written or "refused: " in written or '"ok": false' in written, (line, written)


def test_the_fuzz_sees_secrets_and_internal_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above can fail."""
    import resolver.cli.profiles as module

    def leak(_: object) -> int:
        start.put(SECRET)
        return 0

    def broken(_: object) -> int:
        raise KeyError("x")

    monkeypatch.setattr(module, "run", leak)
    assert SECRET in answer(["profiles"], {}, monkeypatch)[1]
    monkeypatch.setattr(module, "run", broken)
    assert answer(["profiles"], {}, monkeypatch)[0] == 70
