"""The functions that find facts, on a faked system: files under a folder of the test, programs on its PATH."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path

import pytest

from resolver.doctor import facts_gpu, facts_host, facts_model
from resolver.doctor.finding import Launch, Scene
from resolver.doctor.gather import questions, scene
from resolver.doctor.mends import mend
from resolver.serving.probes.basis import Unknown, World

LAUNCH = Launch()


@pytest.fixture
def world(tmp_path: Path) -> World:
    for folder in ("proc", "dev/shm", "bin", "root", "home"):
        (tmp_path / folder).mkdir(parents=True)
    return World(tmp_path / "root", {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}, tmp_path)


def program(world: World, name: str, text: str) -> None:
    path = world.system / "bin" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


SMI = """case "$*" in
*compute-apps*) printf '4242, /usr/bin/python3, 4200\\n77, C:\\\\x\\\\game.exe, [N/A]\\n';;
*display_active*) echo Disabled; echo Enabled;;
*power.limit*) echo '220.00, 350.00'; echo '[N/A], [N/A]';;
*query-gpu=name*) echo 'NVIDIA GeForce RTX 3090'; echo 'NVIDIA T400';;
topo*) printf '\\tGPU0\\tGPU1\\tGPU2\\tCPU Affinity\\nGPU0\\t X \\tPHB\\tNV4\\t0-7\\nGPU1\\tPHB\\t X \\tSYS\\t0-7\\nGPU2\\tNV4\\tSYS\\t X \\t0-7\\n';;
esac"""


def test_the_driver(world: World) -> None:
    program(world, "nvidia-smi", SMI)
    assert facts_gpu.processes(world) == [(4242, "python3", 4200), (77, "game.exe", 0)]
    assert facts_gpu.display(world) is True
    assert facts_gpu.power(world) == [(220.0, 350.0)]
    assert facts_gpu.names(world) == ["NVIDIA GeForce RTX 3090", "NVIDIA T400"]
    assert facts_gpu.far_links(world) == ["GPU0-GPU1 PHB", "GPU1-GPU2 SYS"]


def test_without_a_driver_all_is_unknown(world: World) -> None:
    for question in facts_gpu.QUESTIONS.values():
        with pytest.raises(Unknown):
            question(world)


def test_memory_and_virtual_machine(world: World) -> None:
    world.at("/proc/meminfo").write_text("MemTotal:       16281004 kB\nMemAvailable:    8000000 kB\n")
    world.at("/proc/cpuinfo").write_text("processor : 0\nflags\t: fpu sse hypervisor avx\n")
    assert facts_host.memory_mib(world, LAUNCH) == 15899
    assert facts_host.available_mib(world, LAUNCH) == 7812
    assert facts_host.virtual_machine(world, LAUNCH) is True
    world.at("/proc/cpuinfo").write_text("flags\t: fpu sse\n")
    assert facts_host.virtual_machine(world, LAUNCH) is False


def test_regions(world: World) -> None:
    assert facts_host.stale_regions(world, LAUNCH) == []
    for name in ("vllm_offload_a.mmap", "vllm_offload_b.mmap", "psm_other"):
        world.at(f"/dev/shm/{name}").write_text("x")
    with pytest.raises(Unknown):
        facts_host.stale_regions(world, LAUNCH)
    (world.at("/proc") / "12").mkdir()
    used = world.at("/dev/shm/vllm_offload_b.mmap")
    (world.at("/proc") / "12" / "maps").write_text(f"7f0-7f1 rw-s 00000000 00:00 0  {used}\n")
    assert facts_host.stale_regions(world, LAUNCH) == ["vllm_offload_a.mmap"]
    assert mend(world, Scene({}), ["remove_regions"]) == ["removed vllm_offload_a.mmap from /dev/shm"]
    assert sorted(os.listdir(world.at("/dev/shm"))) == ["psm_other", "vllm_offload_b.mmap"]


def test_disk_and_compile_cache(world: World) -> None:
    assert facts_host.disk_free_bytes(world, LAUNCH) > 0
    assert facts_host.compile_cache(world, LAUNCH) is False
    (facts_host.cache_folder(world) / "torch_compile_cache" / "abc").mkdir(parents=True)
    assert facts_host.compile_cache(world, LAUNCH) is True
    assert facts_host.cache_folder(World(world.root, {"VLLM_CACHE_ROOT": "/x"})) == Path("/x")


def test_the_port(world: World) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert facts_host.port_taken(world, Launch(address="0.0.0.0", port=port)) is True
    assert facts_host.port_taken(world, Launch(port=port)) is False
    with pytest.raises(Unknown):
        facts_host.port_taken(world, Launch())


def test_line_ends_are_found_and_mended(world: World) -> None:
    env = world.root / "server.env"
    env.write_bytes(b"A=1\r\nB=2\r\n")
    env.chmod(0o640)
    (world.root / "fine.env").write_bytes(b"A=1\n")
    names = facts_host.crlf_files(world, LAUNCH)
    assert names == [str(env)]
    assert mend(world, Scene({"crlf_files": names}), ["unix_line_ends"]) == [f"wrote {env} with Unix line ends"]
    assert (env.read_bytes(), stat.S_IMODE(env.stat().st_mode)) == (b"A=1\nB=2\n", 0o640)
    assert facts_host.crlf_files(world, LAUNCH) == []


def test_the_key_file_is_closed_and_never_read(world: World) -> None:
    assert facts_host.key_file_mode(world, LAUNCH) is None
    key = world.root / "api_key.txt"
    key.write_text("sk-planted")
    key.chmod(0o644)
    assert facts_host.key_file_mode(world, LAUNCH) == 0o644
    assert mend(world, Scene({}), ["close_key_file"]) == ["api_key.txt is now readable for its owner only"]
    assert facts_host.key_file_mode(world, LAUNCH) == 0o600


def test_a_mend_that_cannot_be_done_says_so(world: World) -> None:
    assert mend(world, Scene({}), ["close_key_file"]) == ["could not do close key file: No such file or directory"]


def test_other_engines(world: World) -> None:
    assert facts_host.other_engines(world, LAUNCH) == []
    program(world, "vllm", "")
    shadow = world.system / "src"
    (shadow / "vllm").mkdir(parents=True)
    (shadow / "vllm" / "__init__.py").write_text("")
    there = World(world.root, {**world.environ, "PYTHONPATH": f"{shadow}{os.pathsep}/none"}, world.system)
    assert facts_host.other_engines(there, LAUNCH) == [str(world.system / "bin/vllm"), str(shadow / "vllm")]


def test_the_engines_own_program_on_path_is_no_other(world: World) -> None:
    own = world.root / "venv" / "bin"
    own.mkdir(parents=True)
    (own / "vllm").write_text("#!/bin/sh\n")
    (own / "vllm").chmod(0o755)
    assert facts_host.other_engines(World(world.root, {"PATH": str(own)}, world.system), LAUNCH) == []


def weights(path: Path, cut: int = 0) -> None:
    """A safetensors file of one tensor of 64 bytes, with `cut` bytes missing at its end."""
    header = json.dumps(
        {"__metadata__": {"a": "b"}, "w": {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}}
    ).encode()
    whole = len(header).to_bytes(8, "little") + header + bytes(64)
    path.write_bytes(whole[: len(whole) - cut])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "model"
    place.mkdir()
    (place / "config.json").write_text("{}")
    (place / "tokenizer.json").write_text("{}")
    weights(place / "model.safetensors")
    return place


def test_a_whole_model(folder: Path, world: World) -> None:
    assert facts_model.faults(folder) == []
    assert facts_model.model(world, Launch(model=str(folder))) == {"there": True, "faults": [], "tokenizer": True}
    assert facts_model.model(world, Launch(model="Qwen/some-model")) is None
    assert facts_model.draft(world, Launch(draft=str(folder / "none"))) == {
        "there": False,
        "faults": [],
        "tokenizer": False,
    }


def test_what_is_broken_in_a_model(folder: Path) -> None:
    path = folder / "model.safetensors"
    size = path.stat().st_size
    weights(path, cut=10)
    assert facts_model.faults(folder) == [f"model.safetensors has {size - 10:,} of {size:,} bytes"]
    weights(path, cut=size - 20)
    assert facts_model.weight_fault(path) == "is cut short"
    path.write_bytes(b"")
    assert facts_model.weight_fault(path) == "is empty"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    assert facts_model.weight_fault(path) == "is a git-lfs pointer, not weights"
    path.write_bytes((4).to_bytes(8, "little") + b"nope" + bytes(64))
    assert facts_model.weight_fault(path) == "has a header that cannot be read"
    path.unlink()
    assert facts_model.faults(folder) == ["there are no weights"]
    (folder / "model-1.safetensors.incomplete").write_text("")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"w": "model-1.safetensors"}}))
    assert facts_model.faults(folder) == [
        "model-1.safetensors.incomplete is left of a download",
        "model-1.safetensors is missing",
    ]
    (folder / "config.json").unlink()
    assert facts_model.faults(folder) == ["config.json is missing"]


def test_all_questions_are_asked_and_nothing_stops_them(world: World) -> None:
    asked = questions(world, Launch(model="/none", port=1))
    assert len(asked) > 30
    asked["host.memory_mib"] = lambda: 1 / 0  # type: ignore[assignment,return-value]
    found, why = scene(asked, LAUNCH)
    assert "host.memory_mib" not in found.facts
    assert "ZeroDivisionError" in why["host.memory_mib"]
