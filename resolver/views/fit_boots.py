"""The verdict against every boot that is known, and what the pools printed: write docs/reference/fit.md.

`python -m resolver.views.fit_boots` writes the page, `--check` only says whether it is up to date.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver.geometry.budget import GIB
from resolver.geometry.data import knowledge
from resolver.geometry.pool import numbers
from resolver.geometry.verdict import Verdict
from resolver.views.fit import verdict
from resolver.views.fit_setup import Asked, asked
from resolver.views.generated import put_page

if TYPE_CHECKING:
    from resolver.resolve import Resolver

PAGE = "docs/reference/fit.md"
ENGINE = "0.31.0+hyperqwen-0.31"
OUTCOME = {"runs": "it serves", "refuses": "the engine refuses to start", "dies": "it starts, and a request kills it"}


@dataclass(frozen=True)
class Row:
    """One boot: what fit says, what became of it, and what its pool printed against the arithmetic.

    Attributes:
        boot: the entry of rules/geometry.yaml.
        found: the verdict, which knows nothing of the boot.
        pages: the pages that the printed tokens stand for.
        whole: whether a whole number of pages prints exactly these tokens; None when nothing was printed.
        predicted: the tokens that follow from what the pool was said to have, as its two roundings.
    """

    boot: Mapping[str, Any]
    found: Verdict
    pages: float | None
    whole: bool | None
    predicted: tuple[int, int] | None

    @property
    def false_fit(self) -> bool:
        """Said to fit, and did not."""
        return self.found.answer == "fits" and self.boot["outcome"] != "runs"

    @property
    def false_refusal(self) -> bool:
        """Said not to fit, and did."""
        return self.found.answer == "does not fit" and self.boot["outcome"] == "runs"


def question(resolver: Resolver, boot: Mapping[str, Any]) -> Asked:
    """The question of one boot. Raises NoGeometry."""
    from resolver.machines import load_machine, with_facts
    from resolver.request import build

    knobs = [(k, v, "the boot") for k, v in boot["ask"].items() if k != "profile"]
    named = [(resolver.rules.knobs[k].env, text, origin) for k, text, origin in knobs]
    request = build(
        resolver.rules,
        resolver.table,
        profile=boot["ask"].get("profile"),
        assignments=named,
        environ={},
        args=boot.get("args", ()),
    )
    machine = load_machine(resolver.root, boot["machine"])
    machine = with_facts(resolver.root, machine, {**boot.get("facts", {}), "files": boot.get("files", {})})
    return asked(resolver.resolve(request, machine, resolver.engine_of(machine, ENGINE)))


def rows(resolver: Resolver) -> list[Row]:
    """All boots, in the order of the file."""
    out = []
    for boot in knowledge(resolver.root).boots:
        ask = question(resolver, boot)
        sheet = numbers(ask.setup)
        tokens = boot.get("tokens")
        request, length = sheet["request_pages"], ask.setup.max_model_len
        pages = tokens * request / length if tokens else None
        whole = None if pages is None else int(round(pages) / request * length) == tokens
        out.append(Row(boot, verdict(ask), pages, whole, _predicted(ask, boot.get("available_gib"))))
    return out


def _predicted(ask: Asked, available: float | None) -> tuple[int, int] | None:
    """The tokens that `available` GiB print; it was rounded to two digits, so there are two ends."""
    if available is None:
        return None
    low, high = (
        numbers(ask.setup._replace(pool_bytes=int((available + half) * GIB)))["printed_tokens"]
        for half in (-0.005, 0.005)
    )
    return low, high


def page(resolver: Resolver) -> str:
    """The page as Markdown."""
    found = rows(resolver)
    answers = Counter((row.found.answer, row.boot["outcome"]) for row in found)
    whole = [row for row in found if row.whole is not None]
    near = [row for row in found if row.predicted and row.boot.get("tokens")]
    inside = [row for row in near if row.predicted and row.predicted[0] <= row.boot["tokens"] <= row.predicted[1]]
    lines = [
        "# Fit: the verdict against the boots that are known",
        "",
        "Made from `rules/geometry.yaml` by `python -m resolver.views.fit_boots`. Do not edit.",
        "",
        f"{len(found)} boots. Said to fit and did not: **{sum(r.false_fit for r in found)}**. "
        f"Said not to fit and did: **{sum(r.false_refusal for r in found)}**.",
        f"Pools printed as a whole number of pages: {sum(bool(r.whole) for r in whole)} of {len(whole)}. "
        f"Pools that follow from the GiB the engine named: {len(inside)} of {len(near)}.",
        "",
        "The bands of memory beside the pool were derived from many of these same boots, so the table says that the",
        "verdict is consistent with them, not how it does on a card that nobody measured. The pools are arithmetic:",
        "nothing in them was fitted. Not in the table are pools that were written down rounded, and those of launches whose",
        "tier, length or cache the source does not tell.",
        "",
        "| verdict | it serves | refuses to start | dies on a request |",
        "|---|---|---|---|",
    ]
    for answer in ("fits", "tight", "does not fit", "unknown"):
        counts = " | ".join(str(answers[answer, outcome]) for outcome in OUTCOME)
        lines.append(f"| {answer} | {counts} |")
    lines += ["", "Margins are GiB of the question that decided. Figures: `launch.py figures`.", ""]
    lines += [
        "| figure | asked | verdict | margin | what became of it | printed tokens | in pages | from the GiB named |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|", *map(_line, found)]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    boot = row.boot
    ask = " ".join(v if k == "profile" else f"{k.upper()}={v}" for k, v in boot["ask"].items())
    words = " ".join(boot.get("args", ()))
    wsl = " (WSL)" if boot.get("facts", {}).get("wsl") else ""
    worst = next(q for q in row.found.questions if q.answer == row.found.answer)
    margin = "" if worst.margin is None else "{:+.2f} to {:+.2f}".format(*worst.margin)
    tokens = f"{boot['tokens']:,}" if "tokens" in boot else ""
    pages = "" if row.pages is None else f"{row.pages:.2f}"
    predicted = "" if row.predicted is None else " to ".join(f"{n:,}" for n in dict.fromkeys(row.predicted))
    mark = " **wrong**" if row.false_fit or row.false_refusal else ""
    return (
        f"| `{boot['figure']}` | {' '.join(filter(None, (ask, words)))} on {boot['machine']}{wsl} | {row.found.answer}{mark} | {margin} "
        f"| {OUTCOME[boot['outcome']]} | {tokens} | {pages} | {predicted} |"
    )


def main(arguments: list[str]) -> int:
    """Write the page, or with --check say whether it is up to date."""
    from resolver.compile import open_resolver

    resolver = open_resolver()
    return put_page(Path(resolver.root), PAGE, page(resolver), "resolver.views.fit_boots", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
