"""Is a prompt that was seen before served from the cache? Proved by what the server counts, not by time.

A prompt shorter than two blocks is never reused, and blocks are up to thousands of tokens: so longer ones are tried until one hits.
"""

from __future__ import annotations

from collections.abc import Iterator

from resolver.serving.accept.basis import ROOM, NotApplicable, Refuted, Subject, cached, text

NAME = "prefix hit"
FIRST, MOST = 512, 65_536  # tokens of the shortest and the longest prompt that is tried
ANSWER = 8


def run(subject: Subject) -> str:
    """The same prompt twice; the second time part of it must come from the cache."""
    if not subject.caches_prefixes:
        raise NotApplicable("the launch caches no prefixes")
    tried = []
    for length in lengths(subject):
        prompt = subject.prompt(f"prefix {length}", length)
        cold = subject.complete(prompt, ANSWER)
        before = subject.server.counters()
        warm = subject.complete(prompt, ANSWER)
        hits = subject.server.counters().since(before).get("prefix_hits")
        said = cached(warm)
        if said or hits:
            early = cached(cold)
            if early and early * 2 > length:
                raise Refuted(
                    f"{early} of {length} tokens were cached before they were ever sent",
                    "give the server to nobody else meanwhile",
                )
            same = "the same answer" if text(warm) == text(cold) else "another answer than without the cache"
            return f"{int(said or hits or 0):,} of {length:,} tokens from the cache, {same}"
        tried.append(f"{length:,}")
    raise Refuted(
        f"prompts of {', '.join(tried)} tokens were sent twice, and nothing came from the cache",
        "start it again; if it stays so, set PREFIX_CACHE=0, which is what it is",
    )


def lengths(subject: Subject) -> Iterator[int]:
    """Lengths to try: three blocks where the engine says how long one is, then ever longer."""
    most = min(subject.longest() - ANSWER - ROOM - subject.query_tokens, MOST)
    block = subject.server.counters().block
    length = max(FIRST, 3 * block if block else FIRST)
    while length < most:
        yield length
        length *= 4
    yield max(1, most)
