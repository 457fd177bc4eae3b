"""The cards as nvidia-smi tells of them, where NVML's package is missing."""

from __future__ import annotations

import sys
import time

import pytest

from resolver.serving.probe import Findings, ask, questions
from resolver.serving.probes.basis import World
from tests.serving.conftest import Script

ROW = "GPU-aaaa, NVIDIA GeForce RTX 3090, 580.95.05, 24576, 24000, [N/A], 8.6"


@pytest.fixture(autouse=True)
def no_nvml(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    world.at("/dev/nvidiactl").write_text("")


def look(world: World) -> Findings:
    return ask({name: question for name, question in questions(world).items() if name.startswith("gpu.")})


def printing(text: str, status: int = 0) -> str:
    return f"sys.stdout.write({text!r}); sys.exit({status})"


def test_one_card(world: World, script: Script) -> None:
    script("nvidia-smi", f"assert sys.argv[2] == '--format=csv,noheader,nounits', sys.argv\n{printing(ROW + chr(10))}")
    found = look(world)
    assert found.why == {}
    assert found.facts == {
        "gpu.name": "NVIDIA GeForce RTX 3090",
        "gpu.capability": "8.6",
        "gpu.count": 1,
        "gpu.vram_mib": 24576,
        "gpu.vram_free_mib": 24000,
        "gpu.driver": "580.95.05",
    }


def test_different_cards(world: World, script: Script) -> None:
    script(
        "nvidia-smi", printing(ROW + "\nGPU-bbbb, NVIDIA GeForce RTX 2080 Ti, 580.95.05, 11264, 11000, [N/A], 7.5\n")
    )
    found = look(world)
    assert (found.facts["gpu.capability"], found.facts["gpu.count"], found.facts["gpu.vram_mib"]) == ("7.5", 2, 11264)


def test_an_old_driver_is_asked_again_without_the_field(world: World, script: Script) -> None:
    script(
        "nvidia-smi",
        "if 'compute_cap' in sys.argv[1]:\n"
        "    print('Field \"compute_cap\" is not a valid field to query.'); sys.exit(2)\n"
        "if 'mig' in sys.argv[1]:\n"
        "    print('Field \"mig.mode.current\" is not a valid field to query.'); sys.exit(2)\n"
        "print('GPU-aaaa, Tesla T4, 440.33, 15109, 15000')",
    )
    found = look(world)
    assert (found.facts["gpu.count"], found.facts["gpu.name"], found.facts["gpu.vram_mib"]) == (1, "Tesla T4", 15109)
    assert found.facts["gpu.capability"] is None
    assert "compute capability" in found.why["gpu.capability"]


def test_a_complaint_about_a_field_that_was_not_asked_for_ends(world: World, script: Script) -> None:
    script("nvidia-smi", "print('Field \"other\" is not a valid field to query.'); sys.exit(2)")
    assert "something else" in look(world).why["gpu.count"]


def test_mig_leaves_the_memory_unknown(world: World, script: Script) -> None:
    script("nvidia-smi", printing("GPU-dddd, NVIDIA A100-SXM4-40GB, 550.1, 40960, 40000, Enabled, 8.0\n"))
    found = look(world)
    assert (found.facts["gpu.count"], found.facts["gpu.capability"], found.facts["gpu.vram_mib"]) == (1, "8.0", None)
    assert "MIG" in found.why["gpu.vram_mib"]


def test_a_named_slice_leaves_the_memory_unknown(world: World, script: Script) -> None:
    script("nvidia-smi", printing("GPU-dddd, NVIDIA A100-SXM4-40GB, 550.1, 40960, 40000, Enabled, 8.0\n"))
    object.__setattr__(world, "environ", {**world.environ, "CUDA_VISIBLE_DEVICES": "MIG-1111"})
    found = look(world)
    assert (found.facts["gpu.count"], found.facts["gpu.capability"], found.facts["gpu.vram_mib"]) == (1, "8.0", None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        "a, b\n",
        ROW + ", extra\n",
        ROW + "\nGPU-bbbb, short\n",
        "\udcff\udcfe",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        "Unable to determine the device handle for GPU0: Unknown Error\n",
    ],
)
def test_broken_output_is_unknown(world: World, script: Script, text: str) -> None:
    script("nvidia-smi", f"sys.stdout.buffer.write({text.encode('utf-8', 'surrogateescape')!r}); sys.exit(9)")
    found = look(world)
    assert set(found.facts.values()) == {None}
    assert all("nvidia-smi printed something else" in why for why in found.why.values())


@pytest.mark.parametrize(
    "row", [ROW.replace("24576", "[N/A]"), ROW.replace("24576", "24576 MiB"), ROW.replace("24576", "[Unknown Error]")]
)
def test_a_number_that_is_none_is_unknown(world: World, script: Script, row: str) -> None:
    script("nvidia-smi", printing(row + "\n"))
    found = look(world)
    assert found.facts["gpu.vram_mib"] is None
    assert found.facts["gpu.capability"] == "8.6"


@pytest.mark.parametrize("value", ["[N/A]", "8", "8.6.1", "x.y"])
def test_a_capability_that_is_none_is_unknown(world: World, script: Script, value: str) -> None:
    script("nvidia-smi", printing(ROW.replace(" 8.6", " " + value) + "\n"))
    assert look(world).facts["gpu.capability"] is None


def test_no_devices(world: World, script: Script) -> None:
    script("nvidia-smi", printing("No devices were found\n", 6))
    found = look(world)
    assert (found.facts["gpu.count"], found.facts["gpu.driver"], found.why) == (0, None, {})


def test_hanging_costs_the_wait_once(world: World, script: Script) -> None:
    object.__setattr__(world, "wait", 0.3)
    script("nvidia-smi", "time.sleep(20)")
    began = time.monotonic()
    found = look(world)
    assert time.monotonic() - began < 3
    assert "did not answer within 0.3 s" in found.why["gpu.name"]


def test_one_that_cannot_be_started(world: World, script: Script) -> None:
    script("nvidia-smi", "").write_text("#!/nowhere/interpreter\n")
    assert "cannot be started" in look(world).why["gpu.count"]


def test_wsl_has_it_beside_the_path(world: World, script: Script) -> None:
    place = world.at("/usr/lib/wsl/lib/nvidia-smi")
    place.parent.mkdir(parents=True)
    script("nvidia-smi", printing(ROW + "\n")).rename(place)
    assert look(world).facts["gpu.capability"] == "8.6"


def test_not_there_is_unknown_where_a_driver_is(world: World) -> None:
    found = look(world)
    assert found.facts["gpu.count"] is None
    assert "nvidia-ml-py does not import" in found.why["gpu.count"]
    assert "not on PATH" in found.why["gpu.count"]
