"""Which differences are accepted, by name, condition and reason: tests/golden/exemptions.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from tests.golden.cases import Case


@lru_cache(maxsize=1)
def exemptions() -> Mapping[str, Mapping[str, Any]]:
    """The accepted exemptions by name."""
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "exemptions.yaml").read_text(encoding="utf-8"))
    return dict(found["exemptions"])


def applies(case: Case, condition: Mapping[str, Any]) -> bool:
    """Whether a case is of the kind that an exemption speaks of."""
    if "given" in condition:
        return condition["given"] in case.knobs
    if "word" in condition:
        return any(re.fullmatch(condition["word"], word) for word in case.knobs.get("EXTRA_ARGS", "").split())
    return any(case.knobs.get(knob, "").lower() in condition["values"] for knob in condition["knobs"])


def exempted_by(case: Case, differences: list[str]) -> str | None:
    """The exemption under which all the differences are accepted, or None."""
    kinds = {re.split(r"[ :]", d, maxsplit=1)[0] for d in differences}
    for name, item in exemptions().items():
        if kinds <= set(item["differs"]) and applies(case, item["condition"]):
            return name
    return None
