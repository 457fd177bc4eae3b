"""The quick reading of YAML gives what the slow one gives: data, positions and errors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from resolver import yaml12
from resolver.compile import product_root
from resolver.diagnostics import RulesError

FILES = sorted([*product_root().glob("rules/**/*.yaml"), product_root() / "profiles.yaml"])
FILES = [f for f in FILES if "evidence" not in f.parts]


def marks(node: yaml.Node | None) -> Iterator[tuple[Any, ...]]:
    if node is None:
        return
    yield (
        node.start_mark.line,
        node.start_mark.column,
        type(node).__name__,
        getattr(node, "style", None) in ("'", '"', "|", ">"),
    )
    for child in node.value if not isinstance(node, yaml.ScalarNode) else ():
        for part in child if isinstance(child, tuple) else (child,):
            yield from marks(part)


def read(text: str) -> tuple[Any, ...]:
    try:
        document = yaml12.parse(text, "x.yaml")
    except RulesError as error:
        return tuple(str(d) for d in error.diagnostics)
    return document.data, tuple(marks(document._root))


def both(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    quick = read(text)
    with monkeypatch.context() as patch:
        patch.setattr(yaml12, "_quickly", lambda _: None)
        return quick, read(text)


@pytest.mark.skipif(
    not hasattr(yaml, "CSafeLoader"), reason="this PyYAML comes without libyaml, so there is one reading only"
)
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_file_reads_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text(encoding="utf-8")
    assert yaml12._quickly(text) is not None or not text.isascii()
    quick, slow = both(text, monkeypatch)
    assert quick == slow


@pytest.mark.parametrize(
    "text",
    ["", "a: [", "a: {b: 1, b: 2}", "x: &y 1", "x: *y", "a: !!str 1", "<<: {a: 1}", "a: \t1", "- [" * 70, "[" * 200 + "]" * 200,
     "? [a]\n: 1", "a: 'x", "a: ä\nb: 1", "---\na: 1\n---\nb: 2", "a: |\n  x\n  y\nb: 2", "%YAML 1.1\n---\na: 1", "a: 0o17\nb: yes"],
)  # fmt: skip
def test_odd_texts_read_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick, slow = both(text, monkeypatch)
    assert quick == slow


def test_damaged_files_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    text = (product_root() / "rules" / "context.yaml").read_text(encoding="utf-8")
    for _ in range(150):
        at = rng.randrange(len(text))
        broken = (
            text[:at]
            + rng.choice(["", ":", "[", "'", "\t", "{", "- ", "\n", "#", "&a "])
            + text[at + rng.randint(0, 3) :]
        )
        quick, slow = both(broken, monkeypatch)
        assert quick == slow, broken[max(0, at - 60) : at + 60]
