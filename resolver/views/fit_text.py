"""The answer to `launch.py fit` for people: the verdict first, then the numbers, then what could be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resolver.geometry.budget import parts
from resolver.geometry.data import Band
from resolver.views.fit import END, grouping_note, printed, sheets, solved, trades, verdict

if TYPE_CHECKING:
    from resolver.views.fit_setup import Asked
    from resolver.views.page import Page

STYLE = {"fits": "good", "tight": "warn", "does not fit": "refuse", "unknown": "warn"}
SHOWN = ("block", "page_bytes", "pool_pages", "context_pages", "state_pages", "drafter_pages", "request_pages")


def show(ask: Asked, page: Page, what: str | None, formulas: bool, quiet: bool) -> None:
    """Write the answer on a page."""
    found = verdict(ask)
    page.line(found.answer, STYLE[found.answer])
    page.table(
        ("", "answer", "need GiB", "have GiB", "margin GiB"),
        [(q.name, q.answer, _band(q.need), _band(q.have), _margin(q.margin)) for q in found.questions],
    )
    if what:
        page.line()
        for end, value in solved(ask, found, what).items():
            page.line(f"largest {what}{_end(end)}: {_solved(value)}", "bold")
        if not sheets(ask, found) or found.pool is None:
            page.line(f"largest {what}: unknown, as the pool is", "warn")
    if quiet:
        return
    for end, sheet in sheets(ask, found).items():
        page.line()
        if "printed_tokens" in sheet:
            page.line(f"the engine will print{_end(end)}", "bold")
            page.verbatim(f"  {printed(sheet, ask.setup, ask.host_pool)}")
            high = sheet.get("residents_high")
            held = (
                f"{sheet['residents_low']} to {high}"
                if high is not None and high > sheet["residents_low"]
                else f"{sheet['residents_low']}"
            )
            page.line(f"holds {held} requests at once, {sheet['residents_at_max_len']} at full length", indent=2)
        page.pairs([(name, f"{sheet[name]:,}") for name in SHOWN if name in sheet], indent=2)
        if formulas:
            _formulas(sheet, page)
    page.line(grouping_note(ask.setup), "dim")
    _parts(ask, page)
    rows = trades(ask, found)
    if rows:
        page.line()
        page.line(
            "which knob buys how much"
            + (" (at the low end of the pool)" if found.pool and found.pool.low != found.pool.high else ""),
            "bold",
        )
        page.table(
            ("change", "prints tokens", "longest request", "requests: full / short / empty"), [_row(r) for r in rows]
        )


def _formulas(sheet: Any, page: Page) -> None:
    page.line()
    for number in sheet:
        head = f"{number.name} = {number.value:,} {number.unit}"
        page.line(f"{head}  ({number.note})" if number.note else head, indent=2)
        if number.formula:
            page.line(f"= {number.formula}", "dim", indent=4)
            page.line(f"= {number.filled}", "dim", indent=4)


def _parts(ask: Asked, page: Page) -> None:
    if ask.load is None:
        return
    found = parts(ask.known, ask.load)
    if not found:
        return
    page.line()
    page.line("beside the pool", "bold")
    page.table(
        ("", "GiB", "source"),
        [
            (p.name, _band(p.band), p.band.source + (f" ({', '.join(p.band.figures)})" if p.band.figures else ""))
            for p in found
        ],
    )


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    if "why_not" in row:
        return row["change"], row["why_not"], "", ""
    seats = row["seats"]
    return (
        row["change"],
        f"{row['printed_tokens']:,}" + ("" if row["fits"] else " (too few)"),
        f"{row['max_model_len']:,}",
        f"{seats['at_full_length']} / {seats['short']} / {seats['empty']}",
    )


def _end(end: str) -> str:
    return f" ({END[end]})" if end in END else ""


def _solved(value: Any) -> str:
    if value is None:
        return "none fits"
    if isinstance(value, dict):
        return f"{value['at_full_length']} at full length, {value['short']} short ones, {value['empty']} before any context"
    return f"{value:,}"


def _band(band: Band | None) -> str:
    if band is None:
        return "unknown"
    if abs(band.high - band.low) < 0.005:
        return f"{band.low:.2f}"
    return f"{band.low:.2f} to {band.high:.2f}"


def _margin(margin: tuple[float, float] | None) -> str:
    if margin is None:
        return "unknown"
    low, high = margin
    return f"{low:+.2f}" if abs(high - low) < 0.005 else f"{low:+.2f} to {high:+.2f}"
