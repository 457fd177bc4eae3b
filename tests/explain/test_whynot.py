"""Why-not by hand: what rules an arm or a flag out, and how it is had where nothing does."""

from __future__ import annotations

import pytest

from resolver.diagnostics import UsageError
from resolver.resolution import Resolution
from resolver.views.explain_text import show_explanation
from resolver.views.page import PlainPage
from resolver.views.whynot import arm_goal, flag_goal, why_not
from resolver.views.whynot_points import assumptions
from tests.explain.requests import ask
from tests.explain.whynot_checks import check_command


def said(resolution: Resolution, arm: str) -> list[list[str]]:
    return [[a.says for a in conflict] for conflict in why_not(resolution, arm_goal(resolution, arm)).conflicts]


def test_a_plugin_and_a_card_together() -> None:
    resolution = ask("dflash2-long", on="rtx-4090")
    fa2 = "the plugin fa2_fp8kv is not installed"  # splitverify brings FLASH_ATTN on fp8 to 8.0 and 8.6 only
    assert said(resolution, "dflash2-long-flash-fp8") == [["gpu.capability is 8.9", fa2]]


def test_one_choice_alone() -> None:
    resolution = ask("mtp-fast")
    found = why_not(resolution, arm_goal(resolution, "mtp-huge-kvarn"))
    assert [[(a.says, a.origin.split(",")[0]) for a in c] for c in found.conflicts] == [
        [("CTX=fast", "profile mtp-fast")]
    ]
    assert [leaf["says"] for leaf in found.leaves] == ["CTX is huge"]
    assert found.leaves[0]["now"][0]["value"] == "fast"


def test_two_choices_that_exclude_each_other() -> None:
    resolution = ask(None, "SPEC=dflash2", "CTX=long", "KV_OFFLOAD_GB=4", "PTH_FA=1")
    assert said(resolution, "dflash2-long-custom-int8") == [["PTH_FA=1", "KV_OFFLOAD_GB=4"]] or said(
        resolution, "dflash2-long-custom-int8"
    ) == [["KV_OFFLOAD_GB=4", "PTH_FA=1"]]


def test_the_engine() -> None:
    resolution = ask("mtp-huge", on="rtx-3090-stock")
    assert said(resolution, "mtp-huge-kvarn") == [["the engine is vLLM 0.31.0"]]


def test_nothing_rules_it_out() -> None:
    resolution = ask("mtp-fast")
    found = why_not(resolution, arm_goal(resolution, "mtp-fast-triton-bf16"))
    assert found.command == "python launch.py --profile mtp-fast ATTENTION_BACKEND=TRITON_ATTN"
    assert why_not(resolution, arm_goal(resolution, "mtp-fast-flash-bf16")).reached


def test_a_flag() -> None:
    resolution = ask("dflash2-huge", "MAX_SEQS=4")
    found = why_not(resolution, flag_goal(resolution, "--max-num-seqs=2"))
    assert [[a.says for a in c] for c in found.conflicts] == [["MAX_SEQS=4"]]
    assert why_not(resolution, flag_goal(resolution, "max_num_seqs=4")).reached
    free = ask("mtp-long", on="rtx-4090")
    assert why_not(free, flag_goal(free, "max-num-seqs=3")).command == "python launch.py --profile mtp-long MAX_SEQS=3"


@pytest.mark.parametrize("wanted", ["max-num-seqs", "--no-such-flag=3", "=", "--seed=7"])
def test_what_cannot_be_wanted(wanted: str) -> None:
    with pytest.raises(UsageError):
        flag_goal(ask("mtp-fast"), wanted)


def test_an_arm_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="there is no arm"):
        arm_goal(ask("mtp-fast"), "mtp-fast-flash-bf61")


def test_no_secret_among_the_assumptions() -> None:
    resolution = ask("mtp-fast", args=("--api-key", "sk-one"), VLLM_API_KEY="sk-two", EXTRA_ARGS="--hf-token sk-three")
    assert "sk-" not in str(assumptions(resolution))


def test_a_profile_that_does_not_exist_is_not_in_the_command() -> None:
    resolution = ask("dflash2-lnog", "CTX=huge", "SPEC=mtp")
    goal = arm_goal(resolution, "mtp-huge-triton-int4")
    found = why_not(resolution, goal)
    assert found.command == "python launch.py CTX=huge SPEC=mtp ATTENTION_BACKEND=TRITON_ATTN"
    check_command(resolution, goal, found.command)


def shown(**changes: object) -> list[str]:
    """What is printed of an answer."""
    one = {"says": "CTX=fast", "origin": "argument 1"}
    item = {"kind": "why-not", "name": "arm x", "reached": False, "conflicts": [[one]], "never": False, "exact": [True]}
    lines: list[str] = []
    page = PlainPage(lambda text: lines.extend(text.splitlines()))
    show_explanation({"items": [{**item, "command": None, "invented": [], "false": [], **changes}]}, page)
    return [line.strip() for line in lines if line.strip()]


def test_nothing_is_claimed_that_was_not_proven() -> None:
    one = {"says": "SPEC=off", "origin": "argument 2"}
    first = [[{"says": "CTX=fast", "origin": "argument 1"}]]
    assert shown()[:2] == ["arm x is ruled out", "by CTX=fast (argument 1)"]
    assert shown(exact=[False])[:2] == ["arm x: no launch was found", "with CTX=fast (argument 1)"]
    assert shown(conflicts=[*first, [one]], exact=[True, False])[1:3] == [
        "by CTX=fast (argument 1)",
        "and none was found with SPEC=off (argument 2)",
    ]
    never: dict[str, object] = {"conflicts": [], "never": True}
    assert shown(**never, exact=[True]) == ["arm x: no launch reaches it, whatever the knobs and the machine"]
    assert shown(**never, exact=[False]) == [
        "arm x: no launch was found that reaches it, whatever the knobs and the machine"
    ]


def test_what_has_to_change_is_said_for_one_and_for_several() -> None:
    one, other = ({"says": says, "origin": "argument 1"} for says in ("CTX=fast", "SPEC=off"))
    assert shown(conflicts=[[one]])[-1] == "to have it, change that"
    assert shown(conflicts=[[one, other]])[-1] == "to have it, change any one of them"
    assert shown(conflicts=[[one], [other]], exact=[True, True])[-1] == "to have it, change all of these"
    assert (
        shown(conflicts=[[one, other], [other]], exact=[True, True])[-1]
        == "to have it, change one of each of these lines"
    )


def test_the_answer_says_what_is_proven() -> None:
    resolution = ask("mtp-fast")
    found = why_not(resolution, arm_goal(resolution, "mtp-huge-kvarn"))
    assert found.exact == [True]
    assert found.as_json()["exact"] == [True]


def test_what_the_command_invents_is_said() -> None:
    """A parser that the engine does not have is served by a plugin of the user's own: no suggestion, but it rules nothing out."""
    resolution = ask("mtp-fast", "TOOLS=1", "TOOL_PARSER=no_such")
    found = why_not(resolution, arm_goal(resolution, "mtp-fast-flash-bf16"))
    assert found.command
    assert found.command.endswith("-- --tool-parser-plugin other")
    assert found.invented == ["--tool-parser-plugin"]
    assert shown(conflicts=[], exact=[], command="x", invented=["--tool-parser-plugin"])[1:] == [
        "x",
        "--tool-parser-plugin in it: a value that is accepted, yours to choose",
    ]
    plain = ask("mtp-fast")
    assert why_not(plain, arm_goal(plain, "mtp-fast-triton-bf16")).invented == []
