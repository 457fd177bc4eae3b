"""The overlay of this project's kernels says what their plugin says of itself."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from resolver.compile import open_resolver, product_root
from resolver.engine import Engine
from resolver.engine_refusals import holds
from resolver.machines import load_machine, with_facts
from resolver.request import build
from resolver.resolution import Resolution
from resolver.yaml12 import read
from tests.check.suite import resolve_request
from tools import plugin_overlay
from tools.plugin_overlay import SOURCE, TARGET, main

ROOT = product_root()
PLUGIN: dict[str, Any] = json.loads((ROOT / SOURCE).read_text(encoding="utf-8"))
OVERLAY: dict[str, Any] = read(ROOT / TARGET).data


@pytest.fixture(scope="module")
def engine() -> Engine:
    return open_resolver().engine("0.31.0+splitverify")


def test_the_overlay_is_what_the_tool_makes_of_the_plugin() -> None:
    assert main(["--check"]) == 0, "run: python -m tools.plugin_overlay"


def test_the_check_notices_another_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (SOURCE, TARGET, "rules/engines/vllm-0.31.0.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(plugin_overlay, "product_root", lambda: tmp_path)
    assert main(["--check"]) == 0
    changed = {**PLUGIN, "guards": PLUGIN["guards"][1:]}
    (tmp_path / SOURCE).write_text(json.dumps(changed), encoding="utf-8")
    assert main(["--check"]) == 1
    assert main([]) == 0
    assert main(["--check"]) == 0


def test_the_records_are_the_plugins_own() -> None:
    own = [{k: g[k] for k in ("id", "refuse", "fix", "when")} for g in PLUGIN["guards"]]
    ours = [{k: r[k] for k in ("id", "refuse", "fix", "when")} for r in OVERLAY["brings"]["refusals"]]
    assert ours == own


@pytest.mark.parametrize("dtype", ["int8_per_token_head", "fp8", "bfloat16"])
def test_the_engine_then_serves_them(engine: Engine, dtype: str) -> None:
    stock = open_resolver().engine("0.31.0")
    for causal in (True, False):
        with_it, without = (
            [b for row in e.support("8.6", dtype, None, causal) for b in row.serves] for e in (engine, stock)
        )
        assert "CUSTOM" in with_it
        assert "CUSTOM" not in without


def test_a_prefill_kernel_asked_for_has_a_reader() -> None:
    """Stock vLLM does not read VLLM_PREFILL_ATTN, so asking for it is refused; the plugin reads it."""
    resolver = open_resolver()
    asked = {"machine": "h200", "knobs": {"spec": "mtp", "ctx": "long", "prefill_attn": "int8"}}
    stock, ours = (resolve_request(resolver, {**asked, "engine": e}) for e in ("0.31.0", "0.31.0+splitverify"))
    assert stock.refused
    assert not ours.refused
    assert ours.environment()["VLLM_PREFILL_ATTN"] == "int8"


ON_CUSTOM = {"spec": "mtp", "ctx": "long", "backend": "CUSTOM"}
REFUSED = {
    "custom-kv-cache-dtype": {"args": ["--kv-cache-dtype", "fp8_e5m2"]},
    "custom-block-size": {"args": ["--block-size", "24"]},
    "custom-dcp": {"args": ["--decode-context-parallel-size", "2"]},
    "custom-dtype": {"args": ["--dtype", "float32"]},
    "custom-planar-kv-connector": {"knobs": {**ON_CUSTOM, "kv_offload_gb": "4"}},
    "custom-batch-invariance": {"environ": {"VLLM_BATCH_INVARIANT": "1"}},
}


def asked(**more: Any) -> Resolution:
    resolver = open_resolver()
    machine = with_facts(ROOT, load_machine(ROOT, "h200"), {"installed": ["splitverify"]})
    knobs = [(name, text, "test") for name, text in (more.pop("knobs", ON_CUSTOM)).items()]
    request = build(resolver.rules, resolver.table, assignments=knobs, **more)
    return resolver.resolve(request, machine, "0.31.0+splitverify")


@pytest.mark.parametrize("record", REFUSED)
def test_a_launch_is_refused_with_the_plugins_own_words(record: str) -> None:
    guard = next(g for g in PLUGIN["guards"] if g["id"] == record)
    said = {d.rule: d for d in asked(**REFUSED[record]).diagnostics if d.severity == "refuse"}
    assert said[record].message.endswith(f": {guard['refuse']}")
    assert said[record].fix == guard["fix"]
    assert str(said[record].position).startswith(TARGET)


def test_what_the_plugin_serves_is_not_refused() -> None:
    assert not asked().refused
    inline = asked(knobs={**ON_CUSTOM, "kv_offload_gb": "4"}, environ={"SPLITVERIFY_INT8_LAYOUT": "inline"})
    assert not {d.rule for d in inline.diagnostics if d.severity == "refuse"} & set(REFUSED)


def test_conditions_mean_the_same_to_plugin_and_launcher() -> None:
    """Two readers of the same records: the plugin may not import the launcher."""
    spec = importlib.util.spec_from_file_location("reasons", ROOT / "kernels/splitverify/plugin/reasons.py")
    assert spec
    assert spec.loader
    reasons: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reasons)
    values = [None, True, False, 0, 16, 24, "planar", "inline", "decoder", "auto", "fp8_e5m2", "float32", 256, 64]
    for guard in PLUGIN["guards"]:
        for condition in guard["when"].values():
            pairs = "below" in str(condition)
            for value in [(7, 5), (8, 0), None] if pairs else values:
                if "multiple" in str(condition) and isinstance(value, str):
                    continue
                assert holds(condition, value) == reasons.holds(condition, value)
