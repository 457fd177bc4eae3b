"""measure --into: the evidence of one arm grows, every other byte stays, and only what was measured on that launch gets there."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from resolver.compile import open_resolver, product_root
from resolver.measure import into, ledger
from resolver.measure.flow import flow
from resolver.measure.into_record import item_of, note_of, shorter
from resolver.measure.into_running import running_configuration
from resolver.measure.into_server import confirm, differences
from resolver.measure.into_splice import NoPlace, add
from resolver.measure.measurement import Measurement
from resolver.measure.provenance import CardState, Provenance, gather
from resolver.measure.setup import hash_of
from resolver.serving.client import Client
from resolver.serving.errors import LaunchError
from resolver.yaml12 import parse
from tests.explain.requests import ask

ROOT = product_root()
ARM = "mtp-long-fp8"


def speed(value: float = 68.123456, **more: Any) -> Measurement:
    parts: dict[str, Any] = {
        "n": 5,
        "low": 67.5,
        "high": 69.0,
        "spread": "min-max",
        "conditions": {"context": 112000, "streams": 1, "seed": 7, "corpus": "v1: x", "cache_state": "cold prompt"},
        "method": "decode",
        "notes": ("mean 68.2",),
    }
    return Measurement("decode_tok_s", value, "tok/s", **{**parts, **more})


def on(*words: str, profile: str = "mtp-long", **more: Any) -> Provenance:
    card = CardState(250, {"sm_mhz": 1695}, "580.95.05")
    found = gather(ask(profile, *(words or ("PTH_FA=0",))), card=card, rules="0" * 16, at="2026-12-01T10:00:00Z")
    return replace(found, **more)


def records(folder: Path, provenance: Provenance, *measurements: Measurement) -> list[ledger.Record]:
    return ledger.append(folder / "figures.jsonl", measurements or [speed()], provenance)


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / "profiles.yaml", tmp_path / "profiles.yaml"))


def added(before: bytes, after: bytes) -> bytes:
    """The one piece that was put in; fails when anything else differs."""
    start = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    rest = len(before) - start
    assert after[len(after) - rest :] == before[start:]
    return after[start : len(after) - rest]


def test_only_the_evidence_of_that_arm_changes(profiles: Path, tmp_path: Path) -> None:
    before = profiles.read_bytes()
    (record,) = records(tmp_path, on())
    assert into.write(profiles, ARM, [record]) == [record.id]
    after = profiles.read_bytes()
    piece = added(before, after).decode()
    assert piece.count("\n") == 2
    assert record.id in piece
    old, new = yaml.safe_load(before), yaml.safe_load(after)
    (item,) = new["arms"][ARM].pop("evidence")
    assert new == old
    assert item["value"] == 68.123
    assert item["hardware"] == "RTX 3090 24 GB"
    assert item["provenance"]["configuration"] == hash_of(ask("mtp-long", "PTH_FA=0"))


def test_more_of_it_goes_behind_and_the_same_again_changes_nothing(profiles: Path, tmp_path: Path) -> None:
    first, second = records(tmp_path, on(), speed(), speed(70))
    into.write(profiles, ARM, [first])
    before = profiles.read_bytes()
    assert into.write(profiles, ARM, [first]) == []
    assert profiles.read_bytes() == before
    assert into.write(profiles, ARM, [first, second]) == [second.id]
    assert added(before, profiles.read_bytes()).decode().count("\n") == 1
    ids = [item["id"] for item in yaml.safe_load(profiles.read_bytes())["arms"][ARM]["evidence"]]
    assert ids == [first.id, second.id]


def test_arms_of_the_matrix_can_be_added_to() -> None:
    text = (ROOT / "profiles.yaml").read_text()
    item = {"id": "x", "metric": "ratio", "value": 1}
    arms = list(yaml.safe_load(text)["arms"])
    for arm in [*arms[::7], arms[-1]]:
        new, start, end = add(text, arm, [item])
        assert new[:start] + new[end:] == text
        expected = parse(text, "p").data
        expected["arms"][arm]["evidence"] = [*expected["arms"][arm].get("evidence", []), item]
        assert parse(new, "p").data == expected, arm


LAYOUTS = {
    "block": "arms:\n  a:\n    help: x\n    sets: {b: c}  # why\n\n    # about examples\n    examples: {}\n  z: {help: y}\n",
    "evidence": "arms:\n  a:\n    evidence:\n      - {id: one}  # first\n\n    # after\n    help: x\n",
    "unindented": "arms:\n  a:\n    evidence:\n    - id: one\n      metric: m\n    - {id: two}\n    help: x\n",
    "flow evidence": "arms:\n  a:\n    evidence: [{id: one}, {id: two}]  # both\n    help: x\n",
    "flow with a comma": "arms:\n  a:\n    evidence: [{id: one},\n      {id: two},\n    ]\n    help: x\n",
    "flow arm": "arms:\n  a: {help: x, sets: {b: c}}\n  z: {help: y}\n",
    "flow arm, evidence": "arms: {a: {help: x, evidence: [{id: one}]}, z: {help: y}}\n",
    "no end": "arms:\n  a:\n    help: x\n    sets: {b: c}",
    "no end, evidence": "arms:\n  a:\n    evidence:\n      - {id: one}",
    "windows": "arms:\r\n  a:\r\n    help: x\r\n    sets: {b: c}\r\n    examples: {}\r\n",
    "mark and letters": "\ufeff# \u00e4\U0001f600\narms:\n  a:\n    help: \u00e9\u00e9\n    sets: {b: c}\n",
    "block text": "arms:\n  a:\n    sets:\n      b: |\n        many\n        lines\n\n\n    help: >-\n      x\n\n  z: {help: y}\n",
    "last is text": "arms:\n  a:\n    help: |\n      x\n      y\n\n# end\n",
    "wide": "arms:\n        a:\n                help:   x\n                sets:   {b:   c}   # far\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_keeps_its_bytes(layout: str) -> None:
    text = LAYOUTS[layout]
    items = [{"id": "new", "note": "it's: #1"}, {"id": "newer"}]
    new, start, end = add(text, "a", items)
    assert new[:start] + new[end:] == text
    expected = parse(text, "p").data
    expected["arms"]["a"]["evidence"] = [*expected["arms"]["a"].get("evidence", []), *items]
    assert parse(new, "p").data == expected
    assert new.endswith("\n") == text.endswith("\n")
    if "\r\n" in text:
        assert "\n" not in new.replace("\r\n", "")
    assert parse(add(new, "a", [{"id": "third"}])[0], "p").data["arms"]["a"]["evidence"][-1] == {"id": "third"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arms:\n  b: {help: x}\n", "no arm a"),
        ("arms: []\n", "no arm a"),
        ("arms:\n  a: {help: x, evidence: one}\n", "is no list"),
    ],
)
def test_where_there_is_no_place_nothing_is_guessed(text: str, said: str) -> None:
    with pytest.raises(NoPlace, match=said):
        add(text, "a", [{"id": "x"}])


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(10**9), 10**9)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=4),
        max_leaves=12,
    )
)
def test_one_line_of_yaml_reads_back_in_both_versions(data: Any) -> None:
    text = flow({"a": data})
    assert "\n" not in text
    assert parse(text, "p").data == {"a": data}
    assert yaml.safe_load(text) == {"a": data}


def test_the_product_loads_what_was_written_and_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from resolver.analysis import documents
    from resolver.views.evidence import load_evidence
    from resolver.views.explain_rules import about_arm
    from resolver.views.suggest_cost import cost_of

    monkeypatch.setenv("LAUNCH_CACHE_DIR", "")
    root = tmp_path / "product"
    root.mkdir()
    (root / "rules").symlink_to(ROOT / "rules")
    shutil.copy(ROOT / "profiles.yaml", root)
    arm = "mtp-fast-triton-bf16"
    words = ("ATTENTION_BACKEND=TRITON_ATTN",)
    (record,) = records(tmp_path, on(*words, profile="mtp-fast"), speed(conditions={"context": 16000, "streams": 1}))
    assert not open_resolver().rules.arms[arm].measured
    into.write(root / "profiles.yaml", arm, [record], root)
    resolver = open_resolver(root)
    assert resolver.rules.arms[arm].measured == {"8.6": "RTX 3090 24 GB"}
    assert resolver.rules.arms[arm].figures == (record.id,)
    figure = load_evidence(root).figures[record.id]
    assert (figure.arm, figure.position.file, figure.source) == (arm, "profiles.yaml", "measure")
    resolution = resolver.resolve(ask("mtp-fast", *words).request, ask("mtp-fast").machine)
    assert "arm-not-measured-on-this-gpu" not in [d.rule for d in resolution.diagnostics]
    assert cost_of(resolution).figure == record.id
    assert [f["id"] for f in about_arm(resolution, arm)["figures"]] == [record.id]
    assert list(documents.figures(resolver)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arm": "mtp-fast-triton-bf16"}, "ran on the arm mtp-fast-triton-bf16"),
        ({"arm": None}, "does not say on which arm"),
        ({"hardware": None, "capability": None}, "hardware and capability"),
        ({"engine": None}, "engine"),
    ],
)
def test_a_record_that_is_no_evidence_of_the_arm_is_refused(
    profiles: Path, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    before = profiles.read_bytes()
    (record,) = records(tmp_path, replace(on(), **change))
    with pytest.raises(LaunchError) as caught:
        into.write(profiles, ARM, [record])
    assert said in caught.value.message
    assert caught.value.fix
    assert profiles.read_bytes() == before


@pytest.mark.parametrize(
    ("measurement", "change", "said"),
    [
        (speed(), {"hardware": "RTX 3090 24 GB", "capability": "8.9"}, "8.9"),
        (speed(), {"capability": "7.0", "hardware": "V100 32 GB"}, "7.0"),
        (replace(speed(), metric="smoothness", unit="x"), {}, "'smoothness' is not among the metrics"),
        (replace(speed(), unit="GB"), {}, "not in GB"),
    ],
)
def test_what_would_not_load_is_not_written(
    profiles: Path, tmp_path: Path, measurement: Measurement, change: dict[str, Any], said: str
) -> None:
    before = profiles.read_bytes()
    (record,) = records(tmp_path, replace(on(), **change), measurement)
    with pytest.raises(LaunchError) as caught:
        into.write(profiles, ARM, [record])
    assert said in caught.value.message
    assert "profiles.yaml:" in caught.value.message
    assert profiles.read_bytes() == before


def test_a_broken_or_missing_file_is_named(profiles: Path, tmp_path: Path) -> None:
    (record,) = records(tmp_path, on())
    for content, said in ((b"arms: [\n", "profiles.yaml:2:1"), (b"\xff\xfe", "UTF-8"), (b"arms: {}\n", "no arm")):
        profiles.write_bytes(content)
        with pytest.raises(LaunchError) as caught:
            into.write(profiles, ARM, [record])
        assert said in caught.value.message
        assert profiles.read_bytes() == content
    profiles.unlink()
    with pytest.raises(LaunchError, match="cannot be read"):
        into.write(profiles, ARM, [record])


def test_the_file_keeps_its_mode_and_its_links(profiles: Path, tmp_path: Path) -> None:
    profiles.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(profiles)
    into.write(link, ARM, records(tmp_path, on()))
    assert link.is_symlink()
    assert profiles.stat().st_mode & 0o777 == 0o640
    assert b"evidence:" in profiles.read_bytes()
    assert not list(tmp_path.glob(".profiles*"))


def test_a_change_by_somebody_else_is_not_overwritten(
    profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = into.spliced

    def meanwhile(path: Path, *rest: Any) -> bytes:
        found = real(path, *rest)
        with open(path, "ab") as file:
            file.write(b"# somebody\n")
        return found

    monkeypatch.setattr(into, "spliced", meanwhile)
    with pytest.raises(LaunchError, match="changed meanwhile"):
        into.write(profiles, ARM, records(tmp_path, on()))
    assert profiles.read_bytes() == (ROOT / "profiles.yaml").read_bytes() + b"# somebody\n"
    assert not list(tmp_path.glob(".profiles*"))


def test_a_crash_before_the_file_is_in_place_changes_nothing(
    profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(*_: Any) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(into.os, "replace", no)
    with pytest.raises(LaunchError, match="No space left"):
        into.write(profiles, ARM, records(tmp_path, on()))
    assert profiles.read_bytes() == (ROOT / "profiles.yaml").read_bytes()
    assert not list(tmp_path.glob(".profiles*"))


def test_rules_and_schema_accept_every_part_of_a_record(tmp_path: Path) -> None:
    full = replace(on(), plugins={"splitverify": "0.1.0"}, args=("--seed", "7"), platform="wsl2")
    (record,) = records(tmp_path, full, speed(notes=("long " * 40,)))
    item = item_of(record)
    assert len(item["note"]) <= 80
    assert item["setup"] | {} == {
        "ctx": "long",
        "spec": "mtp",
        "kv_cache_dtype": "fp8",
        "draft_tokens": 3,
        "knobs": {"PTH_FA": "0"},
        "context_tokens": 112000,
        "streams": 1,
    }
    assert item["provenance"]["conditions"] == {"seed": 7, "corpus": "v1: x", "cache_state": "cold prompt"}
    assert (item["power_cap_w"], item["provenance"]["clocks"]) == (250, {"sm_mhz": 1695})


@pytest.mark.parametrize(
    ("value", "text"),
    [(68.123456, 68.123), (0.0123456, 0.012346), (1234567.0, 1234567), (123456.7, 123457), (5.0, 5), (0.0, 0)],
)
def test_numbers_are_shortened_and_never_wrong(value: float, text: float) -> None:
    assert shorter(value) == text
    assert type(shorter(value)) is type(text)


def test_notes_are_cut_between_words() -> None:
    assert note_of(()) is None
    assert note_of(("a", "b")) == "a; b"
    cut = note_of(("word " * 30,))
    assert cut is not None
    assert cut.endswith("word ...")
    assert len(cut) <= 80


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
