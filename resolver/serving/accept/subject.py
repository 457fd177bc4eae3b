"""What does a launch say of the server that it becomes, as far as the battery must know?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver import files
from resolver.measure.server import WAIT, Server
from resolver.serving.accept.basis import Subject

if TYPE_CHECKING:
    from resolver.resolution import Resolution
    from resolver.serving.owned_run import Wanted


def subject(resolution: Resolution, wanted: Wanted, log: Path) -> Subject:
    """The subject of an accepted launch.

    Args:
        resolution: the launch.
        wanted: how it is started, and how its card's memory is read.
        log: the file that gets the engine's log.
    """
    target = wanted.plan.target
    drafts = resolution.setting("num_speculative_tokens") if resolution.setting("spec_method") else 0
    eager = resolution.lookup("enforce_eager") == "on" or "enforce_eager" in resolution.passthrough.flags
    captured = _last(resolution, "max_cudagraph_capture_size")
    return Subject(
        target,
        Server(replace(target.client, wait=WAIT), target.model),
        _number(_last(resolution, "max_model_len")),
        _number(_last(resolution, "max_num_seqs")) or 1,
        1 + (_number(drafts) or 0),
        None if eager else _number(captured),
        resolution.setting("effective_attention_backend"),
        resolution.setting("caches_prefixes") == "on",
        resolution.lookup("file.served_model.bytes"),
        _free(wanted),
        _number(resolution.setting("free_mib_that_died")),
        resolution.setting("on_wsl") == "on",
        lambda: _lines(log),
    )


def _last(resolution: Resolution, name: str) -> Any:
    """The user's own flag, which comes last and wins; else the setting."""
    own = resolution.passthrough.last.get(name)
    return resolution.setting(name) if own is None else own


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _free(wanted: Wanted) -> Callable[[], int | None]:
    def read() -> int | None:
        seen = wanted.free()
        return None if seen is None else seen[1]

    return read


def _lines(log: Path) -> list[str]:
    try:
        return files.read_text(log).splitlines()
    except (OSError, ValueError):
        return []
