"""The formula beside each number gives the number, and --solve agrees with trying every value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.geometry import solve
from resolver.geometry.bits import ceil_div, stock_group
from resolver.geometry.pool import numbers
from resolver.geometry.shapes import NoGeometry, Setup, Shape
from tests.fit.setups import KNOWN, QWEN, SMALL

SHAPES = [QWEN, SMALL, QWEN._replace(recurrent=None), SMALL._replace(drafter=SMALL.drafter._replace(window=None))]


@st.composite
def setups(draw: st.DrawFn, longest: int = 300_000) -> Setup:
    shape: Shape = draw(st.sampled_from(SHAPES))
    drafter = draw(st.sampled_from(["none", "mtp", "dflash"]))
    return Setup(
        shape,
        draw(st.sampled_from(list(KNOWN.formats.values()))),
        draw(st.integers(1, longest)),
        draw(st.integers(1, 20)) if drafter != "none" else 0,
        drafter,  # type: ignore[arg-type]
        batched_tokens=draw(st.sampled_from([512, 2048, 8192])),
        async_scheduling=draw(st.booleans()),
        caches_prefixes=draw(st.booleans()),
        state_bytes=draw(st.sampled_from([2, 4])),
        tensor_parallel=draw(st.sampled_from([1, 2, 4])),
        grouping=draw(st.sampled_from(["stock", "patched"])),
        pool_bytes=draw(st.integers(0, 12 << 30)),
    )


@given(setups())
def test_each_formula_gives_its_number(setup: Setup) -> None:
    sheet = numbers(setup)
    values = {n.name: n.value for n in sheet}
    for number in sheet:
        if number.formula:
            names = {"ceil_div": ceil_div, "min": min, "max": max, "int": int, "__builtins__": {}}
            assert eval(number.formula, names, values) == number.value, number.name
            assert eval(number.filled, names, {}) == number.value, number.filled
        else:
            assert number.unit


def _brute_length(setup: Setup, top: int) -> int:
    fitting = [n for n in range(1, top + 1) if solve.holds(setup._replace(max_model_len=n))]
    return max(fitting, default=0)


@given(setups(), st.integers(1, 400))
def test_largest_length_agrees_with_trying_every_one(setup: Setup, pages: int) -> None:
    """With a small limit every length is tried; the pool is a few pages around what such lengths need."""
    page = numbers(setup)["page_bytes"]
    small = setup._replace(pool_bytes=pages * page, shape=setup.shape._replace(longest=120))
    assert solve.max_model_len(small) == _brute_length(small, 120)


@given(setups())
def test_largest_length_is_the_last_that_fits(setup: Setup) -> None:
    for longest in (setup.shape.longest, None):
        open_end = setup._replace(shape=setup.shape._replace(longest=longest))
        found = solve.max_model_len(open_end)
        assert found == 0 or solve.holds(open_end._replace(max_model_len=found))
        if longest is None or found < longest:
            assert not solve.holds(open_end._replace(max_model_len=found + 1))


@given(setups())
def test_most_drafts_agrees_with_trying_every_count(setup: Setup) -> None:
    fitting = [k for k in range(1, 65) if solve.holds(setup._replace(drafts=k))]
    assert solve.num_speculative_tokens(setup) == max(fitting, default=None)


@given(setups())
def test_seats_are_what_the_pool_holds(setup: Setup) -> None:
    """Filling the pool request by request, without its null page, seats as many."""
    at_length, low, high = solve.max_num_seqs(setup)
    sheet = numbers(setup)
    for seats, each in (
        (at_length, sheet["state_pages"] + sheet["context_pages"]),
        (low, sheet["state_pages"] + sheet["attention_groups"] * ceil_div(1024, sheet["block"])),
        (high, sheet["state_pages"]),
    ):
        left, filled = max(0, (sheet.get("pool_pages") or 0) - 1), 0
        while each and left >= each:
            left, filled = left - each, filled + 1
        assert not each or filled == seats


def test_groups_of_alike_kinds_take_the_largest() -> None:
    assert stock_group([16, 48]) == 16
    assert stock_group([17, 48]) == 17
    assert stock_group([16, 48, 5]) == 5
    assert stock_group([12, 13]) == 13
    assert stock_group([8, 12]) == 8


def test_what_has_no_formula_says_so() -> None:
    with pytest.raises(NoGeometry, match="shape of the drafter"):
        numbers(Setup(QWEN._replace(drafter=None), KNOWN.formats["fp8"], 1000, 7, "dflash"))
    with pytest.raises(NoGeometry, match="never derived"):
        numbers(Setup(QWEN, KNOWN.formats["kvarn"], 1000, grouping="packed"))
    with pytest.raises(NoGeometry, match="turboquant"):
        KNOWN.format_named("turboquant_4bit_nc")
