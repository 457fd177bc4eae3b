"""`launch.py measure --into` as people run it, in a copy of the product: from a server to profiles.yaml, and back through `figures`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from resolver.compile import product_root
from resolver.serving.ownership import records, store
from tests.measure.fake_server import FakeServer, running
from tests.serving.owned import RECIPE

ROOT = product_root()
ARM = "off-fast-cpu"
LAUNCH = ("--profile", "cpu-tiny", "--machine", "cpu-only")
QUICK = ("--contexts", "600", "--repeats", "2", "--answer", "31")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("into") / "product"
    place.mkdir()
    for name in ("resolver", "rules"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("launch.py", "profiles.yaml"):
        shutil.copy(ROOT / name, place / name)
    return place


@pytest.fixture
def run(product: Path, tmp_path: Path) -> Run:
    shutil.copy(ROOT / "profiles.yaml", product / "profiles.yaml")
    environ = {**os.environ, "LAUNCH_STATE_DIR": str(tmp_path), "LAUNCH_CACHE_DIR": str(product / "cache")}

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(product / "launch.py"), *words],
            env=environ,
            text=True,
            capture_output=True,
            timeout=120,
            check=False,
        )

    return call


def test_every_tool_finds_numbers_that_evidence_can_hold(run: Run, product: Path, tmp_path: Path) -> None:
    before = (ROOT / "profiles.yaml").read_text()
    with running(FakeServer(longest=2048, root="/srv/models/cpu-tiny")) as server:
        done = run("measure", *LAUNCH, "--url", f"http://127.0.0.1:{server.port}", "--into", ARM, *QUICK)
    assert done.returncode == 0, done.stderr
    after = (product / "profiles.yaml").read_text()
    old, new = yaml.safe_load(before), yaml.safe_load(after)
    written = new["arms"][ARM].pop("evidence")
    assert new == old
    assert len(written) > 6
    assert len(after.splitlines()) - len(before.splitlines()) == len(written) + 1
    assert [line for line in after.splitlines() if line in before.splitlines()] == before.splitlines()
    assert {"decode_tok_s", "prefill_tok_s", "ttft_s"} <= {item["metric"] for item in written}
    assert (tmp_path / "figures.jsonl").read_text().count("\n") == len(written)
    shown = run("figures", "--arm", ARM)
    assert shown.returncode == 0, shown.stderr
    assert all(item["id"] in shown.stdout for item in written)
    again = run("figures", "--arm", ARM, "--into", ARM)
    assert again.stderr.endswith(": nothing new\n")
    assert (product / "profiles.yaml").read_text() == after


@pytest.mark.parametrize(
    ("longest", "words", "said"),
    [
        (4096, (), "its longest context is 4096, not 2048"),
        (2048, ("MAX_LEN=1024",), "its longest context is 2048, not 1024"),
        (2048, ("MODEL=models/other",), "its model is cpu-tiny, not other"),
    ],
)
def test_another_server_is_refused_before_it_is_asked_anything(
    run: Run, product: Path, tmp_path: Path, longest: int, words: tuple[str, ...], said: str
) -> None:
    with running(FakeServer(longest=longest, root="/srv/models/cpu-tiny")) as server:
        done = run("measure", *LAUNCH, *words, "--url", f"http://127.0.0.1:{server.port}", "--into", ARM, *QUICK)
        assert server.generations == 0
    assert done.returncode == 1
    assert f"error: the server is not the launch that the figures would be recorded for: {said}" in done.stderr
    assert (product / "profiles.yaml").read_bytes() == (ROOT / "profiles.yaml").read_bytes()
    assert not (tmp_path / "figures.jsonl").exists()


def test_a_server_that_the_launcher_started_otherwise_is_not_recorded(run: Run, tmp_path: Path) -> None:
    with running(FakeServer(longest=2048, root="/srv/models/cpu-tiny")) as server:
        ledger = tmp_path / "ledger.jsonl"
        launch = replace(RECIPE, host="127.0.0.1", port=server.port)
        records.save(store.folder({"LAUNCH_STATE_DIR": str(tmp_path)}), records.new(launch, ("cpu",), "ready"))
        done = run(
            "measure", "prefill", *LAUNCH, "--url", f"http://127.0.0.1:{server.port}", "--ledger", str(ledger), *QUICK
        )
    assert done.returncode == 1
    assert "nothing is recorded: `launch.py` started it with other words or variables" in done.stderr
    assert not ledger.exists()


def test_another_arm_is_refused(run: Run) -> None:
    with running(FakeServer(longest=2048, root="/srv/models/cpu-tiny")) as server:
        done = run("measure", *LAUNCH, "--url", f"http://127.0.0.1:{server.port}", "--into", "off-fast-flash-bf16")
    assert done.returncode == 1
    assert "takes the arm off-fast-cpu" in done.stderr
    assert "fix: write --into off-fast-cpu" in done.stderr
