"""The longest context that a config.json names: plain, nested, stretched by rope, or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resolver.compile import open_resolver
from resolver.context_limit import longest_in
from resolver.facts import DiskFiles, Machine
from resolver.machines import load_machine
from resolver.request import build

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


@pytest.mark.parametrize(
    ("config", "longest"),
    [
        ({"max_position_embeddings": 4096}, 4096),
        ({"text_config": {"max_position_embeddings": 262144}, "max_position_embeddings": 1}, 262144),
        ({"max_position_embeddings": 4096, "max_seq_len": 2048}, 2048),
        ({"max_position_embeddings": 4096, "model_max_length": 131072}, 131072),
        ({"max_position_embeddings": 4096, "rope_parameters": {"rope_type": "linear", "factor": 2.0}}, 8192),
        ({"max_position_embeddings": 4096, "rope_scaling": {"type": "dynamic", "factor": 2.0}}, 8192),
        ({"max_position_embeddings": 32768, "rope_parameters": YARN}, 131072),
        ({"max_position_embeddings": 131072, "rope_parameters": {"full_attention": YARN}}, 131072),
        ({"max_position_embeddings": 4096, "rope_parameters": {"rope_type": "default", "factor": None}}, 4096),
        ({"model_type": "gemma3", "max_position_embeddings": 131072, "rope_scaling": {"factor": 8.0}}, 131072),
        ({"max_position_embeddings": True}, None),
        ({"max_position_embeddings": "4096"}, None),
        ({}, None),
        ([], None),
        ({"max_position_embeddings": 4096, "rope_scaling": {"factor": "x"}}, None),
    ],
)
def test_what_is_named(tmp_path: Path, config: Any, longest: int | None) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert longest_in(str(path)) == longest


def test_what_cannot_be_read_names_nothing(tmp_path: Path) -> None:
    assert longest_in(str(tmp_path / "none")) is None
    (tmp_path / "config.json").write_text("{")
    assert longest_in(str(tmp_path / "config.json")) is None


def test_a_model_of_this_machine_is_asked(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 8192}')
    (tmp_path / "tokenizer.json").write_text("{}")
    resolver = open_resolver()
    there = load_machine(resolver.root, "rtx-3090")
    machine = Machine(there.name, there.facts, there.engine, DiskFiles(str(tmp_path)), there.source)

    def said(length: str) -> list[str]:
        named = [("MODEL", str(tmp_path), "a test"), ("MAX_LEN", length, "a test")]
        request = build(resolver.rules, resolver.table, profile="mtp-fast", assignments=named, environ={})
        found = resolver.resolve(request, machine, resolver.engine_of(machine)).diagnostics
        return [d.message for d in found if d.rule == "longer-than-the-model"]

    assert said("8192") == []
    assert said("8193") == [
        f"MAX_LEN=8193 is longer than the 8192 tokens that MODEL={tmp_path} is made for, and the engine refuses to start"
    ]
