"""The cards as NVML tells of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from resolver.serving.probe import Findings, ask, questions
from resolver.serving.probes.basis import World
from tests.serving.conftest import with_environ
from tests.serving.fake_nvml import MIB, FakeCard, FakeNvml

Probe = Callable[..., Findings]
SMALL = FakeCard("NVIDIA GeForce RTX 3060", "GPU-bbbb", (8, 6), 12288 * MIB, 12000 * MIB)
NEW = FakeCard("NVIDIA GeForce RTX 5090", "GPU-cccc", (12, 0), 32607 * MIB, 100 * MIB)


@pytest.fixture
def see(world: World, monkeypatch: pytest.MonkeyPatch) -> Probe:
    def look(fake: Any, **variables: str) -> Findings:
        monkeypatch.setitem(sys.modules, "pynvml", fake)
        asked = questions(with_environ(world, **variables))
        return ask({name: question for name, question in asked.items() if name.startswith("gpu.") or name == "device"})

    return look


def gpu(found: Findings) -> dict[str, object]:
    return {name.removeprefix("gpu."): value for name, value in found.facts.items() if name != "device"}


def test_one_card(see: Probe) -> None:
    fake = FakeNvml([FakeCard()])
    found = see(fake)
    assert found.why == {}
    assert found.facts["device"] == "cuda"
    assert gpu(found) == {
        "name": "NVIDIA GeForce RTX 3090",
        "capability": "8.6",
        "count": 1,
        "vram_mib": 24576,
        "vram_free_mib": 24000,
        "driver": "580.95.05",
    }
    assert fake.closed == 1


def test_old_bindings_answer_in_bytes(see: Probe) -> None:
    found = see(FakeNvml([FakeCard(name=b"Tesla T4", capability=[7, 5])], driver=b"450.1"))
    assert (found.facts["gpu.name"], found.facts["gpu.driver"], found.facts["gpu.capability"]) == (
        "Tesla T4",
        "450.1",
        "7.5",
    )


def test_the_weakest_of_different_cards_counts(see: Probe) -> None:
    found = see(FakeNvml([NEW, FakeCard(capability=(9, 0)), SMALL]))
    assert gpu(found) == {
        "name": "NVIDIA GeForce RTX 5090 + NVIDIA GeForce RTX 3090 + NVIDIA GeForce RTX 3060",
        "capability": "8.6",
        "count": 3,
        "vram_mib": 12288,
        "vram_free_mib": 100,
        "driver": "580.95.05",
    }


def test_capabilities_compare_as_pairs_not_as_text(see: Probe) -> None:
    assert see(FakeNvml([NEW, FakeCard(capability=(9, 0))])).facts["gpu.capability"] == "9.0"
    assert see(FakeNvml([FakeCard(capability=(8, 10)), FakeCard(capability=(8, 9))])).facts["gpu.capability"] == "8.9"


def test_what_one_card_does_not_tell_is_unknown(see: Probe) -> None:
    found = see(FakeNvml([FakeCard(), FakeCard(capability=None, total=None)]))
    assert found.facts["gpu.count"] == 2
    assert found.facts["device"] == "cuda"
    for name in ("gpu.capability", "gpu.vram_mib", "gpu.vram_free_mib"):
        assert found.facts[name] is None
        assert "does not tell" in found.why[name]


@pytest.mark.parametrize("capability", ["8.6", (8,), ("a", "b"), (8, 6, 1), object()])
def test_a_garbled_capability_is_unknown(see: Probe, capability: object) -> None:
    found = see(FakeNvml([FakeCard(capability=capability)]))
    assert found.facts["gpu.capability"] is None
    assert "gpu.capability" in found.why


def test_a_driver_that_does_not_tell_its_version(see: Probe) -> None:
    found = see(FakeNvml([FakeCard()], driver=None))
    assert found.facts["gpu.driver"] is None
    assert "version" in found.why["gpu.driver"]


@pytest.mark.parametrize("fake", [None, object(), FakeNvml(broken="Driver/library version mismatch")])
def test_without_nvml_and_without_a_driver_there_is_no_card(see: Probe, fake: object) -> None:
    """None in sys.modules makes the import fail."""
    found = see(fake)
    assert found.why == {}
    assert (found.facts["gpu.count"], found.facts["device"], found.facts["gpu.capability"]) == (0, "cpu", None)


@pytest.mark.parametrize("sign", ["/dev/nvidiactl", "/dev/dxg"])
def test_a_broken_driver_is_unknown_with_both_reasons(see: Probe, world: World, sign: str) -> None:
    world.at(sign).write_text("")
    found = see(FakeNvml(broken="Driver/library version mismatch"))
    assert set(found.facts.values()) == {None}
    for why in found.why.values():
        assert "Driver/library version mismatch" in why
        assert "nvidia-smi is not on PATH" in why


def test_a_hanging_driver_costs_the_wait_once(see: Probe, world: World) -> None:
    world.at("/dev/nvidiactl").write_text("")
    object.__setattr__(world, "wait", 0.2)
    began = time.monotonic()
    found = see(FakeNvml([FakeCard()], hangs=3))
    assert time.monotonic() - began < 1.5
    assert "did not answer within 0.2 s" in found.why["gpu.capability"]


def test_the_cards_are_asked_for_once(see: Probe, world: World) -> None:
    fake = FakeNvml([FakeCard()])
    see(fake)
    assert fake.closed == 1


@pytest.mark.parametrize(
    ("text", "count", "name"),
    [
        ("", 0, None),
        ("-1", 0, None),
        ("0", 1, "A"),
        ("1", 1, "B"),
        ("1,0", 2, "B + A"),
        (" 0 , 1 ", 2, "A + B"),
        ("0,9,1", 1, "A"),
        ("7", 0, None),
        ("0,-1,1", 1, "A"),
        ("0,0", 0, None),
        ("NoDevFiles", 0, None),
        ("GPU-aa", 1, "A"),
        ("GPU-", 0, None),
        ("GPU-bbbb,0", 2, "B + A"),
        ("gpu-aaaa", 0, None),
        ("²", 0, None),
    ],
)
def test_visible_devices(see: Probe, text: str, count: int, name: str | None) -> None:
    cards = [FakeCard("A", "GPU-aaaa"), FakeCard("B", "GPU-bbbb")]
    found = see(FakeNvml(cards), CUDA_VISIBLE_DEVICES=text, CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert (found.facts["gpu.count"], found.facts["gpu.name"]) == (count, name)
    assert found.facts["device"] == ("cuda" if count else "cpu")


def test_only_visible_cards_count(see: Probe) -> None:
    found = see(FakeNvml([SMALL, NEW]), CUDA_VISIBLE_DEVICES="GPU-cccc")
    assert (found.facts["gpu.capability"], found.facts["gpu.vram_mib"]) == ("12.0", 32607)


def test_an_index_among_different_cards_needs_the_bus_order(see: Probe) -> None:
    """CUDA counts the fastest card first, NVML by the bus: what the two may disagree on is unknown."""
    cards = [FakeCard(), SMALL]
    found = see(FakeNvml(cards), CUDA_VISIBLE_DEVICES="0")
    assert found.facts["gpu.count"] == 1
    assert found.facts["gpu.capability"] == "8.6"  # both have it
    for name in ("gpu.name", "gpu.vram_mib", "gpu.vram_free_mib"):
        assert found.facts[name] is None
        assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in found.why[name]
    sure = see(FakeNvml(cards), CUDA_VISIBLE_DEVICES="0", CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert (sure.facts["gpu.name"], sure.why) == ("NVIDIA GeForce RTX 3090", {})
    every = see(FakeNvml(cards), CUDA_VISIBLE_DEVICES="1,0")
    assert (every.facts["gpu.vram_mib"], every.why) == (12288, {})


SLICES = [
    FakeCard("NVIDIA A100 MIG 3g.20gb", "MIG-1111", None, 20000 * MIB, 19000 * MIB),
    FakeCard("NVIDIA A100 MIG 1g.5gb", "MIG-2222", None, 4864 * MIB, 4800 * MIB),
]
CUT = FakeCard("NVIDIA A100", "GPU-dddd", (8, 0), 40960 * MIB, 1 * MIB, mig=1, slices=SLICES)


@pytest.mark.parametrize(
    ("variables", "vram"),
    [
        ({}, 20000),
        ({"CUDA_VISIBLE_DEVICES": "0"}, 20000),
        ({"CUDA_VISIBLE_DEVICES": "MIG-2222"}, 4864),
        ({"CUDA_VISIBLE_DEVICES": "MIG-22,MIG-11"}, 4864),
        ({"CUDA_VISIBLE_DEVICES": "GPU-dddd"}, 20000),
    ],
)
def test_a_card_cut_into_slices_shows_one(see: Probe, variables: dict[str, str], vram: int) -> None:
    found = see(FakeNvml([CUT]), **variables)
    assert (found.facts["gpu.count"], found.facts["gpu.capability"], found.facts["gpu.vram_mib"]) == (1, "8.0", vram)
    assert found.why == {}


def test_an_unknown_slice_is_none(see: Probe) -> None:
    assert see(FakeNvml([CUT]), CUDA_VISIBLE_DEVICES="MIG-9999").facts["gpu.count"] == 0


def test_cut_and_whole_cards_together_are_unknown_unless_named(see: Probe) -> None:
    found = see(FakeNvml([CUT, NEW]))
    assert found.facts["gpu.count"] is None
    assert "CUDA_VISIBLE_DEVICES" in found.why["gpu.count"]
    assert found.facts["gpu.vram_mib"] is None
    assert see(FakeNvml([CUT, NEW]), CUDA_VISIBLE_DEVICES="GPU-cccc").facts["gpu.vram_mib"] == 32607


def test_mig_on_without_slices_is_not_the_whole_card(see: Probe) -> None:
    found = see(FakeNvml([FakeCard(mig=1)]))
    assert found.facts["gpu.vram_mib"] is None
    assert "MIG" in found.why["gpu.vram_mib"]
    assert found.facts["gpu.capability"] == "8.6"


def test_the_cpu_build_runs_on_the_cpu_beside_a_card(see: Probe, package: Callable[..., object]) -> None:
    package("vllm", "0.31.0+cpu")
    found = see(FakeNvml([FakeCard()]))
    assert (found.facts["device"], found.facts["gpu.count"]) == ("cpu", 1)
