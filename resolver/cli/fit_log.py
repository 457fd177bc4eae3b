"""`launch.py fit --from-log FILE`: a boot against the prediction, line by line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver.cli.ask import ask
from resolver.cli.start import OK, REFUSED, put
from resolver.diagnostics import UsageError

if TYPE_CHECKING:
    from resolver.bootlog.compare import Line as Compared
    from resolver.bootlog.read import Boot
    from resolver.cli.options import Line
    from resolver.resolution import Resolution


def from_log(line: Line) -> int:
    """Print the comparison; exit status 1 when something differs. Raises UsageError for a file that is no boot log."""
    from resolver.bootlog.compare import compare
    from resolver.geometry.shapes import NoGeometry
    from resolver.views.fit_setup import asked

    boot = _boot(line.options["--from-log"])
    resolution = ask(line).resolution
    try:
        question = asked(resolution)
        rows = compare(
            boot,
            question,
            resolution.setting("effective_attention_backend"),
            resolution.setting("max_cudagraph_capture_size"),
        )
    except NoGeometry as none:
        raise UsageError(
            f"this launch has no arithmetic: {none.message}", none.fix or "name the launch that was booted"
        ) from None
    if line.given("--json"):
        from resolver.views.page import dump

        put(dump(_json(boot, rows, resolution)))
    else:
        _show(boot, rows)
    return REFUSED if any(row.answer.startswith("differs") for row in rows) else OK


def _boot(name: str) -> Boot:
    from resolver.bootlog.read import NoBoot, read_file

    try:
        return read_file(Path(name))
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}", "give the log of a boot") from None
    except NoBoot as none:
        raise UsageError(f"{name} is no boot log: {none}", "give what the engine wrote while it started") from None


def _json(boot: Boot, rows: list[Compared], resolution: Resolution) -> dict[str, Any]:
    return {
        "schema": 1,
        "engine": boot.version,
        "said": boot.said,
        "rows": [{"name": r.name, "predicted": r.predicted, "said": r.said, "answer": r.answer} for r in rows],
        "boot": data_point(boot, resolution),
    }


def data_point(boot: Boot, resolution: Resolution) -> dict[str, Any]:
    """The boot in the form of `boots` in rules/geometry.yaml; its figure is still to be named."""
    knobs = {knob.env: name for name, knob in resolution.rules.knobs.items()}
    out: dict[str, Any] = {
        "figure": None,
        "ask": {knobs[k]: v for k, v in resolution.effective_knobs.items() if k in knobs and k != "ENGINE_VENV"},
        "machine": resolution.machine.name,
        "outcome": boot.outcome,
    }
    if "pool_tokens" in boot.said:
        out["tokens"] = boot.said["pool_tokens"]
    if "available_gib" in boot.said:
        out["available_gib"] = boot.said["available_gib"]
    return out


def _show(boot: Boot, rows: list[Compared]) -> None:
    from resolver.views.page import stdout_page

    page = stdout_page()
    ended = {"runs": "it serves", "refuses": "too little memory for the pool", "dies": "out of memory"}
    page.pairs(
        [
            ("engine", f"vLLM {boot.version}" if boot.version else "the log does not say"),
            ("outcome", ended.get(boot.outcome or "", "the log ends before it serves")),
        ]
    )
    page.line()
    page.table(
        ("", "predicted", "in the log", ""), [(r.name, _text(r.predicted), _text(r.said), r.answer) for r in rows]
    )
    page.line()
    page.line(
        "the low and high end of what is predicted are given where it is a band; --json has the boot as a data point",
        "dim",
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        low, high = value
        return _text(low) if low == high else f"{_text(low)} to {_text(high)}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
