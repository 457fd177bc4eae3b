"""What a kernel of a step is for: the list of our kernels is that of the source, and a record of before is put right."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tests.e2e import machine

from e2e import figures, kinds, launches, report  # isort: skip  (tests.e2e makes it importable)

OPS = machine.REPO / "kernels/splitverify/ops"


def functions(path: Any) -> dict[str, set[str]]:
    """The @triton.jit functions of a module, and the names each of them calls."""
    found = {}
    for item in ast.parse(path.read_text()).body:
        marks = [ast.unparse(mark).partition("(")[0] for mark in getattr(item, "decorator_list", ())]
        if isinstance(item, ast.FunctionDef) and "triton.jit" in marks:
            calls = (node.func for node in ast.walk(item) if isinstance(node, ast.Call))
            found[item.name] = {name.id for name in calls if isinstance(name, ast.Name)}
    return found


def used(path: Any) -> set[str]:
    """The names that a module uses outside of its kernels."""
    body = [item for item in ast.parse(path.read_text()).body if getattr(item, "name", "") not in functions(path)]
    return {node.id for item in body for node in ast.walk(item) if isinstance(node, ast.Name)}


def kernels() -> set[str]:
    """Every @triton.jit function that no other one calls: those are launched."""
    every = {name: calls for path in OPS.glob("*.py") for name, calls in functions(path).items()}
    return set(every) - set().union(*every.values())


def test_every_kernel_of_ours_is_listed() -> None:
    assert kernels() == set(kinds.OURS)


def test_every_kernel_that_an_attention_module_launches_counts_as_attention() -> None:
    launched = kernels() & set().union(*(used(path) for path in OPS.glob("*_attention.py")))
    assert {"split_attention", "turned_attention", "combine", "prefill"} <= launched
    assert {kinds.kind_of(name) for name in launched} == {"attention"}


def test_a_kernel_of_ours_is_known_by_its_whole_name() -> None:
    assert kinds.kind_of("combine_logits") == "other"
    assert kinds.kind_of("triton_poi_fused_decide") == "other"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("kernel_unified_attention", "attention"),
        ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<", "attention"),
        ("reshape_and_cache_kernel_flash", "attention"),
        ("fused_sigmoid_gating_delta_rule_update_kernel", "state"),
        ("_causal_conv1d_update_kernel", "state"),
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", "gemm"),
        ("void at::native::elementwise_kernel<128, 4", "other"),
    ],
)
def test_kernels_of_others(name: str, kind: str) -> None:
    assert kinds.kind_of(name) == kind


GEMM, TURNED, COMBINE = ["nvjet", 264, 11.2], ["turned_attention", 60, 56.6], ["combine", 60, 5.7]
RECORDS: list[tuple[dict[str, Any], float | None]] = [
    ({"attention": 0.0299, "top": [TURNED, GEMM, COMBINE]}, 0.0299 + 0.283),  # it was counted as other
    ({"attention": 0.0299, "top": [GEMM, TURNED]}, 0.0299 + 0.283),
    ({"attention": 0.0299, "top": [GEMM, COMBINE]}, 0.0299),
    ({"attention": 0.0299, "top": [GEMM]}, None),  # it may have been too short for the list
    ({"attention": 0.3129, "top": [[*TURNED, "attention"], [*GEMM, "gemm"]]}, 0.3129),
    ({"attention": 0.01, "top": [[*GEMM, "gemm"]]}, 0.01),
    ({"attention": 0.1474, "top": []}, 0.1474),
    ({"top": [[*GEMM, "gemm"]]}, 0.0),
]


@pytest.mark.parametrize(("gpu", "attention"), RECORDS)
def test_the_attention_of_a_record(gpu: dict[str, Any], attention: float | None) -> None:
    assert kinds.attention(gpu) == (None if attention is None else pytest.approx(attention))
    assert report.share(gpu) == ("\u2013" if attention is None else f"{attention:.2f}")


@pytest.mark.parametrize(("gpu", "attention"), RECORDS)
def test_a_figure_says_the_same_share_as_the_page(gpu: dict[str, Any], attention: float | None) -> None:
    record = {"context": 100_000, "gpu_1": {"gpu_ms": 1.3267, **gpu}, "gpu_4": {}, "ttft_warm": 0.04, "cached_warm": 1}
    step = next(figures._timed(launches.ALL["mtp3-custom-int8"], record))
    said = "" if attention is None else f", {attention:.3f} of it attention"
    assert step["note"] == f"GPU time of a step by the profiler{said}"
