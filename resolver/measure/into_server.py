"""Is the server that was measured the launch that it is said to be? Its name, model, longest context, engine, and how it was started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from resolver.measure.configuration import portable
from resolver.measure.setup import hash_of
from resolver.serving.errors import LaunchError

if TYPE_CHECKING:
    from resolver.resolution import Resolution


class Said(Protocol):
    """What a server says of itself: `/v1/models` and `/version`; an empty text and 0 are unknown."""

    @property
    def model(self) -> str: ...

    @property
    def root(self) -> str: ...

    @property
    def max_model_len(self) -> int: ...

    @property
    def version(self) -> str: ...


def differences(said: Said, resolution: Resolution, running: str | None = None) -> Iterator[str]:
    """Yield each way in which the server is not the launch, in a few words.

    Args:
        said: what the server says.
        resolution: the launch that it should be.
        running: the configuration hash that the launcher's own records have of the server; None where there is none.
    """
    typed = resolution.passthrough.last.get("served_model_name")
    first = typed[0] if isinstance(typed, list | tuple) and typed else typed
    name = str(first or resolution.setting("served_model_name"))
    if said.model != name:
        yield f"it serves {said.model or 'no model'}, not {name}"
    path = resolution.setting("served_model")
    if said.root and path is not None and portable(said.root) != portable(str(path)):
        yield f"its model is {portable(said.root)}, not {portable(str(path))}"
    length = resolution.setting("length_in_force")
    if isinstance(length, int) and length > 0 and said.max_model_len != length:
        yield f"its longest context is {said.max_model_len or 'unknown'}, not {length}"
    version = said.version.partition("+")[0]
    if version != resolution.engine.version:
        yield f"its engine is vLLM {said.version or 'unknown'}, not {resolution.engine.version}"
    if running is not None and running != hash_of(resolution):
        yield "`launch.py` started it with other words or variables than this launch has"


def confirm(said: Said, resolution: Resolution, arm: str, running: str | None = None) -> None:
    """Let nothing pass that would be recorded as evidence of a launch that did not run.

    Args:
        said: what the server says of itself.
        resolution: the launch that it should be.
        arm: the arm that the evidence is for.
        running: as in `differences`.

    Raises:
        LaunchError: the launch is refused, takes another arm, or is not what runs; all differences are named.
    """
    taken = resolution.setting("arm")
    if arm not in resolution.rules.arms:
        from resolver.diagnostics import nearest

        near = nearest(arm, list(resolution.rules.arms))
        raise LaunchError(f"there is no arm {arm}", f"did you mean {near}?" if near else "see `launch.py arms`")
    if taken != arm:
        raise LaunchError(
            f"this launch takes the arm {taken}, so what is measured on it is no evidence of {arm}",
            f"write --into {taken}, or give the knobs that take {arm} (see `launch.py arms`)",
        )
    if resolution.refused:
        first = next((d for d in resolution.diagnostics if d.severity in ("refuse", "error")), None)
        raise LaunchError(
            f"this launch is refused{f' ({first.rule})' if first else ''}, so nothing that runs is it",
            "see `launch.py resolve` with the same words",
        )
    found = list(differences(said, resolution, running))
    if found:
        raise LaunchError(
            f"the server is not the launch that the figures would be recorded for: {'; '.join(found)}",
            "give the profile, knobs and flags that it was started with, or start that launch with `launch.py serve`",
        )
