"""What rules say of attention backends is what the engine's own table says: no second truth."""

from __future__ import annotations

import pytest

from resolver.compile import open_resolver
from resolver.conditions import Leaf, leaves
from resolver.machines import load_machine, with_facts
from resolver.request import build

CAPABILITIES = ("8.0", "8.6", "8.9", "9.0", "12.0")
PLUGIN_SWITCH = "fp8-on-flash-attention-without-its-plugin"
"""Speaks of a plugin that is installed and not switched on, which no table of an engine can know."""


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("dtype", ["fp8", "fp8_e4m3"])
def test_where_the_engine_picks_flashinfer_for_an_fp8_cache(capability: str, dtype: str) -> None:
    resolver = open_resolver()
    machine = with_facts(
        resolver.root, load_machine(resolver.root, "rtx-3090-stock"), {"gpu": {"capability": capability}}
    )
    engine = resolver.engine_of(machine, "0.31.0")
    words = ["--kv-cache-dtype", dtype]
    resolution = resolver.resolve(
        build(resolver.rules, resolver.table, profile="mtp-long", args=words), machine, engine
    )
    (row,) = engine.support(capability, dtype, None, True)
    said = resolution.setting("runs_flashinfer_on_fp8")
    picked = resolution.setting("effective_attention_backend") or row.auto
    assert (said == "on") == (picked == "FLASHINFER")


def test_no_guard_refuses_a_backend_for_a_cache_on_a_gpu() -> None:
    """Backend, cache type and capability together are the table's to judge."""
    table = {"effective_attention_backend", "effective_kv_cache_dtype", "gpu.capability"}
    for guard in open_resolver().rules.guards.values():
        names = {leaf.name for leaf in leaves(guard.when) if isinstance(leaf, Leaf)}
        if guard.severity == "refuse" and guard.id != PLUGIN_SWITCH:
            assert not table <= names, guard.id
