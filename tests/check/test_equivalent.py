"""Two sets of rules compared: each change is found with a request that the two really treat differently, and no change where there is none."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resolver.analysis.equivalent import Change, compare
from resolver.analysis.revision import at, load
from resolver.compile import open_resolver, product_root
from resolver.diagnostics import UsageError
from tests.check import base

PLANTS: dict[str, tuple[Callable[[base.Data], Any], set[tuple[str, str]]]] = {
    "a-new-guard": (
        lambda d: d["guards"].__setitem__("new", base.guard("no", {"ctx": "long", "seqs": "> 9"}, [{"ctx": "huge"}], [{"ctx": "fast"}])),
        {("newly-refused", "new")},
    ),
    "a-guard-gone": (lambda d: d["guards"].pop("small-gpu"), {("newly-accepted", "small-gpu")}),
    "a-bound-moved": (
        lambda d: d["guards"]["drafts-at-huge"]["when"].__setitem__("num_drafts", "> 14"),
        {("newly-refused", "drafts-at-huge")},
    ),
    "a-bound-moved-back": (
        lambda d: d["guards"]["small-gpu"]["when"].__setitem__("gpu.vram_mib", "< 7999"),
        {("newly-accepted", "small-gpu")},
    ),
    "a-value": (lambda d: d["settings"]["max_num_seqs"]["first"][2].__setitem__("value", 5), {("changed", "max_num_seqs")}),
    "rows-swapped": (
        lambda d: d["settings"]["max_num_seqs"]["first"].reverse() or d["settings"]["max_num_seqs"]["first"].append(d["settings"]["max_num_seqs"]["first"].pop(0)),
        {("changed", "max_num_seqs")},
    ),
    "a-warning": (
        lambda d: d["guards"]["seqs-at-huge"]["when"].__setitem__("max_num_seqs", "> 11"),
        {("said-now", "seqs-at-huge")},
    ),
    "a-note-gone": (lambda d: d["guards"].pop("on-cpu"), {("said-before", "on-cpu")}),
    "a-window": (lambda d: d["guards"]["triton-since-32"].__setitem__("since", "0.31.0"), {("said-now", "triton-since-32")}),
    "an-arm": (lambda d: d["arms"]["huge"]["when"].__setitem__("gpu.capability", ["8.6", "9.0"]), {("newly-refused", "no-arm")}),
    "an-arm-in-an-empty-cell": (
        lambda d: d["arms"]["huge-flash"]["when"].__setitem__("gpu.capability", ["8.6", "9.0"]),
        {("newly-accepted", "no-arm")},
    ),
    "a-value-of-a-knob": (lambda d: d["knobs"]["spec"]["allowed"].remove("off"), {("newly-refused", "spec=off")}),
    "a-wider-knob": (lambda d: d["knobs"]["drafts"].__setitem__("maximum", 128), {("newly-accepted", "drafts=65")}),
    "a-default": (lambda d: d["knobs"]["drafts"].__setitem__("default", "5"), {("changed", "drafts")}),
    "a-new-knob": (lambda d: d["knobs"].__setitem__("more", {"type": "switch", "help": "x"}), {("newly-accepted", "more")}),
    "arithmetic": (
        lambda d: d["settings"]["verified"]["first"][0].__setitem__("value", "= max_num_seqs * (num_drafts + 2)"),
        {("changed", "verified")},
    ),
}  # fmt: skip

SAME: dict[str, Callable[[base.Data], Any]] = {
    "nothing": lambda d: None,
    "order-of-guards": lambda d: d.__setitem__("guards", dict(reversed(list(d["guards"].items())))),
    "said-otherwise": lambda d: d["guards"]["small-gpu"].__setitem__("when", {"gpu.vram_mib": "<= 7999"}),
    "a-row-that-changes-nothing": lambda d: d["settings"]["max_model_len"]["first"].insert(2, {"when": {"spec": "mtp"}, "value": 50000}),
    "a-guard-that-changes-nothing": lambda d: d["guards"].__setitem__("new", base.guard("no", {"ctx": "huge", "drafts": "> 20", "spec": "mtp"}, [{"ctx": "huge"}], [{"ctx": "fast"}])),
}  # fmt: skip


def pair(folder: Path, plant: Callable[[base.Data], Any]) -> list[Change]:
    (folder / "old").mkdir()
    (folder / "new").mkdir()
    base.write(folder / "old", base.clean())
    data = base.clean()
    plant(data)
    base.write(folder / "new", data)
    return compare(load(folder / "old"), load(folder / "new"))


@pytest.mark.parametrize("name", PLANTS)
def test_a_change_is_found(name: str, tmp_path: Path) -> None:
    plant, wanted = PLANTS[name]
    found = pair(tmp_path, plant)
    assert wanted <= {(c.kind, c.rule) for c in found}, [c.as_json() for c in found]
    refusals = {c for c, _ in {(c.kind, c.rule) for c in found} if c.startswith("newly")}
    assert refusals == {c for c, _ in wanted if c.startswith("newly")}


def test_a_new_arm_is_one_change_whatever_else_is_said_in_its_cell(tmp_path: Path) -> None:
    """Its notes are no change of a launch that was there before, and what also refused there is no change of its own."""

    def plant(data: base.Data) -> None:
        data["arms"]["huge-flash"]["when"]["gpu.capability"] = ["8.6", "9.0"]

    def with_more(data: base.Data) -> None:
        fires = {"ctx": "huge", "backend": "FLASH", "with": {"gpu": {"capability": "8.6"}}}
        when = {"ctx": "huge", "backend": "FLASH", "gpu.capability": "8.6"}
        armless, armed = {**when, "arm": {"not": "huge-flash"}}, {**when, "arm": "huge-flash"}
        data["guards"]["said-there"] = base.guard("slow", armed, [fires], [{"ctx": "huge"}], "note")
        data["guards"]["refused-without-an-arm"] = base.guard("no", armless, [fires], [{"ctx": "huge"}])

    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    for name, plants in (("old", (with_more,)), ("new", (with_more, plant))):
        data = base.clean()
        for one in plants:
            one(data)
        base.write(tmp_path / name, data)
    found = compare(load(tmp_path / "old"), load(tmp_path / "new"))
    assert [(c.kind, c.rule) for c in found] == [("newly-accepted", "no-arm")], [c.as_json() for c in found]


@pytest.mark.parametrize("name", SAME)
def test_no_change_is_made_up(name: str, tmp_path: Path) -> None:
    assert [c.as_json() for c in pair(tmp_path, SAME[name])] == []


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped rules in a repository of their own, with one commit."""
    root = tmp_path_factory.mktemp("product")
    shutil.copytree(product_root() / "rules", root / "rules")
    shutil.copy(product_root() / "profiles.yaml", root)
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "rules"], check=True)
    return root


def test_the_shipped_rules_equal_themselves_at_a_revision(copied: Path) -> None:
    with at(copied, "HEAD") as old:
        assert [c.as_json() for c in compare(old, open_resolver())] == []


def test_a_change_of_the_shipped_rules_is_found(copied: Path) -> None:
    path = copied / "rules" / "attention.yaml"
    text = path.read_text(encoding="utf-8")
    with at(copied, "HEAD") as old:
        path.write_text(
            text.replace('fa2_fp8kv: "on", pth_fa: "on"', 'fa2_fp8kv: "on", pth_fa: "off"'), encoding="utf-8"
        )
        try:
            found = compare(old, load(copied))
        finally:
            path.write_text(text, encoding="utf-8")
    kinds = {(c.kind, c.rule) for c in found}
    assert ("newly-refused", "fa2-beside-pth") in kinds


@pytest.mark.parametrize("revision", ["no-such-revision", "--output=/tmp/x"])
def test_a_revision_that_is_not_there(copied: Path, revision: str) -> None:
    with pytest.raises(UsageError), at(copied, revision):
        pass
