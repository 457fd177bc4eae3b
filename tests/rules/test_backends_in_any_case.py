"""vLLM looks backends up in any case: what the rules say of `flash_attn` is what they say of `FLASH_ATTN`, in every version."""

from __future__ import annotations

import pytest

from resolver.compile import open_resolver, product_root
from resolver.engine import versions
from resolver.machines import load_machine
from resolver.request import build

ROOT = product_root()
RESOLVER = open_resolver()
MACHINES = ("rtx-3090", "rtx-4090", "h200", "cpu-only")
LAUNCHES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("mtp-fast", ()),
    ("mtp-fast", ("--kv-cache-dtype", "fp8")),
    ("dflash2-long", ()),
    ("off-huge", ("--block-size", "16")),
)


def said(machine: str, version: str, profile: str, args: tuple[str, ...]) -> list[tuple[str, str]]:
    asked = build(RESOLVER.rules, RESOLVER.table, profile=profile, args=args)
    found = RESOLVER.resolve(asked, load_machine(ROOT, machine), version)
    return [(d.severity, d.rule) for d in found.diagnostics]


@pytest.mark.parametrize("version", versions(ROOT))
def test_the_case_of_a_backend_changes_nothing(version: str) -> None:
    names = sorted({name.upper() for name in RESOLVER.engine(version).backends})
    assert {"FLASH_ATTN", "TRITON_ATTN", "FLASHINFER", "CUSTOM"} <= set(names)
    refused = 0
    for machine in MACHINES:
        for profile, args in LAUNCHES:
            for name in ("FLASH_ATTN", "TRITON_ATTN", "FLASHINFER", "FLEX_ATTENTION", "CUSTOM"):
                upper = said(machine, version, profile, (*args, "--attention-backend", name))
                refused += any(severity == "refuse" for severity, _ in upper)
                for typed in (name.lower(), name.title()):
                    assert said(machine, version, profile, (*args, "--attention-backend", typed)) == upper
    assert refused


def test_an_unknown_name_stays_unknown_in_any_case() -> None:
    for typed in ("bogus", "BOGUS"):
        assert ("refuse", "unknown-attention-backend") in said(
            "rtx-3090", "0.31.0", "mtp-fast", ("--attention-backend", typed)
        )
