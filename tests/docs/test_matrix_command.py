"""`launch.py matrix --html`: what it refuses before it computes, how it ends, and that the page is closed to the network."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from resolver.cli.options import read
from resolver.compile import open_resolver
from resolver.machines import names
from resolver.views.html.answers import table_of
from resolver.views.html.anywhere import Anywhere
from resolver.views.html.choices import KNOBS, Choices, Knob, choices

ROOT = Path(__file__).resolve().parents[2]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "launch.py", "matrix", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no file is named"),
        (("--html", "/nowhere/there/matrix.html"), "there is no such folder"),
        (("--html", "."), "cannot be written"),
        (("--html", "m.html", "VISON=1"), "did you mean VISION?"),
        (("--html", "m.html", "VLLM_API_KEY=abc"), "VLLM_API_KEY is a secret"),
        (("--html", "m.html", "CTX=long"), "CTX is on the page already"),
        (("--html", "m.html", "--", "--seed", "7"), "takes no engine flags"),
        (("--html", "m.html", *(f"MAX_SEQS={n}" for n in range(1, 5000))), "answers, and a page holds"),
        (
            ("--html", "m.html", *(f"{knob}=1" for knob in ("TOOLS", "VISION", "LOOKUP", "EMBED_UVA", "ASYNC_SCHED"))),
            None,
        ),
    ],
)
def test_what_it_refuses(words: tuple[str, ...], says: str | None) -> None:
    if says is None:  # five are fine, nine are too many
        words = (*words, "REQ_METRICS=1", "PREFIX_CACHE=0", "SPEC_ATTN=0", "MAX_SEQS=1")
        says = "9 knobs are named, and the page has room for 8"
    done = run(*words)
    assert done.returncode == 2
    assert says in done.stderr
    assert "fix:" in done.stderr
    assert done.stdout == ""
    assert "abc" not in done.stderr
    assert not (ROOT / "m.html").exists()


@pytest.mark.parametrize("name", ["pipe", "link", "loop", "nowhere/x", "n" * 300, "/proc/m.html"])
@pytest.mark.parametrize("words", [("matrix", "--html"), ("figures", "--plot")], ids=" ".join)
def test_what_is_no_file_is_neither_replaced_nor_computed_for(
    tmp_path: Path, words: tuple[str, str], name: str
) -> None:
    name += ".svg"  # of one that is drawn; a page may be called so as well
    os.mkfifo(tmp_path / "pipe.svg")
    (tmp_path / "link.svg").symlink_to("pipe.svg")
    (tmp_path / "loop.svg").symlink_to("loop.svg")
    there = {path: path.lstat()[:7] for path in tmp_path.iterdir()}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "launch.py", *words, os.path.join(tmp_path, name)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode in (1, 2)
    assert "cannot be written" in done.stderr
    assert words[1] in done.stderr.partition("fix:")[2]
    assert "launches are resolved" not in done.stderr
    assert time.monotonic() - began < 20
    assert {path: path.lstat()[:7] for path in tmp_path.iterdir()} == there


def test_the_standard_knobs_exist_and_are_as_many_as_fit() -> None:
    wanted = choices(open_resolver(), [])
    assert [knob.variable for knob in wanted.knobs] == [name for name, _ in KNOBS]
    assert len(wanted.knobs) == 8
    assert len(wanted.words("rtx-3090")) == wanted.a_machine


def test_named_values_are_kept_once_in_order() -> None:
    wanted = choices(
        open_resolver(), [("vision", "1"), ("MAX_SEQS", "2"), ("VISION", "0"), ("VISION", "1"), ("KV_MEM", "")]
    )
    assert [(knob.variable, knob.values) for knob in wanted.knobs] == [
        ("VISION", (None, "1", "0")),
        ("MAX_SEQS", (None, "2")),
        ("KV_MEM", (None, "")),
    ]


def test_a_table_says_each_thing_once() -> None:
    resolver = open_resolver()
    knob = Knob("VISION", "", "", (None, "0", "1"))
    wanted = Choices(("rtx-3090",), ("mtp-fast", "mtp-huge"), (knob,))
    table = table_of(resolver, "rtx-3090", wanted.words("rtx-3090"), list(resolver.rules.arms))
    assert len(table.index) == wanted.a_machine == 6
    assert len(table.items.numbers) == len(set(table.items))
    assert len(set(table.index)) == len(table.answers.numbers)
    for words in wanted.words("rtx-3090"):
        assert read(words).get("--machine") == "rtx-3090"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "matrix.html"
    done = run("--html", str(file), "-q", "VISION=1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(file.parent.iterdir()) == [file]
    return file.read_text(encoding="utf-8")


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    assert re.findall(r"""(?:src|href)=["']?(?!#)([^"'\s>]+)""", page) == []
    assert "default-src &#x27;none&#x27;" in page
    assert "unsafe" not in re.findall(r'Content-Security-Policy" content="([^"]+)"', page)[0]
    assert re.findall(r"\son[a-z]+=|\sstyle=|javascript:|https?://", page) == []


def test_the_page_does_not_say_where_it_was_written(page: str) -> None:
    tables = re.findall(r'<script type="text/plain" id="machine-\d+">(.*?)</script>', page)
    assert len(tables) == len(names(ROOT))
    whole = page + "".join(zlib.decompress(base64.b64decode(table)).decode() for table in tables)
    assert "venv/bin/vllm" in whole
    assert [whole[at - 40 : at + 60] for at in (m.start() for m in re.finditer(re.escape(str(ROOT)), whole))] == []


ANYWHERE = [
    ("/opt/it/models/x", "models/x"),
    ("PATH=/opt/it/venv/bin:/bin", "PATH=venv/bin:/bin"),
    ('\'{"model":"/opt/it/models/a b"}\'', '\'{"model":"models/a b"}\''),
    ("/data/opt/it/x and /opt/item", "/data/opt/it/x and /opt/item"),
    ("  1. /usr/bin/python3.11 /opt/it/launch.py resolve", "  1. python3.11 launch.py resolve"),
]


@pytest.mark.parametrize(("text", "there"), ANYWHERE)
def test_texts_for_anywhere(text: str, there: str) -> None:
    anywhere = Anywhere(Path("/opt/it"), ("/usr/bin/python3.11", "/opt/it/launch.py"))
    assert anywhere(text) == there
    assert anywhere.launcher == "python3.11 launch.py"
    assert Anywhere(ROOT, ("python", "launch.py")).launcher == "python launch.py"


def test_the_page_holds_every_arm_and_profile(page: str) -> None:
    data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)[0])
    rules = open_resolver().rules
    assert [arm["name"] for arm in data["arms"]] == list(rules.arms)
    assert [profile["name"] for profile in data["profiles"]] == list(rules.profiles)
    for arm in data["arms"]:
        rows = [row[0].split()[-1] for row in arm["figures"]]
        assert set(rules.arms[arm["name"]].figures) <= set(rows), arm["name"]


def test_it_can_be_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "matrix.html"
    started = subprocess.Popen(
        [sys.executable, "launch.py", "matrix", "--html", str(file)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert started.stderr is not None
    assert "launches are resolved" in started.stderr.readline()
    time.sleep(1)
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 130
    assert said.strip().splitlines()[-1] == "interrupted"
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
