"""The editors' schemas are up to date, take every shipped file, complete the names that there are, and mark names and values that are not."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
import yaml

from resolver.compile import open_resolver, product_root
from resolver.yaml12 import read
from tools.editor_schemas import schemas, texts

ROOT = product_root()
SUBJECTS = [
    p
    for p in sorted((ROOT / "rules").glob("*.yaml"))
    if "schema/editor/subject.json" in p.read_text(encoding="utf-8").splitlines()[0]
]


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return schemas(open_resolver())


def errors(schema: Any, data: Any) -> list[str]:
    return [error.message[:200] for error in jsonschema.Draft202012Validator(schema).iter_errors(data)]


def test_the_files_are_up_to_date() -> None:
    stale = [
        p.name for p, text in texts(open_resolver()).items() if not p.exists() or p.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `python -m tools.editor_schemas`"


def test_every_shipped_file_fits_and_names_its_schema(made: dict[str, Any]) -> None:
    assert len(SUBJECTS) >= 10
    for path in SUBJECTS:
        assert errors(made["subject.json"], read(path).data) == [], path.name
    profiles = ROOT / "profiles.yaml"
    assert "rules/schema/editor/profiles.json" in profiles.read_text(encoding="utf-8").splitlines()[0]
    assert errors(made["profiles.json"], read(profiles).data) == []


def test_all_names_complete(made: dict[str, Any]) -> None:
    rules = open_resolver().rules
    names = made["subject.json"]["$defs"]["condition"]["properties"]
    assert {*rules.knobs, *rules.settings, *rules.facts, "not", "any", "all"} <= names.keys()
    assert set(made["profiles.json"]["$defs"]["knobs"]["properties"]) == set(rules.knobs)
    assert "huge" in json.dumps(names["ctx"])
    text = json.dumps(made["subject.json"])
    assert '"dflash2-long"' in text
    assert '"rtx-3090"' in text


GUARD = {
    "refuse": "x",
    "fix": "y",
    "when": {"ctx": "huge"},
    "examples": {"fires": [{"profile": "mtp-fast"}], "silent": [{"ctx": "fast"}]},
}


def with_guard(**changes: Any) -> Any:
    return {"guards": {"g": {**GUARD, **changes}}}


@pytest.mark.parametrize(
    "data",
    [
        with_guard(when={"ctx": "hug"}),
        with_guard(when={"ctxx": "huge"}),
        with_guard(when={"not": {"ctx": {"not": "huge"}, "spek": "mtp"}}),
        with_guard(when={"any": [{"arm": "no-such-arm"}]}),
        with_guard(examples={"fires": [{"profile": "mtp-fest"}], "silent": [{"ctx": "fast"}]}),
        with_guard(examples={"fires": [{"ctx": "quick"}], "silent": [{"ctx": "fast"}]}),
        with_guard(examples={"fires": [{"machine": "rtx-3091"}], "silent": [{"ctx": "fast"}]}),
    ],
)
def test_what_is_wrong_is_marked(made: dict[str, Any], data: Any) -> None:
    assert errors(made["subject.json"], with_guard()) == []
    assert errors(made["subject.json"], data)


def test_profiles_know_the_knobs(made: dict[str, Any]) -> None:
    def profile(**knobs: Any) -> Any:
        arm = {"help": "x", "when": {"ctx": "fast"}, "sets": {"attention_backend": "FLASH_ATTN"}}
        return {"profiles": {"p": {"help": "x", "knobs": knobs}}, "arms": {"a": arm}}

    check: Callable[[Any], list[str]] = lambda data: errors(made["profiles.json"], data)  # noqa: E731
    assert check(profile(ctx="huge")) == []
    assert check(profile(ctx="hug"))
    assert check(profile(ctxx="huge"))


def test_the_hooks_can_be_run() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {hook["id"] for hook in hooks} == {"check-rules", "editor-schemas"}
    for hook in hooks:
        assert {"id", "name", "entry", "language", "files"} <= hook.keys()
        program, *words = shlex.split(hook["entry"])
        assert program == "python"
        extra = ["--check"] if hook["id"] == "editor-schemas" else []
        done = subprocess.run([sys.executable, *words, *extra], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
