"""What can be wrong with the server that is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Faults:
    """What is wrong with the server.

    Attributes:
        drop_after: parts of a stream, after which the connection is cut.
        keep_alive: comments between the parts.
        split: bytes of a part that are sent first, the rest a moment later.
        lie: "more", "zero", "prompt" or "shrinks": what its usage says that is not so.
        fail_after: requests, after which all answers are a 500.
        fail: what tells, from the number of the request, that it gets a 500.
        garbage: answers with this instead of an event.
        no_end: leaves out [DONE].
        never_hits: its cache serves nothing.
        always_hits: it says that everything came from the cache.
        foreign: tokens of somebody else that come with each request.
        busy: requests of others that run.
        no_metrics, frozen_metrics: has no counters, or they do not move.
        no_details: does not say how much was cached.
        no_running_usage: counts only in the end.
        no_tokenize: does not count tokens.
        one_piece: sends an answer whole.
        forgets: conversations evict each other: only the last prompt stays in the cache.
        preempts: each request is preempted once.
        buffers: a proxy that holds an answer back and hands it on all at once.
    """

    drop_after: int | None = None
    keep_alive: bool = False
    split: int = 0
    lie: str = ""
    fail_after: int | None = None
    fail: Callable[[int], bool] | None = None
    garbage: str | None = None
    no_end: bool = False
    never_hits: bool = False
    always_hits: bool = False
    foreign: int = 0
    busy: int = 0
    no_metrics: bool = False
    frozen_metrics: bool = False
    no_details: bool = False
    no_running_usage: bool = False
    no_tokenize: bool = False
    one_piece: bool = False
    forgets: bool = False
    buffers: bool = False
    preempts: bool = False
