"""Numbers are written beside an arm only when the server is the launch that takes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from resolver.measure.into_running import running_configuration
from resolver.measure.into_server import confirm, differences
from resolver.measure.setup import hash_of
from resolver.serving.client import Client
from resolver.serving.errors import LaunchError
from tests.explain.requests import ask
from tests.measure.into_records import ARM, ROOT


@dataclass(frozen=True)
class Said:
    """What a server says."""

    model: str = "qwen3.8-27b"
    root: str = "/srv/models/Qwen3.8-27B-W4A16-AutoRound-fast"
    max_model_len: int = 150000
    version: str = "0.31.0+cu129"


def test_the_server_that_was_launched_is_confirmed() -> None:
    launch = ask("mtp-long", "PTH_FA=0")
    assert list(differences(Said(), launch)) == []
    assert list(differences(Said(root=""), launch)) == []
    confirm(Said(), launch, ARM, hash_of(launch))


@pytest.mark.parametrize(
    ("said", "running", "message"),
    [
        (Said(model="other"), None, "it serves other, not qwen3.8-27b"),
        (Said(root="/srv/models/other"), None, "its model is other, not Qwen3.8"),
        (Said(max_model_len=4096), None, "its longest context is 4096, not 150000"),
        (Said(max_model_len=0), None, "its longest context is unknown, not 150000"),
        (Said(version="0.30.0"), None, "its engine is vLLM 0.30.0, not 0.31.0"),
        (Said(version=""), None, "its engine is vLLM unknown"),
        (Said(), "0123456789abcdef", "started it with other words or variables"),
    ],
)
def test_a_server_that_is_another_launch_is_refused(said: Said, running: str | None, message: str) -> None:
    with pytest.raises(LaunchError) as caught:
        confirm(said, ask("mtp-long", "PTH_FA=0"), ARM, running)
    assert message in caught.value.message
    assert "the profile, knobs and flags that it was started with" in caught.value.fix


def test_a_name_that_the_user_typed_counts() -> None:
    launch = ask("mtp-long", "PTH_FA=0", args=("--served-model-name", "mine"))
    assert list(differences(Said(model="mine"), launch)) == []
    assert list(differences(Said(), launch)) == ["it serves qwen3.8-27b, not mine"]


def test_what_the_launcher_started_is_known_by_its_address(tmp_path: Path) -> None:
    from resolver.serving.ownership import recipe, records
    from resolver.serving.ready import Target
    from resolver.serving.supervise_guard import Order
    from resolver.serving.supervise_plan import Plan

    environ = {"LAUNCH_STATE_DIR": str(tmp_path)}
    assert running_configuration(environ, "127.0.0.1", 18020) is None
    launch = ask("mtp-long", "PTH_FA=0")
    plan = Plan(Order(launch.argv, {}, ROOT, False), Target(Client("127.0.0.1", 18020), "qwen3.8-27b"))
    folder = tmp_path / "servers"
    folder.mkdir()
    record = records.new(recipe.of(launch, plan), ("cpu",), "ready")
    records.save(folder, record)
    found = running_configuration(environ, "localhost", 18020)
    assert found == hash_of(launch), "launcher and measuring tools call the same launch by the same hash"
    confirm(Said(), launch, ARM, found)
    assert running_configuration(environ, "127.0.0.1", 18021) is None
    assert running_configuration(environ, "10.0.0.7", 18020) is None
    records.save(folder, record, phase="starting")
    assert running_configuration(environ, "127.0.0.1", 18020) is None, "only what was seen to be ready"
    records.save(folder, record, phase="ready", launcher=replace(record.launcher, start=1))
    assert running_configuration(environ, "127.0.0.1", 18020) is None, "a launcher that is gone says nothing"


def test_all_differences_are_named_at_once() -> None:
    assert len(list(differences(Said("a", "b", 1, "2"), ask("mtp-long"), "x"))) == 5


def test_another_arm_an_unknown_one_and_a_refused_launch_are_refused() -> None:
    with pytest.raises(LaunchError) as caught:
        confirm(Said(), ask("mtp-long"), ARM)
    assert "takes the arm mtp-long-custom-int8" in caught.value.message
    with pytest.raises(LaunchError, match="did you mean mtp-long-fp8"):
        confirm(Said(), ask("mtp-long"), "mtp-long-fp")
    refused = ask("mtp-long", "PTH_FA=0", "GPU_UTIL=7")
    assert refused.refused
    with pytest.raises(LaunchError, match="this launch is refused"):
        confirm(Said(), refused, ARM)
