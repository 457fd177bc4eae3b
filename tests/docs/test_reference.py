"""The pages and tables that are made from data say what the data say now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from resolver.compile import open_resolver
from resolver.diagnostics import RulesError
from resolver.machines import names
from resolver.views.evidence import load_evidence
from resolver.views.reference import __main__ as reference
from resolver.views.reference import blocks
from resolver.views.reference.findings import CHECKS
from resolver.views.reference.knobs import OWN
from resolver.views.reference.links import FOLDER, Links

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wanted() -> dict[str, str]:
    resolver = open_resolver()
    return dict(reference.pages(resolver)) | dict(blocks.pages(resolver))


def test_nothing_is_out_of_date(wanted: dict[str, str]) -> None:
    assert reference.stale(ROOT, wanted) == [], "run make reference"


def test_a_change_is_noticed(wanted: dict[str, str], tmp_path: Path) -> None:
    for name, text in wanted.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert reference.stale(tmp_path, wanted) == []
    page = tmp_path / FOLDER / "arms.md"
    page.write_text(page.read_text(encoding="utf-8").replace("MTP", "mtp"), encoding="utf-8")
    (tmp_path / FOLDER / "old.md").write_text("# Old\n", encoding="utf-8")
    assert reference.stale(tmp_path, wanted) == [f"{FOLDER}/arms.md", f"{FOLDER}/old.md"]


def test_everything_has_its_place(wanted: dict[str, str]) -> None:
    """Each profile, arm, knob, guard, setting, machine and figure stands where links to it lead."""
    resolver = open_resolver()
    links = Links(resolver, load_evidence(resolver.root))
    rules = resolver.rules
    things = {
        "profile": rules.profiles,
        "arm": rules.arms,
        "knob": [knob.env for knob in rules.knobs.values()],
        "guard": rules.guards,
        "setting": [name for name in rules.settings if name != "arm"],
        "machine": names(resolver.root),
        "figure": links.evidence.figures,
    }
    for kind, all_names in things.items():
        for name in all_names:
            page, _, _ = links.places[kind, name].partition("#")
            assert f"`{name}`" in wanted[f"{FOLDER}/{page}"], (kind, name)


def test_every_guard_says_its_reason_and_fix(wanted: dict[str, str]) -> None:
    shown = {name: re.sub(r"\\(.)", r"\1", text) for name, text in wanted.items()}
    for guard in open_resolver().rules.guards.values():
        page = shown[f"{FOLDER}/rules/{Path(guard.position.file).stem}.md"]
        assert re.sub(r"\\(.)", r"\1", guard.reason) in page, guard.id
        assert guard.fix is None or re.sub(r"\\(.)", r"\1", guard.fix) in page, guard.id


def test_every_finding_of_doctor_is_in_troubleshooting(wanted: dict[str, str]) -> None:
    page = wanted["docs/troubleshooting.md"]
    for module in CHECKS:
        source = (ROOT / "resolver" / "doctor" / f"{module}.py").read_text(encoding="utf-8")
        for name in re.findall(r'Finding\(\s*"([a-z-]+)"', source):
            assert f"`{name}`" in page, name


def test_every_variable_that_is_read_is_listed() -> None:
    resolver = open_resolver()
    known = set(OWN) | {knob.env for knob in resolver.rules.knobs.values()}
    known |= set(resolver.engine("0.31.0+splitverify").variables)  # the engine's own, which its refusals rest on
    read = set()
    for path in (ROOT / "resolver").rglob("*.py"):
        read |= set(re.findall(r'environ(?:\.get\(|\[)\s*"([A-Z_0-9]+)"', path.read_text(encoding="utf-8")))
    assert sorted(read - known) == []
    assert len(read) > 10


def test_a_block_without_markers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(blocks.BLOCKS, "CHANGELOG.md", {"none": lambda _: ["x"]})
    with pytest.raises(RulesError, match=r"CHANGELOG\.md has no block none"):
        dict(blocks.pages(open_resolver()))


def test_the_readme_has_no_badge() -> None:
    assert "![" not in (ROOT / "README.md").read_text(encoding="utf-8")
