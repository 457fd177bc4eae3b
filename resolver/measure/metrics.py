"""What do the engine's own counters say? Its /metrics page, read as Prometheus text; counters are of the whole server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from resolver.serving.client import LARGEST

_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)(?:\s+\S+)?\Z")
_POSITION, _BLOCK = re.compile(r"[0-9]{1,3}\Z"), re.compile(r"[1-9][0-9]{0,8}\Z")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')

NAMES = {
    "drafts": "vllm:spec_decode_num_drafts_total",
    "drafted": "vllm:spec_decode_num_draft_tokens_total",
    "accepted": "vllm:spec_decode_num_accepted_tokens_total",
    "prefix_queries": "vllm:prefix_cache_queries_total",
    "prefix_hits": "vllm:prefix_cache_hits_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generated": "vllm:generation_tokens_total",
    "finished": "vllm:request_success_total",
    "preemptions": "vllm:num_preemptions_total",
    "decode_s": "vllm:request_decode_time_seconds_sum",
}
"""Our name of a counter -> vLLM's (0.31.0); what several engines or reasons count is added up."""
RUNNING, WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"
PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
CACHE, BOOT = "vllm:cache_config_info", "process_start_time_seconds"


@dataclass(frozen=True, slots=True)
class Counters:
    """One look at the counters.

    Attributes:
        values: our name -> value; a counter that the page does not have is left out.
        busy: requests that run or wait at this moment.
        width: how many drafts the speculator proposes a step; 0 without one.
        cache: what the engine says of its cache, label -> text.
        boot: when its process started, in seconds since 1970; 0.0 where it does not say.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    busy: int = 0
    width: int = 0
    cache: Mapping[str, str] = field(default_factory=dict)
    boot: float = 0.0

    @property
    def there(self) -> bool:
        """Whether the page has what tells one client's traffic from another's."""
        return {"prompt_tokens", "generated", "finished"} <= set(self.values)

    @property
    def block(self) -> int | None:
        """Tokens in a block of the cache; None where the engine does not say."""
        text = self.cache.get("effective_attention_block_size") or self.cache.get("block_size") or ""
        return int(text) if _BLOCK.match(text) else None

    def since(self, before: Counters) -> dict[str, float]:
        """Return how far each counter moved since an earlier look."""
        return {name: value - before.values[name] for name, value in self.values.items() if name in before.values}


def parse(text: str) -> Counters:
    """Read a page. Lines that are no samples are passed over; a page of anything else gives no counters."""
    names = {theirs: ours for ours, theirs in NAMES.items()}
    values: dict[str, float] = {}
    cache: dict[str, str] = {}
    busy, boot, width = 0.0, 0.0, 0
    for line in text.splitlines():
        match = None if line.startswith("#") else _SAMPLE.match(line.strip())
        if not match:
            continue
        name = match["name"]
        if name not in names and name not in (RUNNING, WAITING, PER_POSITION, CACHE, BOOT):
            continue
        try:
            value = float(match["value"])
        except ValueError:
            continue
        if not 0 <= value <= LARGEST:  # NaN and the infinities are no counts either
            continue
        if name in names:
            values[names[name]] = values.get(names[name], 0.0) + value
        elif name in (RUNNING, WAITING):
            busy += value
        elif name == BOOT:
            boot = value
        else:
            labels = dict(_LABEL.findall(match["labels"] or ""))
            if name == CACHE:
                cache = labels
            elif _POSITION.match(labels.get("position", "")):
                width = max(width, int(labels["position"]) + 1)
    return Counters(values, int(busy), width, cache, boot)
