"""Provenance: the launch by a hash that no folder, port or key changes, the card by what NVML says, and nothing of the host."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from resolver.compile import product_root
from resolver.measure import provenance_gpu
from resolver.measure.configuration import configuration_hash, portable
from resolver.measure.hardware import cpu_name, hardware_name, platform_of
from resolver.measure.provenance import Provenance, gather
from resolver.measure.provenance_gpu import CardState
from resolver.measure.provenance_here import installed_versions, provenance_here
from resolver.measure.rules_hash import rules_hash
from resolver.measure.setup import hash_of, setup_of
from tests.explain.requests import ask

ROOT = product_root()


def test_the_hash_is_of_the_launch_and_not_of_where_it_listens() -> None:
    base = hash_of(ask("mtp-long"))
    same = [
        ask("mtp-long", "PORT=18021"),
        ask("mtp-long", "HOST=0.0.0.0", VLLM_API_KEY="not-a-real-key"),
        ask("mtp-long", "ENGINE_VENV=/opt/engine"),
        ask("mtp-long", HOME="/home/somebody", PATH="/bin"),
    ]
    assert {hash_of(one) for one in same} == {base}
    others = [
        ask("mtp-fast"),
        ask("mtp-long", "MAX_SEQS=4"),
        ask("mtp-long", "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64"),
        ask("mtp-long", args=("--seed", "7")),
        ask("mtp-long", MODEL="/models/other"),
    ]
    assert len({hash_of(one) for one in others} | {base}) == len(others) + 1
    assert len(base) == 16


@pytest.mark.parametrize("variable", ["VLLM_SPEC_DECODE_ATTN", "PYTORCH_ALLOC_CONF"])
def test_a_knob_that_the_engine_reads_itself_makes_another_launch(variable: str) -> None:
    base = hash_of(ask("mtp-long"))
    typed, inherited = ask("mtp-long", f"{variable}=7"), ask("mtp-long", **{variable: "7"})
    assert hash_of(typed) == hash_of(inherited) != base
    assert hash_of(typed) != hash_of(ask("mtp-long", f"{variable}=8"))
    for one in (typed, inherited):
        assert setup_of(one)["knobs"][variable] == "7"
        assert gather(one, at="2026-12-01T10:00:00Z").environment[variable] == "7"


def test_paths_count_by_their_last_part_also_inside_json() -> None:
    one = ["/a/venv/bin/vllm", "serve", "/a/models/m", "--x=/a/b", "--speculative-config", '{"model":"/a/models/d"}']
    two = ["/c/bin/vllm", "serve", "models/m", "--x=/d/b", "--speculative-config", '{"model": "/e/d"}']
    assert configuration_hash(one, {"CUDA_HOME": "/usr/cuda"}) == configuration_hash(two, {"CUDA_HOME": "/opt/cuda"})
    assert configuration_hash(one, {}) != configuration_hash([*one[:-1], '{"model":"/a/models/e"}'], {})
    assert portable("Qwen/Qwen3") == "Qwen3"


def test_a_short_flag_behind_an_address_counts() -> None:
    plain = ["vllm", "serve", "m", "--port", "8000"]
    assert configuration_hash(plain, {}) == configuration_hash(["vllm", "serve", "m"], {})
    assert configuration_hash([*plain, "-O3"], {}) != configuration_hash(plain, {})
    assert configuration_hash([*plain, "-tp", "2"], {}) != configuration_hash([*plain, "-tp", "4"], {})


def test_what_only_looks_like_a_path_or_json() -> None:
    assert portable("{broken /a") == "{broken /a"


def test_what_is_running_in_the_words_of_figures() -> None:
    assert setup_of(ask("mtp-long", "PORT=18021", "MAX_SEQS=4", MODEL="/home/u/models/mine")) == {
        "ctx": "long",
        "spec": "mtp",
        "backend": "CUSTOM",
        "kv_cache_dtype": "int8_per_token_head",
        "draft_tokens": 3,
        "knobs": {"MAX_SEQS": "4", "MODEL": "mine"},
    }
    assert setup_of(ask("off-fast"))["spec"] == "off"
    assert "knobs" not in setup_of(ask("off-fast"))


def test_nothing_of_host_user_or_key_is_recorded() -> None:
    resolution = ask(
        "dflash2-long",
        "EXTRA_ARGS=--hf-token not-a-real-token --seed 3",
        args=("--api-key", "not-a-real-key", "--download-dir", "/home/somebody/cache"),
        VLLM_API_KEY="not-a-real-variable",
        MODEL="/home/somebody/models/mine",
        HOME="/home/somebody",
    )
    text = json.dumps(gather(resolution).as_json())
    for word in ("not-a-real", "somebody", "/home", str(ROOT)):
        assert word not in text
    assert '"mine"' in text
    assert '"--seed"' in text


def test_it_comes_back_from_json_and_unknown_stays_unknown() -> None:
    full = gather(
        ask("dflash2-long"), engine="0.31.0+cu129", card=CardState(250, {"sm_mhz": 1800}, "580.1"), rules="ab"
    )
    assert Provenance.from_json(json.loads(json.dumps(full.as_json()))) == full
    assert (full.engine, full.power_cap_w, full.driver, full.hardware) == ("0.31.0", 250, "580.1", "RTX 3090 24 GB")
    bare = gather(None, engine="0.31.0")
    assert Provenance.from_json(bare.as_json()) == bare
    assert bare.hardware is bare.configuration is bare.power_cap_w is None
    assert Provenance.from_json({**full.as_json(), "of_a_later_version": 1}) == full


@pytest.mark.parametrize(
    ("facts", "gpus", "name"),
    [
        ({"gpu.name": "NVIDIA GeForce RTX 3090", "gpu.vram_mib": 24576}, 1, "RTX 3090 24 GB"),
        ({"gpu.name": "NVIDIA GeForce RTX 4090", "gpu.vram_mib": 24564}, 1, "RTX 4090 24 GB"),
        ({"gpu.name": "NVIDIA GeForce RTX 3080", "gpu.vram_mib": 20480}, 2, "2x RTX 3080 20 GB"),
        ({"gpu.name": "NVIDIA GeForce RTX 4080 SUPER", "gpu.vram_mib": 32760}, 1, "RTX 4080 Super 32 GB"),
        ({"gpu.name": "NVIDIA H200", "gpu.vram_mib": 143771}, 1, "H200 140 GB"),
        ({"gpu.name": "NVIDIA H200"}, 1, "H200"),
        ({}, 1, None),
    ],
)
def test_the_card_has_the_name_that_figures_use(facts: dict[str, Any], gpus: int, name: str | None) -> None:
    assert hardware_name(facts, gpus, ("RTX 3090 24 GB", "RTX 4080 Super 32 GB")) == name


def test_a_processor_is_hardware_too(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text("model name\t: Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz\n")
    name = cpu_name(tmp_path)
    assert name is not None
    assert name.startswith("Intel Xeon E5-2680 v4 (")
    assert cpu_name(tmp_path / "nowhere") is None
    assert platform_of({"wsl": True, "container": False}) == "wsl2"
    assert platform_of({"wsl": False}) is None


class Nvml:
    """NVML over cards of (name, power cap in mW, SM clock); None makes the call fail."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2

    def __init__(self, *cards: tuple[str, int | None, int | None]) -> None:
        self.cards = cards

    def __getattr__(self, name: str) -> Any:
        def give(value: Any) -> Any:
            if value is None:
                raise RuntimeError("Not Supported")
            return value

        answers = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetCount": lambda: len(self.cards),
            "nvmlDeviceGetHandleByIndex": lambda i: self.cards[i],
            "nvmlDeviceGetName": lambda card: card[0],
            "nvmlDeviceGetEnforcedPowerLimit": lambda card: give(card[1]),
            "nvmlDeviceGetClockInfo": lambda card, kind: give(card[2] if kind == 1 else None),
            "nvmlSystemGetDriverVersion": lambda: b"580.95.05",
        }
        if name not in answers:
            raise AttributeError(name)
        return answers[name]


def test_power_cap_and_clocks_of_the_card_in_use() -> None:
    nvml = Nvml(("RTX 3090", 250000, 1695), ("T400", 30000, 300))
    assert provenance_gpu.read("RTX 3090", nvml=nvml) == CardState(250, {"sm_mhz": 1695}, "580.95.05")
    unlike = Nvml(("RTX 3090", 250000, 1695), ("RTX 3090", 350000, 1695))
    assert provenance_gpu.read("RTX 3090", nvml=unlike) == CardState(None, {"sm_mhz": 1695}, "580.95.05")
    assert provenance_gpu.read("RTX 3090", nvml=Nvml(("RTX 3090", None, None))) == CardState(driver="580.95.05")
    assert provenance_gpu.read(None, nvml=nvml) == CardState()


def test_a_driver_that_hangs_or_fails_is_unknown() -> None:
    import time

    slow = SimpleNamespace(nvmlInit=lambda: time.sleep(2))
    assert provenance_gpu.read("X", wait=0.05, nvml=slow) == CardState()
    assert provenance_gpu.read("X", nvml=SimpleNamespace()) == CardState()


def test_versions_of_plugins_are_read_off_the_engines_environment(tmp_path: Path) -> None:
    packages = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    for name in ("splitverify-0.2.0", "pth_flash_attn-1.4", "vllm-0.31.0"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
        (packages / f"{name}.dist-info" / "METADATA").write_text("")
    found = installed_versions(tmp_path, {})
    assert found == {"pth_flash_attn": "1.4", "splitverify": "0.2.0"}
    assert installed_versions(tmp_path, {"ENGINE_VENV": "elsewhere"}) == {}


def test_rules_change_the_hash_and_evidence_does_not(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    for path in (ROOT / "rules").glob("*.yaml"):
        shutil.copy(path, tmp_path / "rules")
    profiles = (ROOT / "profiles.yaml").read_text()
    (tmp_path / "profiles.yaml").write_text(profiles)
    base = rules_hash(tmp_path, None)
    assert base == rules_hash(ROOT, None)
    (tmp_path / "profiles.yaml").write_text(profiles.replace("l-mtp-fast-default, ", "") + "# a comment\n")
    assert rules_hash(tmp_path, None) == base
    (tmp_path / "profiles.yaml").write_text(profiles.replace("kv_cache_dtype: bfloat16", "kv_cache_dtype: fp8", 1))
    assert rules_hash(tmp_path, None) != base
    (tmp_path / "profiles.yaml").write_text(profiles)
    with open(tmp_path / "rules" / "memory.yaml", "a") as file:
        file.write("# changed\n")
    assert rules_hash(tmp_path, None) != base


def test_what_is_known_of_the_engine_changes_the_hash_and_other_engines_do_not(tmp_path: Path) -> None:
    """What an engine reads decides what is left out of a launch."""
    shutil.copytree(ROOT / "rules", tmp_path / "rules")
    shutil.copy(ROOT / "profiles.yaml", tmp_path)
    plain, patched, both = "0.31.0", "0.31.0+hyperqwen-0.31", "0.31.0+splitverify+hyperqwen-0.31"

    def hashes() -> list[str]:
        return [rules_hash(tmp_path, name) for name in (plain, patched, both)]

    base = hashes()
    assert len({*base, rules_hash(tmp_path, None)}) == 4
    assert rules_hash(tmp_path, "0.31.0+hyperqwen-0.31+splitverify") == base[2], "the order of overlays says nothing"
    assert rules_hash(tmp_path, "9.9.9") == rules_hash(tmp_path, None), "of an unknown engine nothing is known"
    engines = tmp_path / "rules" / "engines"
    shutil.copy(engines / "vllm-0.33.0.json", engines / "vllm-0.34.0.json")
    (engines / "vllm-0.30.0.json").write_text("{}")
    assert hashes() == base, "another version makes nothing stale"
    with open(engines / "overlays" / "splitverify.yaml", "a") as file:
        file.write("# changed\n")
    assert [now == then for now, then in zip(hashes(), base, strict=True)] == [True, True, False]
    with open(engines / "vllm-0.31.0.json", "a") as file:
        file.write("\n")
    assert not set(hashes()) & set(base)


def test_all_of_it_on_this_machine(tmp_path: Path) -> None:
    found = provenance_here(ask("mtp-long"), ROOT, {"ENGINE_VENV": str(tmp_path)}, at="2026-12-01T10:00:00Z")
    assert found.arm == "mtp-long-custom-int8"
    assert found.rules == rules_hash(ROOT, ask("mtp-long").engine.name)
    assert found.configuration == hash_of(ask("mtp-long"))
    assert found.date == "2026-12-01"
    elsewhere = provenance_here(None, ROOT, {}, engine="0.31.0", local=False)
    assert (elsewhere.engine, elsewhere.plugins, elsewhere.hardware) == ("0.31.0", {}, None)
