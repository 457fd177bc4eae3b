"""The real `create_engine_config()` of vLLM on a faked CUDA capability, asked from tests; needs a parser environment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.engine.real_parser import need, serve_words
from tools.engine_data import environment
from tools.engine_data.child.check_configs import DRAFTER, TARGET


@dataclass(frozen=True)
class Launch:
    """One launch to try: the words behind `vllm serve`, the card's capability, how many cards, and variables to set."""

    argv: Sequence[str]
    capability: str = "8.6"
    devices: int = 1
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What the engine says: accepted or its reason, and (where accepted) the values it settled on."""

    ok: bool
    message: str
    summary: Mapping[str, Any] | None


def with_stand_ins(argv: Sequence[str]) -> list[str]:
    """A launch's words behind `serve` with the model and the drafter replaced by the weightless folders.

    The first word must be the model. Raises ValueError where argv starts with a flag.
    """
    words = serve_words(argv) if list(argv[1:2]) == ["serve"] else list(argv)
    if not words or words[0].startswith("-"):
        raise ValueError(f"the model must come first: {words[:1]}")
    words[0] = TARGET
    for i, word in enumerate(words[:-1]):
        if word == "--speculative-config":
            config = json.loads(words[i + 1])
            if isinstance(config, dict) and "model" in config:
                words[i + 1] = json.dumps(config | {"model": DRAFTER})
    return words


def check_many(version: str, launches: Sequence[Launch]) -> list[Answer]:
    """The engine's answer to each launch, in order. One process: about 12 s, then 10-20 ms each.

    Raises ParserEnvironmentError where the environment is missing or breaks.
    """
    cases = [
        {"argv": list(x.argv), "capability": x.capability, "devices": x.devices, "env": dict(x.env)} for x in launches
    ]
    answers = environment.call(need(version), version, "check_configs", cases, device=None)
    return [Answer(bool(ok), str(message), summary) for ok, message, summary in answers]
