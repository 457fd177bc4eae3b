"""Did the engine take what the launch says? A flag can be accepted and have no effect; only the log tells."""

from __future__ import annotations

from resolver.bootlog.read import NoBoot, read_boot
from resolver.serving.accept.basis import NotApplicable, Refuted, Subject

NAME = "engine's own log"


def run(subject: Subject) -> str:
    """Attention backend and longest request, as the engine says them."""
    try:
        said = read_boot(subject.log()).said
    except NoBoot as none:
        raise NotApplicable(f"the log is not like one: {none}") from None
    backends = said.get("backends")
    if subject.backend and backends and subject.backend not in backends:
        raise Refuted(
            f"the launch asks for the backend {subject.backend}, and the engine uses {', '.join(backends)}",
            f"set ATTENTION_BACKEND={backends[0]}, or leave it out",
        )
    longest = said.get("max_model_len")
    if subject.max_model_len is not None and longest not in (None, subject.max_model_len):
        raise Refuted(
            f"the launch has {subject.max_model_len} tokens, and the engine uses {longest}", f"set MAX_LEN={longest}"
        )
    pool = said.get("pool_tokens")
    parts = [", ".join(backends or ()), f"{longest:,} tokens" if longest else "", f"pool of {pool:,}" if pool else ""]
    return "; ".join(filter(None, parts)) or "it says nothing of the launch"
