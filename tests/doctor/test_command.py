"""`launch.py doctor` as a whole: exit status, JSON, --fix; and the hazards that name a finding name one that exists."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from resolver.cli import dispatch
from resolver.doctor import gather
from resolver.doctor.finding import Scene
from resolver.yaml12 import read
from tests.doctor.scenes import CLEAN, PLANTED

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The facts that the command will find; a test changes them."""
    there = dict(CLEAN)
    monkeypatch.setattr(gather, "scene", lambda asked, launch: (Scene(there, launch), {}))
    for name in list(os.environ):
        if name.startswith(("VLLM_", "KVARN_", "FA2_", "WSL")):
            monkeypatch.delenv(name)
    return there


def test_a_clean_machine_exits_0(facts: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.main(["doctor", "--profile", "mtp-fast"]) == 0
    assert capsys.readouterr().out == "nothing here would keep the launch from working\n"


def test_a_note_is_not_alarming(facts: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    facts["compile_cache"] = False
    assert dispatch.main(["doctor", "--profile", "mtp-fast"]) == 0
    assert capsys.readouterr().out.startswith("note: no compiled kernels")
    assert dispatch.main(["doctor", "--profile", "mtp-fast", "--quiet"]) == 0
    assert "note" not in capsys.readouterr().out


def test_a_problem_exits_1(facts: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    facts["port_taken"] = True
    assert dispatch.main(["doctor", "--profile", "mtp-fast", "PORT=18555"]) == 1
    text = capsys.readouterr().out
    assert "problem: something listens on port 18555\n" in text
    assert "fix  set PORT to another one" in text


def test_json(facts: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    facts["stale_regions"] = ["vllm_offload_1.mmap"]
    assert dispatch.main(["doctor", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["findings"][0]["id"] == "stale-regions"
    assert data["findings"][0]["mendable"] is True


def test_variables_that_nothing_reads(
    facts: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VLLM_LOGGING_LEVL", "sk-planted-secret")
    assert dispatch.main(["doctor", "--profile", "mtp-fast"]) == 1
    text = capsys.readouterr().out
    assert "VLLM_LOGGING_LEVL is in the environment" in text
    assert "did you mean VLLM_LOGGING_LEVEL?" in text
    assert "sk-planted" not in text


def test_fix_says_what_it_did(tmp_path: Path, facts: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    env = tmp_path / "server.env"
    env.write_bytes(b"PORT=18020\r\n")
    facts["crlf_files"] = [str(env)]
    dispatch.main(["doctor", "--profile", "mtp-fast", "--fix"])
    assert capsys.readouterr().out.startswith(f"done: wrote {env} with Unix line ends\n")
    assert env.read_bytes() == b"PORT=18020\n"
    assert stat.S_IMODE(env.stat().st_mode) & 0o400


def test_this_machine_really(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing faked: it answers, whatever this machine is."""
    assert dispatch.main(["doctor", "--json"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["schema"] == 1


def test_hazards_name_findings_that_exist() -> None:
    places = read(REPO / "rules/evidence/hazard_places.yaml", "hazard_places.yaml").data["places"]
    named = {name for place in places.values() for name in place.get("doctor", [])}
    assert named
    assert named <= {name for name, _, _ in PLANTED}, named - {name for name, _, _ in PLANTED}
