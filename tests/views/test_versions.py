"""What a move of the engine breaks or changes, against what is known of the versions."""

from __future__ import annotations

import pytest

from resolver.compile import open_resolver
from resolver.diagnostics import UsageError
from resolver.resolve import Resolver
from resolver.views.versions import changes


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


def test_nothing_changes_without_a_move(resolver: Resolver) -> None:
    moved = [c for c in changes(resolver, "0.31.0", "0.31.0") if "refused on both" not in c.why]
    assert moved == []


def test_a_flag_that_is_gone_breaks(resolver: Resolver) -> None:
    """0.29 brought the retention interval and 0.31 the strict level of tools."""
    broken = {c.what for c in changes(resolver, "0.31.0", "0.28.0") if c.breaks}
    assert {"flag --prefix-cache-retention-interval", "flag --tool-strict-level"} <= broken
    assert "flag --max-model-len" not in broken
    assert all(c.position for c in changes(resolver, "0.31.0", "0.28.0") if c.breaks)


def test_an_arm_names_what_it_loses(resolver: Resolver) -> None:
    found = {c.what: c.why for c in changes(resolver, "0.31.0", "0.30.0")}
    assert "loses --tool-strict-level parameter" in found["arm mtp-fast-flash-bf16"]


def test_an_arm_whose_cache_dtype_is_gone_is_refused(resolver: Resolver) -> None:
    found = {c.what: c for c in changes(resolver, "0.31.0+hyperqwen-0.31", "0.32.0")}
    assert found["arm mtp-huge-kvarn"].breaks
    assert "kvarn_k4v2_g128" in found["arm mtp-huge-kvarn"].why


def test_a_default_that_moved_is_told(resolver: Resolver) -> None:
    found = {(c.what, c.breaks): c.why for c in changes(resolver, "0.31.0", "0.33.0")}
    assert "moves from 'auto' to None; the launcher sets it" in found["flag --tool-strict-level", False]


def test_an_unknown_engine_is_a_usage_error(resolver: Resolver) -> None:
    with pytest.raises(UsageError, match=r"0\.99"):
        changes(resolver, "0.31.0", "0.99.0")
