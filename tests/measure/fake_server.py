"""A stand-in for a vLLM server that is measured: it counts tokens, caches prefixes, drafts, answers, and can be wrong in many ways.

Its model (fake_model) can do what the tools ask; `damage` and the fields of `Faults` make it wrong, and fake_handler answers.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from resolver.measure.server import Server
from resolver.serving.client import Client
from resolver.serving.secrets import Secret
from tests.fake_http import KEY, MODEL, ROOT, FakeHTTP, running
from tests.measure.fake_faults import Faults
from tests.measure.fake_handler import WIDTH, Handler
from tests.measure.fake_model import answer_to, bytes_of, ids

Damage = Callable[[int, int, str], str | None]


class FakeServer(FakeHTTP):
    """The server.

    Attributes:
        faults: what is wrong with it.
        damage: takes (templated length, cached tokens, the right answer) and may give another answer.
        reply: takes the messages and gives the right answer; the default one can do what the tools ask.
        block: tokens of a block of the cache.
        longest: the longest context.
        per_token, per_step: seconds that a prompt token and a step of decoding take.
        drafts: whether it drafts.
        unit: how many tokens " x" is; a tokenizer of bytes has two.
        cache_info: further labels of the cache's line.
    """

    def __init__(
        self,
        faults: Faults | None = None,
        damage: Damage | None = None,
        reply: Callable[[Sequence[dict[str, Any]]], str] | None = None,
        block: int = 16,
        longest: int = 4096,
        per_token: float = 0.0,
        per_step: float = 0.0,
        drafts: bool = True,
        tokenizer: Callable[[str], list[int]] = ids,
        cache_info: str = "",
        key: str | None = None,
        root: str = ROOT,
        address: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        self.faults, self.damage, self.reply = faults or Faults(), damage, reply or answer_to
        self.block, self.longest, self.per_token, self.per_step = block, longest, per_token, per_step
        self.drafts, self.tokenizer, self.cache_info, self.key = drafts, tokenizer, cache_info, key
        self.root = root
        self.cache: set[int] = set()
        self.counts: dict[str, float] = dict.fromkeys(
            (
                "prompt",
                "generated",
                "finished",
                "queries",
                "hits",
                "drafts",
                "drafted",
                "accepted",
                "decode_s",
                "preempted",
            ),
            0,
        )
        self.lock = threading.Lock()
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.generations = 0
        super().__init__(address, Handler)

    def server(self, wait: float = 20.0) -> Server:
        """It, as the tools take it."""
        return Server(Client("127.0.0.1", self.port, Secret(self.key) if self.key else None, wait), MODEL)

    def look_up(self, salt: str, tokens: Sequence[int]) -> int:
        """How much of a prompt the cache has; afterwards it has all whole blocks."""
        chain = zlib.crc32(salt.encode())
        hashes = []
        for at in range(0, len(tokens) - self.block + 1, self.block):
            chain = zlib.crc32(repr(tokens[at : at + self.block]).encode(), chain)
            hashes.append(chain)
        with self.lock:
            known = 0
            while known < len(hashes) and hashes[known] in self.cache:
                known += 1
            if self.faults.forgets:
                self.cache.clear()
            self.cache |= set(hashes)
        if self.faults.never_hits:
            return 0
        return min(known * self.block, (len(tokens) - 1) // self.block * self.block)

    def metrics(self) -> str:
        """The page of counters."""
        labels = f'{{engine="0",model_name="{MODEL}"}}'
        names = {
            "prompt": "prompt_tokens_total",
            "generated": "generation_tokens_total",
            "queries": "prefix_cache_queries_total",
            "hits": "prefix_cache_hits_total",
            "decode_s": "request_decode_time_seconds_sum",
            "preempted": "num_preemptions_total",
        }
        if self.drafts:
            names |= {
                "drafts": "spec_decode_num_drafts_total",
                "drafted": "spec_decode_num_draft_tokens_total",
                "accepted": "spec_decode_num_accepted_tokens_total",
            }
        with self.lock:
            counts = dict.fromkeys(self.counts, 0) if self.faults.frozen_metrics else dict(self.counts)
        lines = ["# HELP process_start_time_seconds Start", "process_start_time_seconds 1.5e+09"]
        lines += [f"vllm:{name}{labels} {float(counts[ours])}" for ours, name in names.items()]
        for reason, value in (("stop", 0.0), ("length", float(counts["finished"]))):
            lines.append(f'vllm:request_success_total{{engine="0",finished_reason="{reason}"}} {value}')
        lines += [
            f"vllm:num_requests_running{labels} {float(self.faults.busy)}",
            f"vllm:num_requests_waiting{labels} 0.0",
        ]
        if self.drafts:
            lines += [
                f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="{at}"}} 1.0' for at in range(WIDTH)
            ]
        lines.append(f'vllm:cache_config_info{{block_size="{self.block}",{self.cache_info}engine="0"}} 1.0')
        return "\n".join(lines) + "\n"


__all__ = [
    "KEY",
    "MODEL",
    "ROOT",
    "Damage",
    "FakeServer",
    "Faults",
    "Handler",
    "answer_to",
    "bytes_of",
    "ids",
    "running",
]
