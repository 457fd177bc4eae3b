"""What does a launch need for itself alone? The cards that it runs on, and its port."""

from __future__ import annotations

from collections.abc import Iterable

from resolver.serving.probes.basis import Unknown, World
from resolver.serving.probes.cards import Card
from resolver.serving.probes.gpu import Gpus

CPU, ANY_GPU, SHARED = "cpu", "gpu", "+"
"""Who cannot tell the cards apart locks `gpu` for itself; who can locks its cards, and `gpu+`: the same file, shared."""


def keys(world: World, gpus: int, port: int | None) -> tuple[str, ...]:
    """The keys to lock, sorted: `port-N`, and `cpu` or one `gpu-…` a card.

    Args:
        world: the machine, and the environment that the engine gets.
        gpus: how many cards the launch uses; it uses the first ones that it sees.
        port: where it listens; None: on none.
    """
    found = set(_cards(Gpus(world), gpus))
    return tuple(sorted(found if port is None else {f"port-{port}", *found}))


def conflict(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two servers with these keys cannot run at once."""
    one, other = set(one), set(other)
    if any(not key.endswith(SHARED) for key in one & other):
        return True
    return any(ANY_GPU in a and any(key.startswith(ANY_GPU) for key in b) for a, b in ((one, other), (other, one)))


def _cards(asked: Gpus, gpus: int) -> list[str]:
    try:
        if asked.device() == "cpu":
            return [CPU]
        seen = asked.look()
    except Unknown:
        return [ANY_GPU]
    chosen = seen.cards[: max(1, gpus)] if seen.sure else seen.cards
    names = [_name(card, number) for number, card in enumerate(chosen)]
    return [*names, ANY_GPU + SHARED] if names else [ANY_GPU]


def _name(card: Card, number: int) -> str:
    """A card that does not tell its identity is known by its place."""
    word = "".join(letter if letter.isalnum() or letter == "-" else "-" for letter in card.uuid or str(number))
    return f"gpu-{word}"


def shown(key: str) -> str:
    """A key as people say it."""
    kind, _, rest = key.removesuffix(SHARED).partition("-")
    if kind == "port":
        return f"port {rest}"
    return "the CPU" if key == CPU else "the GPU" if not rest else f"the GPU {rest}"
