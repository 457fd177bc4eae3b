"""What does a launch cost? The decode rate that somebody measured for its arm, on this GPU or on one like it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver.model import Arm
from resolver.views.evidence import Evidence, Figure, load_evidence
from resolver.views.figures import of_arm, value_text
from resolver.views.suggest_reach import ARM_KNOBS

if TYPE_CHECKING:
    from resolver.resolution import Resolution

_NOT_THE_MODEL = re.compile(r"^\d+x |\b\d+ GB\b| NVLink\b")
"""What a name of hardware has beside the card's model: how many, how much memory, how they are joined."""
UNMEASURED = "not measured on this GPU"
METRIC = "decode_tok_s"
VERBS = {"decode_tok_s": "decodes", "prefill_tok_s": "reads prompts at"}


@dataclass(frozen=True, slots=True)
class Cost:
    """`text` for people; `speed` in output tokens a second, 0 when nobody measured it on such a GPU; `figure` its id.

    `context` is the context in tokens that the figure was measured at, None when it does not say; `repeats` says that it was
    measured on answers that repeat their prompt.
    """

    text: str
    speed: float = 0.0
    figure: str | None = None
    context: int | None = None
    repeats: bool = False

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"text": self.text, "decode_tok_s": self.speed or None, "figure": self.figure}

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=4)
def _evidence(root: Path) -> Evidence:
    return load_evidence(root)


def rates(evidence: Evidence, arm: Arm, metric: str = METRIC, many: bool = False) -> list[Figure]:
    """The rates that speak of the arm as it is now, of one stream or of `many`, in the order of the files."""
    return [
        f
        for f in evidence.figures.values()
        if f.metric == metric
        and f.value is not None
        and f.superseded_by is None
        and (f.setup.get("streams", 1) > 1) == many
        and (f.id in arm.figures or of_arm(f, arm))
    ]


def cost_of(resolution: Resolution, metric: str = METRIC, context: int | None = None, many: bool = False) -> Cost:
    """The figure nearest to the launch.

    The same card comes before the same capability, then answers that do not repeat their prompt, one that says its context
    before one that does not, the same engine version, and the nearest context (in tokens).
    """
    arm = resolution.rules.arms.get(str(resolution.setting("arm")))
    capability = resolution.facts.get("gpu.capability")
    if arm is None or capability is None:
        return Cost("not measured on a CPU" if resolution.facts.get("device") == "cpu" else UNMEASURED)
    evidence = _evidence(resolution.resolver.root)
    alike = [
        f
        for f in rates(evidence, arm, metric, many)
        if evidence.capability(f) == capability and same_knobs(resolution, f)
    ]
    if not alike:
        return Cost(UNMEASURED)
    card = str(resolution.facts.get("gpu.name") or "")
    length = resolution.setting("max_model_len")
    wanted = context if context is not None else min(length, 16000) if isinstance(length, int) else 0
    count = resolution.setting("tensor_parallel_size") or 1

    def distance(figure: Figure) -> tuple[bool | int, ...]:
        gpus = evidence.hardware.get(figure.hardware or "", {}).get("gpus", 1)
        at = figure.setup.get("context_tokens")
        same = figure.engine is not None and figure.engine.startswith(resolution.engine.version)
        where = not same_card(figure.hardware, card), gpus != count
        return *where, evidence.repeats(figure), at is None, not same, abs((at or 0) - wanted)

    best = min(alike, key=distance)
    here = same_card(best.hardware, card)
    where = [best.hardware or "a GPU of this capability"]
    if "context_tokens" in best.setup:
        where.append(f"{best.setup['context_tokens']} tokens of context")
    else:
        where.append("context unknown")
    if "task" in best.setup:
        where.append(f"task: {best.setup['task']}")
    if many:
        where.append(f"{best.setup['streams']} streams")
    if best.engine:
        where.append(f"vLLM {best.engine}")
    verb = VERBS.get(metric, metric)
    text = f"{verb} {value_text(best)} ({', '.join(where)})" + ("" if here else f"; {UNMEASURED}")
    return Cost(
        text, float(best.value or 0) if here else 0.0, best.id, best.setup.get("context_tokens"), evidence.repeats(best)
    )


def same_knobs(resolution: Resolution, figure: Figure) -> bool:
    """Whether nothing that the figure states of its drafts and knobs differs from the launch; the arm is the same anyway."""
    drafts = figure.setup.get("draft_tokens")
    if drafts is not None and drafts != resolution.setting("num_speculative_tokens"):
        return False
    by_variable = resolution.resolver.table.by_variable
    for variable, text in figure.setup.get("knobs", {}).items():
        knob = by_variable.get(variable)
        if (
            knob is not None
            and knob.name not in ARM_KNOBS
            and str(resolution.render_lookup(knob.name)[1] or "") != str(text)
        ):
            return False
    return True


def same_card(hardware: str | None, card: str) -> bool:
    """Whether a figure's hardware is the machine's card: `RTX 3090 24 GB` and `NVIDIA GeForce RTX 3090`."""
    model = _NOT_THE_MODEL.sub("", hardware or "").strip()
    return bool(model) and model.casefold() in card.casefold()
