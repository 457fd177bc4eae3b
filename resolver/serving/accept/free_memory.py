"""Is enough of the card's memory left after the boot? Asked before any load, for so were the figures that it is compared with."""

from __future__ import annotations

from resolver.serving.accept.basis import NotApplicable, Refuted, Subject

NAME = "free memory"


def run(subject: Subject) -> str:
    """What is free now; less than what a launch like this one died with is too little."""
    free = subject.free_mib()
    if free is None:
        raise NotApplicable("there is no card, or it does not say")
    if subject.wsl:
        return f"{free} MiB, of which Windows may have moved some to the host"
    if subject.floor_mib is not None and free <= subject.floor_mib:
        raise Refuted(
            f"{free} MiB are free, and with {subject.floor_mib} such a launch died under load",
            "lower KV_MEM by 200 MiB, or MAX_SEQS",
        )
    return f"{free} MiB"
