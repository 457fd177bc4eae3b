"""Env files: what is read, what is noted, and where a bad line is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resolver.cli.env_file import read_env_file
from resolver.diagnostics import Diagnostic, RulesError
from tests.cli.conftest import SECRET, Cli

GOOD: list[tuple[bytes, dict[str, str]]] = [
    (b"CTX=long\n", {"CTX": "long"}),
    (b"\xef\xbb\xbfCTX=long", {"CTX": "long"}),
    (b"export CTX=long\r\nSPEC=mtp\r\n", {"CTX": "long", "SPEC": "mtp"}),
    (b"  # comment\n\n\tA=1 # said\nB='x # y'\n", {"A": "1", "B": "x # y"}),
    (b'A="say \\"hi\\" \\\\ \\$5"\nB=\'it is\'\nC=\nD=""\n', {"A": 'say "hi" \\ $5', "B": "it is", "C": "", "D": ""}),
    (b"A=x#y\nB= # nothing\n", {"A": "x#y", "B": ""}),
    (b'A={"a":"b"}\n', {"A": '{"a":"b"}'}),
    ("A=gr\u00fc\u00df\n".encode(), {"A": "gr\u00fc\u00df"}),
    (b"A=1\nA=2\n", {"A": "2"}),
]
BAD: list[tuple[bytes, str, str]] = [
    (b"CTX\n", "1:4", "no = right after CTX"),
    (b"OK=1\n CTX = long\n", "2:5", "no = right after CTX"),
    (b"=x\n", "1:1", "no variable name"),
    (b"1A=x\n", "1:1", "no variable name"),
    (b"A=b c\n", "1:4", "space and no quotes"),
    (b'A="b\n', "1:3", "never closed"),
    (b"A='b' c\n", "1:6", "follows the closing quote"),
    (b"A=x'y'\n", "1:4", "quote stands inside"),
    (b"OK=1\nA=\xff\n", "2:3", "not UTF-8"),
    (b"A=x\0y\n", "1:4", "control character"),
    (b"A=x\ry\n", "1:4", "control character"),
]


@pytest.mark.parametrize(("raw", "found"), GOOD)
def test_good_files(tmp_path: Path, raw: bytes, found: dict[str, str]) -> None:
    file = tmp_path / "env"
    file.write_bytes(raw)
    assert {k: text for k, (text, _) in read_env_file(str(file)).variables.items()} == found


@pytest.mark.parametrize(("raw", "place", "said"), BAD)
def test_a_bad_line_names_its_place(tmp_path: Path, raw: bytes, place: str, said: str) -> None:
    file = tmp_path / "env"
    file.write_bytes(raw)
    with pytest.raises(RulesError) as caught:
        read_env_file(str(file))
    (only,) = caught.value.diagnostics
    assert str(only.position) == f"{file}:{place}"
    assert said in only.message
    assert only.fix


@example("'$")
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=30))
def test_what_a_shell_quotes_is_read_as_the_shell_reads_it(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    from resolver.views.formats import _env_quote

    line = f"A={_env_quote(text)}"
    file = tmp_path_factory.getbasetemp() / "quoted"
    file.write_bytes(line.encode())
    assert read_env_file(str(file)).variables["A"][0] == text
    # A shell itself: shlex keeps the backslash of a quoted \$, which a shell takes away.
    said = subprocess.run(["sh", "-c", '. "$1"; printf %s "$A"', "sh", str(file)], capture_output=True, check=True)
    assert said.stdout == text.encode()


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any"
    file.write_bytes(raw)
    found: tuple[Diagnostic, ...] = ()
    try:
        read_env_file(str(file), ["CTX"])
    except RulesError as error:
        found = error.diagnostics
    assert all(d.position and d.fix for d in found)


def test_notes(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_bytes(b"MAX_SEQ=3\r\nmax_seqs=3\r\nHF_HOME=$HOME/hf\r\nCTX=fast\r\nCTX=long\r\n")
    notes = [n.message for n in read_env_file(str(file), ["MAX_SEQS", "CTX", "HOST"]).notes]
    assert len(notes) == 5, notes
    for part in (
        "Windows line ends",
        ":1:1 sets MAX_SEQ,",
        ":2:1 sets max_seqs,",
        ":3:1 has a $",
        ":5:1 sets CTX again",
    ):
        assert any(part in note for note in notes), (part, notes)


def test_precedence_and_secrets(cli: Cli, tmp_path: Path) -> None:
    """Command line > environment > env file > profile; a key in the file reaches the launch and no output."""
    file = tmp_path / "env"
    file.write_text(f"SPEC=off\nMAX_SEQS=2\nPORT=1234\nCTX=long\nVLLM_API_KEY={SECRET}\n")
    words = (
        "resolve",
        "--machine",
        "rtx-3090",
        "--profile",
        "mtp-fast",
        "--env-file",
        str(file),
        "PORT=1236",
        "--json",
    )
    ran = cli.run(*words, env={"MAX_SEQS": "3", "PORT": "1235"})
    data = json.loads(ran.out)
    assert data["ok"], data
    assert {k: data["knobs"][k] for k in ("SPEC", "CTX", "MAX_SEQS", "PORT")} == {
        "SPEC": "off",
        "CTX": "long",
        "MAX_SEQS": "3",
        "PORT": "1236",
    }
    assert data["api_key"] == "environment"
    assert "--host" in data["argv"]
    assert data["argv"][data["argv"].index("--host") + 1] == "0.0.0.0"


def test_an_unreadable_file(cli: Cli, tmp_path: Path) -> None:
    ran = cli.run("resolve", "--machine", "rtx-3090", "--env-file", str(tmp_path))
    assert ran.status == 2
    assert "cannot be read" in ran.err
    bad = tmp_path / "bad"
    bad.write_text(f"VLLM_API_KEY = {SECRET}\nA=b c\n")
    ran = cli.run("resolve", "--machine", "rtx-3090", "--env-file", str(bad))
    assert ran.status == 3
    assert ran.err.count("error:") == 2
    assert f"{bad}:1:13" in ran.err
    assert f"{bad}:2:4" in ran.err
