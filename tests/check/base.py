"""A small clean set of rules as plain data, written to a folder: what defects are planted into, and what witnesses are tried on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from resolver.analysis.revision import load
from resolver.machines import inline_machine, load_machine
from resolver.request import build
from resolver.resolution import Resolution
from resolver.resolve import Resolver

SCHEMAS = Path(__file__).resolve().parent.parent.parent / "rules" / "schema"
Data = dict[str, Any]


def flag(name: str, kind: str = "str", choices: list[str] | None = None, bare: bool = False) -> Data:
    """One flag of a small engine."""
    spelled = f"--{name.replace('_', '-')}"
    return {
        "spellings": [spelled],
        "negative": [f"--no-{name.replace('_', '-')}"] if bare else [],
        "nargs": 0 if bare else None,
        "kind": "bool" if bare else "store",
        "choices": choices,
        "type": None if bare else kind,
        "default": None,
    }


def engine(version: str) -> Data:
    flags = {
        "port": flag("port", "int"),
        "max_num_seqs": flag("max_num_seqs", "int"),
        "max_model_len": flag("max_model_len", "int"),
        "attention_backend": flag("attention_backend"),
        "kv_cache_dtype": flag("kv_cache_dtype", choices=["auto", "fp8", "bfloat16"]),
        "enable_prefix_caching": flag("enable_prefix_caching", bare=True),
        "num_drafts": flag("num_drafts", "int"),
    }
    variables = ["VLLM_SIZE"]
    return {
        "version": version,
        "flags": flags,
        "positionals": [],
        "variables": variables,
        "configs": {},
        "other_variables": [],
        "attention": None,
    }


def guard(says: str, when: Data, fires: list[Data], silent: list[Data], severity: str = "refuse", **more: Any) -> Data:
    fix = {"fix": "do otherwise"} if severity == "refuse" else {}
    return {severity: says, **fix, "when": when, "examples": {"fires": fires, "silent": silent}, **more}


PLAIN = {"profile": "plain"}


def arm(when: Data, backend: str, taken: Data, passed_over: Data, **more: Any) -> Data:
    sets = {"attention_backend": backend, "kv_cache_dtype": "auto", "draft_attention_backend": backend}
    return {
        "help": "an arm",
        "when": when,
        "sets": sets,
        "examples": {"taken": [taken or PLAIN], "passed_over": [passed_over or PLAIN]},
        **more,
    }


ALL = ["8.6", "9.0", "unknown"]


def clean() -> Data:
    """Rules without a finding."""
    knobs: Data = {
        "ctx": {"type": "choice", "allowed": ["fast", "long", "huge"], "default": "fast"},
        "spec": {"type": "choice", "allowed": ["mtp", "dflash2", "off"], "default": "mtp"},
        "backend": {"type": "choice", "allowed": ["FLASH", "TRITON"]},
        "drafts": {"type": "int", "minimum": 1, "maximum": 64, "default": "7"},
        "cache": {"type": "switch", "default": "1"},
        "seqs": {"type": "int", "minimum": 1, "maximum": 1000},
        "size": {"env": "VLLM_SIZE", "type": "text", "exported": True},
        "port": {"type": "int", "minimum": 1, "maximum": 65535, "default": "8000"},
        "extra_args": {"type": "words"},
    }
    facts: Data = {
        "root": "text", "machine": "text", "device": "text", "gpu.capability": "version", "gpu.vram_mib": "int",
        "wsl": "bool", "installed": "set", "engine.version": "version", "engine.overlays": "set",
        "engine.flags": "set", "engine.variables": "set",
    }  # fmt: skip
    settings: Data = {
        "speculates": [{"when": {"spec": ["mtp", "dflash2"]}, "value": "on"}, {"value": "off"}],
        "num_drafts": [{"when": {"speculates": "on", "drafts": "given"}, "value": "= drafts"}, {"when": {"spec": "dflash2"}, "value": 7}, {"when": {"speculates": "on"}, "value": 3}],
        "max_num_seqs": [{"when": {"seqs": "given"}, "value": "= seqs"}, {"when": {"ctx": "huge"}, "value": 2}, {"when": {"ctx": "long", "spec": "dflash2"}, "value": 4}, {"value": 8}],
        "max_model_len": [{"when": {"ctx": "huge"}, "value": 200000}, {"when": {"ctx": "long"}, "value": 100000}, {"value": 50000}],
        "caches": [{"when": {"extra.last.enable_prefix_caching": "on"}, "value": "on"}, {"when": {"extra.last.enable_prefix_caching": "off"}, "value": "off"}, {"value": "= cache"}],
        "verified": [{"value": "= max_num_seqs * (num_drafts + 1)"}],
        "block_size": [{"when": {"ctx": "huge", "caches": "on"}, "value": 128}],
    }  # fmt: skip
    guards: Data = {
        "drafts-at-huge": guard("too many drafts", {"ctx": "huge", "speculates": "on", "num_drafts": "> 15"}, [{"ctx": "huge", "drafts": 16}], [{"ctx": "huge", "drafts": 15}]),
        "seqs-at-huge": guard("many requests", {"ctx": "huge", "max_num_seqs": "> 12"}, [{"ctx": "huge", "seqs": 13}], [{"ctx": "huge", "seqs": 12}], "warn"),
        "port-flag": guard("use PORT", {"extra.flags": "port"}, [{"args": ["--port", "1"]}], [{"port": 1}], "warn"),
        "small-gpu": guard("too small", {"gpu.vram_mib": "< 8000"}, [{"with": {"gpu": {"vram_mib": 4000}}}], [{"with": {"gpu": {"vram_mib": 8000}}}]),
        "triton-before-31": guard("slow", {"backend": "TRITON", "engine.version": "< 0.31.0"}, [{"backend": "TRITON", "engine": "0.30.0"}], [{"backend": "TRITON"}], "note"),
        "triton-since-32": guard("fast", {"backend": "TRITON", "wsl": True}, [{"backend": "TRITON", "engine": "0.32.0", "with": {"wsl": True}}], [{"backend": "TRITON", "with": {"wsl": True}}], "note", since="0.32.0"),
        "large-batch": guard("large", {"verified": "> 4000"}, [{"seqs": 1000, "drafts": 7}], [{"seqs": 4}], "warn"),
        "plugin": guard("plugin there", {"installed": "quick", "cache": "off"}, [{"cache": 0, "with": {"installed": ["quick"]}}], [{"cache": 0}], "note"),
        "on-cpu": guard("slow", {"device": "cpu", "seqs": "given"}, [{"seqs": 1, "with": {"device": "cpu"}}], [{"seqs": 1}], "note"),
    }  # fmt: skip
    here = {"gpu.capability": ALL}
    arms: Data = {
        "flash": arm({"ctx": ["fast", "long"], **here}, "FLASH", {}, {"backend": "TRITON"}, chosen_by={"backend": "FLASH"}, eligible={"backend": "blank"}),
        "triton": arm({"ctx": ["fast", "long"], **here}, "TRITON", {"backend": "TRITON"}, {}, chosen_by={"backend": "TRITON"}),
        "huge": arm({"ctx": "huge", **here}, "TRITON", {"ctx": "huge"}, {}, chosen_by={"backend": "TRITON"}, eligible={"backend": "blank"}),
        "huge-flash": arm({"ctx": "huge", "gpu.capability": ["9.0"]}, "FLASH", {"ctx": "huge", "backend": "FLASH", "with": {"gpu": {"capability": "9.0"}}}, {}, chosen_by={"backend": "FLASH"}),
    }  # fmt: skip
    argv = [
        {"words": ["vllm", "serve"]},
        *({"flag": f"--{n.replace('_', '-')}", "value": n} for n in ("port", "max_num_seqs", "max_model_len", "attention_backend", "kv_cache_dtype", "num_drafts", "block_size")),
        {"flag": "--enable-prefix-caching", "on": "caches", "off": "--no-enable-prefix-caching"},
        {"user_words": True},
    ]  # fmt: skip
    return {
        "knobs": {name: {"help": name, **data} for name, data in knobs.items()},
        "facts": {name: {"type": kind, "help": name} for name, kind in facts.items()},
        "settings": {name: {"first": rows} for name, rows in settings.items()},
        "guards": guards,
        "arms": arms,
        "profiles": {"plain": {"help": "plain", "knobs": {"ctx": "fast"}}},
        "argv": argv,
        "environment": {"VLLM_OTHER": {"set": "size"}},
        "engines": ["0.30.0", "0.31.0", "0.32.0"],
        "figures": None,
        "accepted": None,
    }


MACHINE = {
    "machine": {"title": "a machine", "source": "made up"},
    "facts": {"device": "cuda", "gpu": {"capability": "8.6", "vram_mib": 24000}, "wsl": False, "installed": []},
    "engine": {"version": "0.31.0"},
}


def _dump(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        yaml.dump(json.loads(json.dumps(data)), sort_keys=False, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)),
        encoding="utf-8",
    )


def write(root: Path, data: Mapping[str, Any]) -> None:
    """The rules as files."""
    rules = root / "rules"
    _dump(rules / "knobs.yaml", {"knobs": data["knobs"]})
    _dump(rules / "facts.yaml", {"facts": data["facts"]})
    _dump(rules / "subject.yaml", {"settings": data["settings"], "guards": data["guards"]})
    _dump(rules / "render.yaml", {"argv": data["argv"], "environment": data["environment"]})
    _dump(rules / "machines" / "rtx-3090.yaml", MACHINE)
    _dump(root / "profiles.yaml", {"profiles": data["profiles"], "arms": data["arms"]})
    (rules / "engines").mkdir()
    for version in data["engines"]:
        (rules / "engines" / f"vllm-{version}.json").write_text(json.dumps(engine(version)), encoding="utf-8")
    (rules / "schema").symlink_to(SCHEMAS)
    if data["figures"] is not None:
        _dump(rules / "evidence" / "figures.yaml", {"figures": data["figures"]})
    if data["accepted"] is not None:
        _dump(rules / "accepted_findings.yaml", {"accepted": data["accepted"]})


def replay(resolver: Resolver, request: Mapping[str, Any]) -> Resolution:
    """Resolve a witness as `resolve --batch` would: it needs nothing but the data that was printed."""
    machine = request["machine"]
    found = (
        load_machine(resolver.root, machine)
        if isinstance(machine, str)
        else inline_machine(resolver.root, machine, "witness")
    )
    assignments = [(name, text, "witness") for name, text in request.get("knobs", {}).items()]
    asked = build(
        resolver.rules,
        resolver.table,
        profile=request.get("profile"),
        assignments=assignments,
        environ=request.get("env"),
        args=request.get("args", ()),
    )
    return resolver.resolve(asked, found, request.get("engine"))


__all__ = ["arm", "clean", "guard", "load", "replay", "write"]
