"""measure --into: what is written is read as `check` reads it, and what would not load is not written."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from resolver.compile import open_resolver
from resolver.measure import into
from resolver.measure.into_record import item_of, note_of, shorter
from resolver.measure.into_splice import add
from resolver.measure.measurement import Measurement
from resolver.measure.setup import hash_of
from resolver.serving.errors import LaunchError
from resolver.yaml12 import parse
from tests.explain.requests import ask
from tests.measure.into_records import ARM, ROOT, added, on, records, speed


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / "profiles.yaml", tmp_path / "profiles.yaml"))


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
