"""Explain: every word and variable has a provenance (law 7), the knobs in force replay the launch, and the data follows its schema."""

from __future__ import annotations

import json
import random
import re
from functools import lru_cache
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolver.compile import product_root
from resolver.diagnostics import UsageError
from resolver.masking import mask
from resolver.request import build
from resolver.resolution import Resolution
from resolver.views.explain import explain
from resolver.views.explain_parts import evaluate
from resolver.views.explain_text import show_explanation
from resolver.views.page import PlainPage
from tests.explain.requests import ask, random_request, resolutions, resolver
from tests.golden import cases


@lru_cache(maxsize=1)
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads((product_root() / "rules" / "schema" / "explain.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def checked(data: dict[str, Any]) -> dict[str, Any]:
    """The data as JSON gives it back, after the schema; and shown as text without an error."""
    data = json.loads(json.dumps(data))
    validator().validate(data)
    lines: list[str] = []
    show_explanation(data, PlainPage(lines.append))
    show_explanation(data, PlainPage(lines.append), verbose=True)
    assert lines
    return data


def check_provenance(resolution: Resolution, data: dict[str, Any]) -> None:
    """Law 7."""
    (item,) = data["items"]
    names = item["names"]
    assert [t["text"] for t in item["tokens"]] == mask(resolution.argv)
    for token in item["tokens"]:
        assert token["from"] or token.get("user") or token["text"] in ("serve",), token
        assert re.match(r"rules/render\.yaml:[0-9]+:[0-9]+$", token["entry"])
    changed = {v["name"]: v["value"] for v in item["variables"] if v["action"] == "set" and v["name"] != "VLLM_API_KEY"}
    assert changed.items() >= dict(resolution.rendered.set_variables).items()
    assert {v["name"] for v in item["variables"] if v["action"] == "unset"} == set(resolution.rendered.unset_variables)
    caller = resolution.request.environ if resolution.request.caller is None else resolution.request.caller
    for name, value in resolution.environment().items():
        secret = name == "VLLM_API_KEY"
        assert secret or name in changed or caller.get(name) == value, f"{name} has no provenance"
    for word in (*item["tokens"], *item["variables"], *item["left_out"]):
        assert all(name in names for name in word["from"])
    for about in names.values():
        assert about["kind"] != "setting" or about["row"] or about["value"] is None
        assert about["kind"] == "setting" or about["origin"]


def check_replay(resolution: Resolution, data: dict[str, Any]) -> None:
    """The knobs that explain reports, given back, give the same launch (law 3)."""
    (item,) = data["items"]
    r = resolution.resolver
    caller = resolution.request.environ if resolution.request.caller is None else resolution.request.caller
    plain = {k: v for k, v in caller.items() if k not in r.table.by_variable or k == "VLLM_API_KEY"}
    asked = build(
        r.rules,
        r.table,
        assignments=[(k, v, "given back") for k, v in item["knobs"].items()],
        environ=plain,
        args=resolution.request.args,
    )
    again = r.resolve(asked, resolution.machine, resolution.engine)
    assert again.argv == resolution.argv
    assert again.rendered.set_variables == resolution.rendered.set_variables


def test_every_golden_launch() -> None:
    launches = 0
    for path in sorted(cases.DATA.glob("*.xz")):
        for case in cases.read(path):
            resolution = resolver().resolve(cases.request(resolver(), case), cases.machine(case))
            if resolution.refused:
                continue
            data = explain(resolution)
            if launches % 20 == 0:
                data = checked(data)
            check_provenance(resolution, data)
            if "***" not in str(data["items"][0]["knobs"]):
                check_replay(resolution, data)
            launches += 1
    assert launches > 250


@settings(max_examples=120)
@given(st.integers(0, 2**40))
def test_every_word_has_a_provenance(seed: int) -> None:
    resolution = random_request(random.Random(seed))
    data = checked(explain(resolution)) if seed % 5 == 0 else explain(resolution)
    check_provenance(resolution, data)


def test_every_name_of_the_rules_can_be_explained() -> None:
    rules = resolver().rules
    resolution = ask("dflash2-long", "MAX_SEQS=2", args=("--port", "9"))
    numbered = {o for g in rules.guards.values() for o in g.origins} | {i.origin for i in rules.implementations}
    words = [*rules.settings, *rules.facts, *(k.env for k in rules.knobs.values()), *rules.variables, *rules.guards, *rules.arms, *numbered]  # fmt: skip
    for word in words:
        items = checked(explain(resolution, word))["items"]
        assert items, word
        assert any(word in (i["name"], *i.get("origins", ())) or i["kind"] == "flag" for i in items) or word in numbered


def test_flags_of_the_engine() -> None:
    resolution = ask("dflash2-long", "MAX_SEQS=2", args=("--port", "9", "--seed", "7", "--api-key", "sk-one"))
    seats = explain(resolution, "--max-num-seqs")["items"][0]
    assert seats["words"] == ["--max-num-seqs", "2"]
    assert seats["wins"] == "launcher"
    port = explain(resolution, "--port")["items"][0]
    assert (port["wins"], port["user"], port["words"]) == ("user", ["9"], ["--port", "18020"])
    assert explain(resolution, "--seed")["items"][0]["user"] == ["7"]
    assert explain(resolution, "--revision")["items"][0]["wins"] == "engine's default"
    assert "sk-one" not in json.dumps(explain(resolution)) + json.dumps(explain(resolution, "--api-key"))
    with pytest.raises(UsageError, match="has no flag"):
        explain(resolution, "--no-such-flag-at-all")


def test_what_a_value_beat() -> None:
    resolution = ask("dflash2-long", "MAX_SEQS=2", "CTX=huge", args=("--max-num-seqs", "3"), CTX="fast")
    seats = explain(resolution, "max_num_seqs")["items"][0]
    assert seats["value"] == "2"
    assert seats["inputs"] == [
        {"name": "MAX_SEQS", "kind": "knob", "value": "2", "origin": "argument 1", "state": "given"}
    ]
    assert [b["value"] for b in seats["beat"]] == ["2"]
    assert seats["hidden_by"] == ["--max-num-seqs 3"]
    tier = explain(resolution, "CTX")["items"][0]
    assert tier["origin"] == "argument 2"
    assert [b["value"] for b in tier["beat"]] == ["fast", "long", "fast"]
    assert [b["origin"].split(" ")[0].strip(",") for b in tier["beat"]] == ["environment", "profile", "default"]


def test_a_misspelt_name_gets_the_nearest_one() -> None:
    with pytest.raises(UsageError) as error:
        explain(ask("mtp-fast"), "max_nmu_seqs")
    assert "max_num_seqs" in (error.value.fix or "")


def test_rows_that_were_not_taken_are_evaluated_as_the_compiled_rules_do() -> None:
    """The second opinion on expressions: for rows that won, it gives what the launch has."""
    compared = 0
    for resolution in resolutions(60, seed=31):
        for name in resolution.rules.order:
            row = resolution.winning_row(name)
            if row is not None:
                assert evaluate(resolution, row.value) == resolution.setting(name), name
                compared += 1
    assert compared > 1000


def test_no_secret_in_an_explanation() -> None:
    resolution = ask("mtp-fast", args=("--api-key", "sk-two"), VLLM_API_KEY="sk-one", EXTRA_ARGS="--api-key sk-three")
    for what in (None, "VLLM_API_KEY", "EXTRA_ARGS", "--api-key", "api_key_source", "api-key-on-the-command-line"):
        data = explain(resolution, what)
        lines: list[str] = []
        show_explanation(data, PlainPage(lines.append), verbose=True)
        assert "sk-" not in json.dumps(data) + "".join(lines), what


def test_a_refused_launch_says_so_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever reads an explanation must not take its command for one that would be launched."""
    from resolver.cli.explain import run
    from resolver.cli.options import read

    assert run(read(["explain", "--machine", "cpu-only", "--profile", "mtp-long"])) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("refused: ")
    assert "no arm serves CTX=long SPEC=mtp" in lines[1]
    assert run(read(["explain", "--machine", "rtx-3090", "--profile", "mtp-long"])) == 0
    assert "refused" not in capsys.readouterr().out.splitlines()[0]


def test_a_knob_that_is_unset_shows_what_holds_instead() -> None:
    """What the user would change by giving it."""
    (item,) = checked(explain(ask("mtp-fast"), "MAX_SEQS"))["items"]
    assert item["state"] == "unset"
    assert [(g["name"], g["value"]) for g in item["gives"]] == [("max_num_seqs", "8")]
