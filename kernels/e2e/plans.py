# SPDX-License-Identifier: Apache-2.0
"""Plans of a run: which launches, what each is asked, and in which order they are timed."""

from __future__ import annotations

from dataclasses import dataclass, field

from e2e import launches

CONTEXTS = ((1_000, True), (16_000, True), (64_000, True), (100_000, True))
SHORT = ((1_000, True), (16_000, True))
SLOW = ((1_000, True), (16_000, True), (100_000, True), (64_000, False))
"""For peers whose prefill takes long: 64,000 tokens only as the beginning of a prompt that was seen."""
COMPARED = ("mixed", "residues", "unlike")
INT8_BLOCK = 816


@dataclass(frozen=True)
class Work:
    """What one engine does: (context, whether the cold time is taken), and which answers.

    spoil: by how much the softmax scale of our kernels is wrong on purpose.
    """

    contexts: tuple[tuple[int, bool], ...] = ()
    answers: tuple[str, ...] = ()
    residue_block: int = INT8_BLOCK
    spoil: float = 0.0


@dataclass(frozen=True)
class Plan:
    """Engines in the order of their turns. `served` is started with `launch.py` itself and loaded over HTTP.

    boot_wait: seconds to wait for engines that boot slowly. reserve: seconds that timing leaves for the answers.
    after_load: seconds before the deadline when the load ends. soak: seconds of load by `e2e.soak_run` instead, which begin
    when nobody is timed any more and may outlast the run.
    """

    engines: dict[str, Work] = field(default_factory=dict)
    served: str | None = None
    boot_wait: float = 150.0
    reserve: float = 60.0
    after_load: float = 15.0
    soak: float = 0.0


ALL = {
    "smoke": Plan({
        "mtp3-custom-int8": Work(SHORT, COMPARED),
        "mtp3-triton-int8": Work(SHORT, COMPARED),
        "mtp3-flash-bf16": Work(SHORT, COMPARED),
        "mtp3-flash-bf16-verify": Work(SHORT, COMPARED),
        "mtp3-custom-bf16": Work(SHORT, COMPARED),
        "off-custom-int8": Work(SHORT, ("mixed",)),
        "dflash7-custom-int8": Work(SHORT, ("mixed",)),
        "tight-custom-int8": Work((), ("crowded",)),
    }, "served-custom-int8", boot_wait=140.0, reserve=30.0),
    "full": Plan({
        "mtp3-custom-int8": Work(CONTEXTS, (*COMPARED, "crowded")),
        "mtp3-flash-bf16": Work(CONTEXTS, COMPARED),
        "mtp3-flash-bf16-verify": Work(CONTEXTS, COMPARED),
        "off-custom-int8": Work(CONTEXTS, ("mixed",)),
        "off-flash-bf16": Work(CONTEXTS),
        "mtp3-custom-bf16": Work(CONTEXTS, COMPARED),
        "mtp7-custom-int8": Work(CONTEXTS, ("mixed",)),
        "dflash7-custom-int8": Work(CONTEXTS, ("mixed",)),
        "dflash7-flash-bf16": Work(CONTEXTS, ("mixed",)),
        "mtp3-triton-int8": Work(CONTEXTS, COMPARED),
        "off-triton-int8": Work(SLOW, ("mixed",)),
        "mtp3-triton-int8-verify": Work(SLOW, COMPARED),
        "dflash7-triton-int8-verify": Work(SLOW, ("mixed",)),
        "tight-custom-int8": Work((), ("crowded",)),
        "spoiled-custom-int8": Work((), ("mixed", "residues"), spoil=0.02),
    }, "served-custom-int8", boot_wait=120.0, reserve=110.0),
    "rest": Plan({
        "dflash7-triton-int8": Work(SLOW, ("mixed",)),
        "tight-custom-int8": Work((), ("crowded",)),
        "mtp3-custom-int8": Work((), ("crowded",)),
    }, boot_wait=70.0, reserve=30.0),
    "again": Plan({
        "mtp3-custom-int8": Work(CONTEXTS, (*COMPARED, "crowded")),
        "mtp3-flash-bf16": Work(CONTEXTS, COMPARED),
        "off-custom-int8": Work(CONTEXTS, ("mixed",)),
        "mtp7-custom-int8": Work(CONTEXTS, ("mixed",)),
        "dflash7-custom-int8": Work(CONTEXTS, ("mixed",)),
        "mtp3-triton-int8-verify": Work(SLOW, COMPARED),
        "dflash7-triton-int8": Work(SLOW, ("mixed",)),
        "mtp3-custom-bf16": Work((), COMPARED),
        "mtp3-flash-bf16-verify": Work((), COMPARED),
        "tight-custom-int8": Work((), ("crowded",)),
        "mtp3-triton-int8": Work((), COMPARED),
        "off-triton-int8": Work((), ("mixed",)),
        "spoiled-custom-int8": Work((), ("mixed",), spoil=0.02),
    }, "served-custom-int8", boot_wait=110.0, reserve=215.0, soak=1200.0),
}
"""`rest` is what `full` was without; `again` is both after the kernels were changed, and 20 minutes of load."""
assert all(name in launches.ALL for plan in ALL.values() for name in plan.engines)
