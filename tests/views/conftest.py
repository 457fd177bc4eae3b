"""The evidence, read once."""

from __future__ import annotations

import pytest

from resolver.compile import product_root
from resolver.views.evidence import Evidence, load_evidence

ROOT = product_root()


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return load_evidence(ROOT)
