"""What an entry of the cache is named by: the source of every class that it holds, so that no older member is taken for one."""

from __future__ import annotations

import pickletools
from collections.abc import Iterable
from pathlib import Path

import pytest

from resolver.compile import cache, keep_knobs, open_resolver, product_root
from resolver.machines import load_machine
from resolver.views.evidence import load_evidence
from tests.core.test_cache import works


def _modules(path: Path) -> set[str]:
    """The modules of this product whose classes a pickle names."""
    texts = {arg for _, arg, _ in pickletools.genops(path.read_bytes()) if isinstance(arg, str)}
    return {text for text in texts if text.startswith("resolver.") and _source(text).is_file()}


def _source(module: str) -> Path:
    return product_root().joinpath(*module.split(".")).with_suffix(".py")


def test_the_source_of_every_kept_class_is_in_the_name_of_the_entry(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: dict[str, set[Path]] = {}
    digest = cache.digest

    def noting(paths: Iterable[Path], *extra: str) -> str:
        paths = list(paths)
        name = digest(paths, *extra)
        counted[name] = set(paths) | {p for key in extra for p in counted.get(key, ())}
        return name

    monkeypatch.setattr(cache, "digest", noting)
    works()
    load_evidence(product_root())
    load_machine(product_root(), "rtx-3090")
    keep_knobs(open_resolver())
    seen: dict[str, set[str]] = {}
    for path in cache_folder.glob("*-*"):
        kind, _, name = path.name.partition("-")
        seen.setdefault(kind, set()).update(_modules(path))
        missing = {module for module in _modules(path) if _source(module) not in counted[name]}
        assert not missing, f"{kind} holds classes of {sorted(missing)}, whose sources are not in its name"
    assert seen["rules"] >= {"resolver.model", "resolver.diagnostics"}
    assert seen["figures"] >= {"resolver.views.evidence", "resolver.diagnostics"}
