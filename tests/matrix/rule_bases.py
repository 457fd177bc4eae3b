"""Small rule bases that hypothesis makes up, and every request that their rules can tell apart.

They are not clean: rows that never win, guards that never fire and settings over settings are what the analysis is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from hypothesis import strategies as st

from tests.check.base import Data, clean, guard
from tests.matrix.tiny import World

WORDS = ["amber", "birch", "cedar"]
HIGH = 8
"""The largest number that `count` takes: small, so that all of them can be tried."""
VRAM = [8000, 24000]
ENGINES = ["0.30.0", "0.31.0", "0.32.0"]
VALUES: dict[str, list[Any]] = {
    "pick": [None, "", *WORDS],
    "count": [None, "", *map(str, range(1, HIGH + 1))],
    "flip": [None, "0", "1"],
    "wsl": [None, True, False],
    "gpu.vram_mib": [None, 7999, 8000, 8001, 24000, 24001],
    "installed": [None, [], ["quick"]],
    "engine.version": ENGINES,
}
"""Every value that a condition can tell from another: knobs as texts (None: not given), facts as they are (None: unknown)."""


class Base:
    """`data`: a whole set of rules as tests/check/base.py writes it; `settings` and `guards` are those made up here."""

    def __init__(self, data: Data, settings: list[str], guards: list[str], arithmetic: bool) -> None:
        self.data, self.settings, self.guards, self.arithmetic = data, settings, guards, arithmetic

    def __repr__(self) -> str:
        """Only what was made up."""
        own = {name: self.data["settings"][name] for name in self.settings}
        knobs = {name: self.data["knobs"][name] for name in ("pick", "count", "flip")}
        return f"{knobs}, {own}, { {name: self.data['guards'][name] for name in self.guards} }"

    @property
    def reads(self) -> list[str]:
        """The names among VALUES that its rules speak of."""
        text = repr([self.data["settings"][s] for s in self.settings] + [self.data["guards"][g] for g in self.guards])
        return [name for name in VALUES if f"'{name}'" in text or name in ("engine.version",) or f" {name}" in text]


def _leaf(settings: list[str]) -> st.SearchStrategy[Data]:
    def entry(name: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Data]:
        plain = st.one_of(values, values, values.map(lambda v: {"not": v}))
        return plain.map(lambda value: {name: value})

    number = st.integers(0, HIGH + 1)
    compare = st.sampled_from(["<", "<=", ">", ">="])
    state = st.sampled_from(["given", "empty", "unset", "blank"])
    words = st.one_of(
        st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True), state
    )
    counts: list[st.SearchStrategy[Any]] = [number, state, st.builds("{} {}".format, compare, number)]
    leaves = [
        entry("pick", words),
        entry("flip", st.sampled_from(["on", "off"])),
        entry("wsl", st.sampled_from([True, False, "unknown"])),
        entry("gpu.vram_mib", st.builds("{} {}".format, compare, st.sampled_from(VRAM)) | st.just("unknown")),
        entry("engine.version", st.builds("{} {}".format, st.sampled_from(["<", ">="]), st.sampled_from(ENGINES[1:]))),
        entry("installed", st.just("quick")),
    ]
    if settings:
        counts.append(st.builds("{} {}".format, compare, st.sampled_from(settings)))
        of_setting = st.one_of(number, st.builds("{} {}".format, compare, number), st.just("unknown"))
        leaves.append(st.sampled_from(settings).flatmap(lambda name: entry(name, of_setting)))
    leaves.append(entry("count", st.one_of(counts)))
    return st.one_of(leaves)


def conditions(settings: list[str]) -> st.SearchStrategy[Data]:
    """Conditions over the names above and over settings."""

    def wider(inner: st.SearchStrategy[Data]) -> st.SearchStrategy[Data]:
        parts = st.lists(inner, min_size=1, max_size=3)
        both = st.tuples(inner, inner).map(lambda pair: {**pair[0], **pair[1]})
        return st.one_of(
            both, parts.map(lambda p: {"any": p}), parts.map(lambda p: {"all": p}), inner.map(lambda c: {"not": c})
        )

    return st.recursive(_leaf(settings), wider, max_leaves=4)


@st.composite
def bases(draw: st.DrawFn, arithmetic: bool = True) -> Base:
    """One set of rules: up to four settings, each of which may read those before it, and up to four guards."""
    data = clean()
    data["knobs"]["pick"] = {
        "help": "p",
        "type": "choice",
        "allowed": WORDS,
        **draw(st.sampled_from([{}, {"default": WORDS[0]}])),
    }
    data["knobs"]["count"] = {
        "help": "c",
        "type": "int",
        "minimum": 1,
        "maximum": HIGH,
        **draw(st.sampled_from([{}, {"default": "5"}])),
    }
    data["knobs"]["flip"] = {"help": "f", "type": "switch", "default": "0"}
    names: list[str] = []
    sums = False
    for number in range(draw(st.integers(1, 4))):
        rows = []
        for _ in range(draw(st.integers(1, 4))):
            value: Any = draw(st.integers(0, HIGH))
            if arithmetic and draw(st.integers(0, 5)) == 0:
                sums = True
                left = draw(st.sampled_from(["count", *names]))
                op, right = draw(st.sampled_from(["+", "-", "*", "//"])), draw(st.integers(0, 5))
                value = draw(
                    st.sampled_from([f"= {left} {op} {right}", f"= min({left}, {right})", f"= max({left}, {right})"])
                )
            rows.append({"when": draw(conditions(names)), "value": value})
        if draw(st.booleans()):
            rows.append({"value": draw(st.integers(0, HIGH))})
        name = f"x{number}"
        data["settings"][name] = {"first": rows}
        data["argv"].insert(1, {"flag": "--num-drafts", "value": name})
        names.append(name)
    guards = [f"made-up-{n}" for n in range(draw(st.integers(0, 4)))]
    for name in guards:
        window = draw(st.sampled_from([{}, {}, {"since": "0.31.0"}, {"until": "0.32.0"}]))
        severity = draw(st.sampled_from(["refuse", "warn", "note"]))
        here = [{"pick": WORDS[0]}]
        data["guards"][name] = guard("said", draw(conditions(names)), here, here, severity, **window)
    return Base(data, names, guards, sums)


def worlds(base: Base) -> Iterator[tuple[dict[str, Any], World]]:
    """Each request that the base can tell from another, with what conditions read there."""
    reads = base.reads
    for values in product(*(VALUES[name] if name in reads else VALUES[name][:1] for name in VALUES)):
        request = dict(zip(VALUES, values, strict=True))
        yield request, world(base, request)


def world(base: Base, request: dict[str, Any]) -> World:
    """What conditions read in this request: a knob's text as its value, or its default."""
    out = dict(request)
    states = {}
    for name in ("pick", "count", "flip"):
        text = request[name]
        states[name] = "unset" if text is None else "given" if text else "empty"
        text = text or base.data["knobs"][name].get("default")
        out[name] = (
            text if name == "pick" or text is None else int(text) if name == "count" else ["off", "on"][int(text)]
        )
    return World(out, states)


def as_request(request: dict[str, Any]) -> dict[str, Any]:
    """The same request in the form that `resolve --batch` takes."""
    gpu = {"capability": "8.6", "vram_mib": request["gpu.vram_mib"]}
    facts = {"device": "cuda", "gpu": gpu, "wsl": request["wsl"], "installed": request["installed"]}
    knobs = {name.upper(): request[name] for name in ("pick", "count", "flip") if request[name] is not None}
    return {"machine": {"facts": facts}, "knobs": knobs, "engine": request["engine.version"]}
