"""Ask every question once. What fails is unknown, with the reason; nothing stops the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from resolver.doctor import facts_gpu, facts_host, facts_model
from resolver.doctor.finding import Launch, Scene
from resolver.serving import probe
from resolver.serving.probes.basis import World

Question = Callable[[], object]


def questions(world: World, launch: Launch) -> dict[str, Question]:
    """Every fact's name with the function that finds it. Replace an entry to answer otherwise."""
    out: dict[str, Question] = dict(probe.questions(world))
    for name, question in facts_gpu.QUESTIONS.items():
        out[name] = partial(question, world)
    for name, question in {**facts_host.QUESTIONS, **facts_model.QUESTIONS}.items():
        out[name] = partial(question, world, launch)
    return out


def scene(asked: Mapping[str, Question], launch: Launch) -> tuple[Scene, dict[str, str]]:
    """The scene, and why some facts are unknown."""
    found = probe.ask(asked)  # type: ignore[arg-type]
    return Scene({name: value for name, value in found.facts.items() if value is not None}, launch), found.why
