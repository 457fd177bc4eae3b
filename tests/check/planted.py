"""Defects, each planted into the small clean rules: what it is, and the finding that must show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.check.base import ALL, Data, arm, guard

ON: Data = {"ctx": "huge"}
OFF: Data = {"ctx": "fast"}


@dataclass(frozen=True)
class Defect:
    kind: str
    rule: str
    plant: Callable[[Data], Any]
    name: str = ""


def first(setting: str, *rows: Data) -> Callable[[Data], Any]:
    """Rows put before all others of a setting."""
    return lambda data: data["settings"][setting]["first"].__setitem__(slice(0, 0), list(rows))


def before_last(setting: str, *rows: Data) -> Callable[[Data], Any]:
    def plant(data: Data) -> None:
        table = data["settings"][setting]["first"]
        table[-1:-1] = rows

    return plant


def add(name: str, when: Data, severity: str = "refuse", **more: Any) -> Callable[[Data], Any]:
    """A guard; its examples are not what is looked at."""
    return lambda data: data["guards"].__setitem__(name, guard("planted", when, [ON], [OFF], severity, **more))


def put(part: str, name: str, value: Any) -> Callable[[Data], Any]:
    return lambda data: data[part].__setitem__(name, value)


def both(*plants: Callable[[Data], Any]) -> Callable[[Data], Any]:
    return lambda data: [plant(data) for plant in plants]


def when(arm_name: str, key: str, value: Any) -> Callable[[Data], Any]:
    def plant(data: Data) -> None:
        data["arms"][arm_name]["when"][key] = value

    return plant


def example(owner: str, kind: str, value: Data, part: str = "guards") -> Callable[[Data], Any]:
    return lambda data: data[part][owner]["examples"].__setitem__(kind, [value])


def figure(name: str, engine: str) -> Data:
    return {"id": name, "metric": "decode_tok_s", "value": 1, "engine": engine}


def _drop_arm(name: str) -> Callable[[Data], Any]:
    return lambda data: data["arms"].pop(name)


DEAD_CONDITIONS: dict[str, Data] = {
    "two-values": {"all": [{"ctx": "huge"}, {"ctx": "fast"}]},
    "beyond-maximum": {"drafts": "> 64"},
    "below-minimum": {"drafts": "< 1"},
    "empty-interval": {"all": [{"drafts": "> 10"}, {"drafts": "< 11"}]},
    "no-such-value": {"ctx": "medium"},
    "through-a-setting": {"speculates": "on", "spec": "off"},
    "through-two-settings": {"num_drafts": 7, "spec": "off"},
    "through-arithmetic": {"verified": "> 70000"},
    "state-and-value": {"backend": "unset", "all": [{"backend": "FLASH"}]},
    "a-fact-that-is-both": {"all": [{"gpu.vram_mib": "< 10"}, {"gpu.vram_mib": "> 20"}]},
    "capability-pairs": {"all": [{"gpu.capability": "> 8.6"}, {"gpu.capability": "< 8.0"}]},
    "older-than-all-engines": {"engine.version": "< 0.30.0"},
    "a-flag-that-is-not-there": {"extra.last.port": 7, "not": {"extra.flags": "port"}},
    "a-number-as-text": {"drafts": "eight"},
    "an-arm-elsewhere": {"arm": "flash", "ctx": "huge"},
    "unknown-and-known": {"wsl": True, "all": [{"wsl": "unknown"}]},
}


def _dead() -> list[Defect]:
    out = [Defect("dead", "planted", add("planted", c), name) for name, c in DEAD_CONDITIONS.items()]
    out += [
        Defect("dead", "max_model_len[1]", first("max_model_len", {"when": c, "value": 77}), f"row-{name}")
        for name, c in list(DEAD_CONDITIONS.items())[:10]
        if name not in ("through-arithmetic", "an-arm-elsewhere")
    ]
    return out


def _rows() -> list[Defect]:
    table = "max_model_len"
    return [
        Defect("shadowed", f"{table}[2]", first(table, {"when": {"ctx": ["huge", "long"]}, "value": 7}), "general-first"),
        Defect("shadowed", f"{table}[3]", before_last(table, {"when": {"ctx": "long", "spec": "mtp"}, "value": 7}), "special-last"),
        Defect("shadowed", "num_drafts[4]", lambda d: d["settings"]["num_drafts"]["first"].append({"when": {"spec": "mtp"}, "value": 9}), "two-rows-together"),
        Defect("shadowed", f"{table}[3]", first(table, {"when": {"drafts": "> 7"}, "value": 7}, {"when": {"drafts": "<= 3"}, "value": 8}, {"when": {"drafts": [1, 2, "> 40"]}, "value": 9}), "two-intervals"),
        Defect("unreachable-default", f"{table}[4]", before_last(table, {"when": {"ctx": "fast"}, "value": 7}), "all-values-taken"),
        Defect("unreachable-default", f"{table}[5]", before_last(table, {"when": {"cache": "on"}, "value": 7}, {"when": {"cache": "off"}, "value": 8}), "on-and-off"),
        Defect("unreachable-default", f"{table}[3]", lambda d: d["settings"][table].__setitem__("first", [{"when": {"drafts": "<= 7"}, "value": 1}, {"when": {"drafts": "> 7"}, "value": 2}, {"value": 3}]), "two-halves"),
        Defect("unreachable-default", "cache", add("planted", {"cache": "unset"}), "default-refused"),
        Defect("redundant", f"{table}[3]", before_last(table, {"when": {"spec": "mtp"}, "value": 50000}), "same-as-default"),
        Defect("redundant", f"{table}[1]", first(table, {"when": {"ctx": "long", "spec": "off"}, "value": 100000}), "same-as-a-later-row"),
        Defect("redundant", "block_size[2]", lambda d: d["settings"]["block_size"]["first"].extend([{"when": {"spec": "off"}, "value": None}, {"when": {"ctx": "long"}, "value": None}]), "null-as-without"),
    ]  # fmt: skip


def _parts() -> list[Defect]:
    return [
        Defect("dead-part", "planted", add("planted", {"ctx": ["huge", "hug"]}, "warn"), "misspelt-value"),
        Defect("dead-part", "planted", add("planted", {"seqs": "> 50", "any": [{"drafts": "> 99"}, {"spec": "off"}]}, "note"), "never-so-large"),
        Defect("dead-part", "planted", add("planted", {"seqs": "> 70", "backend": {"not": "flash"}}, "note"), "not-what-never-is"),
        Defect("dead-part", "max_model_len[1]", lambda d: d["settings"]["max_model_len"]["first"][0]["when"].__setitem__("ctx", ["huge", "vast"]), "in-a-row"),
        Defect("dead-part", "planted", add("planted", {"seqs": "> 80", "arm": ["flash", "no-such-arm"]}, "note"), "no-such-arm"),
    ]  # fmt: skip


def _guards() -> list[Defect]:
    huge = {"ctx": "huge", "speculates": "on", "num_drafts": "> 15"}
    return [
        Defect("masked", "planted", add("planted", {"ctx": "huge", "spec": "mtp", "drafts": "> 20"}), "inside-another"),
        Defect("masked", "planted", both(add("one", {"seqs": "> 500"}), add("two", {"seqs": [1, 2, 3]}), add("planted", {"seqs": [2, "> 700"]})), "inside-two"),
        Defect("masked", "planted", add("planted", {"arm": "unknown", "ctx": "huge"}), "where-no-arm-is"),
        Defect("masked", "planted", add("planted", {"gpu.vram_mib": "< 4000"}, "warn"), "a-warning-nobody-sees"),
        Defect("masked", "planted", add("planted", {"ctx": "huge", "drafts": "> 30", "spec": "dflash2"}, "note"), "a-note-nobody-sees"),
        Defect("same", "small-gpu", add("other", {"gpu.vram_mib": "<= 7999"}), "one-less"),
        Defect("same", "other", add("other", {"ctx": {"not": ["fast", "long"]}, "speculates": "on", "all": [{"num_drafts": ">= 16"}]}), "by-exclusion"),
        Defect("same", "other", add("other", {"any": [huge, {**huge, "cache": "on"}]}), "with-a-needless-way"),
        Defect("same", "planted", lambda d: (add("on-cpu-too", {"not": {"any": [{"device": {"not": "cpu"}}, {"seqs": "blank"}]}}, "note")(d), d["guards"].__setitem__("planted", guard("x", {"device": "cpu", "seqs": "given"}, [ON], [OFF], "note")), d["guards"].pop("on-cpu"))[0], "by-de-morgan"),
        Defect("same", "twin", both(put("settings", "twin", {"first": [{"when": {"spec": {"not": "off"}}, "value": "on"}, {"value": "off"}]}), lambda d: d["argv"].insert(1, {"flag": "--num-drafts", "value": "twin"})), "two-tables"),
        Defect("dead", "planted", add("planted", {"ctx": "huge"}, since="0.33.0"), "window-after-all"),
        Defect("dead", "planted", add("planted", {"ctx": "huge"}, until="0.30.0"), "window-before-all"),
        Defect("version-gap", "later", both(add("early", {"ctx": "long"}, "note", until="0.31.0"), add("later", {"ctx": "long"}, "note", since="0.32.0")), "one-version"),
        Defect("version-gap", "later", both(add("early", {"wsl": True}, "warn", since="0.29.0", until="0.30.0"), add("later", {"wsl": True}, "warn", since="0.32.0")), "two-versions"),
        Defect("version-gap", "later", both(add("early", {"ctx": {"not": ["fast", "long"]}}, "note", until="0.31.0"), add("later", {"ctx": "huge"}, "note", since="0.31.1")), "written-otherwise"),
    ]  # fmt: skip


def _arms() -> list[Defect]:
    here = {"gpu.capability": ALL}
    return [
        Defect("overlap", "planted", put("arms", "planted", arm({"ctx": "fast", **here}, "OTHER", {}, {}, chosen_by={"all": [{"backend": "FLASH"}, {"spec": "off"}]})), "inside-another"),
        Defect("overlap", "planted", put("arms", "planted", arm({"ctx": ["fast", "huge"], **here}, "OTHER", {}, {}, chosen_by={"cache": "off"})), "by-another-knob"),
        Defect("overlap", "planted", put("arms", "planted", arm({"spec": "mtp", **here}, "OTHER", {}, {}, chosen_by={"seqs": "> 100"})), "by-a-number"),
        Defect("shadowed", "planted", put("arms", "planted", arm({"ctx": "fast", "gpu.capability": ["8.6"]}, "OTHER", {}, {}, eligible={"backend": "blank"})), "arm-after-another"),
        Defect("dead", "planted", put("arms", "planted", arm({"ctx": "fast", "spec": "ngram", **here}, "OTHER", {}, {}, chosen_by={"drafts": "> 9"})), "arm-of-no-speculator"),
        Defect("gap", "huge/mtp/8.6", _drop_arm("huge"), "a-whole-tier"),
        Defect("gap", "huge/dflash2/9.0", when("huge", "gpu.capability", ["8.6", "unknown"]), "one-capability"),
        Defect("gap", "huge/off/unknown", when("huge", "gpu.capability", ["8.6", "9.0"]), "unknown"),
        Defect("gap", "long/off/8.6", when("flash", "not", {"ctx": "long", "spec": "off"}), "one-cell"),
    ]  # fmt: skip


def _unread() -> list[Defect]:
    return [
        Defect("unread", "planted", put("knobs", "planted", {"type": "switch", "help": "x", "default": "0"}), "knob"),
        Defect("unread", "planted", put("knobs", "planted", {"type": "choice", "allowed": ["a", "b"], "help": "x"}), "choice"),
        Defect("unread", "planted", put("knobs", "planted", {"type": "text", "exported": True, "help": "x"}), "no-engine"),
        Defect("unread", "gpu.planted", put("facts", "gpu.planted", {"type": "version", "help": "x"}), "fact"),
        Defect("unread", "planted", put("settings", "planted", {"first": [{"when": {"ctx": "huge"}, "value": 3}]}), "setting"),
        Defect("unread", "planted", put("settings", "planted", {"first": [{"value": "= max_num_seqs * 2"}]}), "computed"),
        Defect("refused-value", "ctx=huge", add("planted", {"ctx": "huge"}), "by-one-guard"),
        Defect("refused-value", "spec=off", both(add("planted", {"spec": "off", "cache": "on"}), add("another", {"speculates": "off", "cache": "off"})), "by-two-guards"),
        Defect("refused-value", "drafts=64", add("planted", {"drafts": "> 63"}), "the-largest"),
        Defect("refused-value", "backend=NONE", lambda d: d["knobs"]["backend"]["allowed"].append("NONE"), "no-arm-takes-it"),
        Defect("refused-value", "drafts=1..3", add("planted", {"drafts": "< 4"}), "an-interval"),
    ]  # fmt: skip


def _untaken() -> list[Defect]:
    def sets(name: str, value: str) -> Callable[[Data], Any]:
        return lambda data: data["arms"]["huge"]["sets"].__setitem__(name, value)

    return [
        Defect("untaken", "huge", sets("kv_cache_dtype", "int9"), "by-an-arm"),
        Defect("untaken", "kv_kind[1]", both(put("settings", "kv_kind", {"first": [{"when": {"ctx": "huge"}, "value": "int9"}]}), lambda d: d["argv"].insert(1, {"flag": "--kv-cache-dtype", "value": "kv_kind"})), "by-a-row"),
    ]  # fmt: skip


def _documents() -> list[Defect]:
    def evidence(*found: Data) -> Callable[[Data], Any]:
        return lambda data: data.__setitem__("figures", list(found))

    old = add("planted", {"ctx": "huge"}, "warn", since="0.31.0", figures=["old"])
    return [
        Defect("figures", "seqs-at-huge", both(evidence(figure("a", "0.31.0")), lambda d: d["guards"]["seqs-at-huge"].__setitem__("figures", ["b"])), "of-a-guard"),
        Defect("figures", "huge", both(evidence(figure("a", "0.31.0")), lambda d: d["arms"]["huge"].__setitem__("figures", ["a", "b"])), "of-an-arm"),
        Defect("figures", "max_model_len[1]", both(evidence(figure("a", "0.31.0")), lambda d: d["settings"]["max_model_len"]["first"][0].__setitem__("figures", "b")), "of-a-row"),
        Defect("figures", "planted", both(evidence(figure("old", "0.29.0")), old), "older"),
        Defect("example", "seqs-at-huge", example("seqs-at-huge", "fires", {"ctx": "huge", "seqs": 12}), "fires"),
        Defect("example", "small-gpu", example("small-gpu", "silent", {"with": {"gpu": {"vram_mib": 10}}}), "silent"),
        Defect("example", "triton", example("triton", "taken", {"ctx": "fast"}, "arms"), "taken"),
        Defect("example", "huge", example("huge", "passed_over", {"ctx": "huge", "drafts": 3}, "arms"), "passed-over"),
        Defect("example", "port-flag", example("port-flag", "silent", {"port": "many"}), "bad-value"),
        Defect("example", "port-flag", example("port-flag", "silent", {"machine": "nowhere"}), "no-machine"),
        Defect("example", "port-flag", example("port-flag", "silent", {"prot": 1}), "no-knob"),
        Defect("accepted", "dead nothing-here", lambda d: d.__setitem__("accepted", {"dead nothing-here": "it was there once"}), "stale"),
    ]  # fmt: skip


DEFECTS = [*_dead(), *_rows(), *_parts(), *_guards(), *_arms(), *_unread(), *_untaken(), *_documents()]
