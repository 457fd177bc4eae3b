"""Speed over context, arm by arm, as a picture. The same figures give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from resolver import output_files
from resolver.diagnostics import UsageError
from resolver.model import Rules
from resolver.serving.errors import LaunchError
from resolver.views.evidence import Evidence, Figure
from resolver.views.figures import of_arm

UNKNOWN = "unknown"
METRIC = "decode_tok_s"
KINDS = (".svg", ".png")
MARKS = "osD^vP*Xh<>d"
Series = tuple[str, str, str, int, str]
"""Arm, hardware, engine, streams, task: points of one line differ in nothing of this."""


def series(rules: Rules, figures: Iterable[Figure], metric: str = METRIC) -> dict[Series, list[tuple[int, Figure]]]:
    """The figures that have a place in the picture: each with an arm, a context and a value, sorted by context.

    Two values at one context are two points: they are neither averaged nor left out. Superseded figures are left out.
    """
    found: dict[Series, list[tuple[int, Figure]]] = {}
    for figure in figures:
        context = figure.setup.get("context_tokens")
        if figure.metric != metric or figure.value is None or figure.superseded_by or not isinstance(context, int):
            continue
        for arm in arms_of(rules, figure):
            streams, task = int(figure.setup.get("streams", 1)), str(figure.setup.get("task", ""))
            key = (arm, figure.hardware or "unknown hardware", figure.engine or UNKNOWN, streams, task)
            found.setdefault(key, []).append((context, figure))
    return {key: sorted(found[key], key=lambda p: (p[0], p[1].value or 0, p[1].id)) for key in sorted(found)}


def arms_of(rules: Rules, figure: Figure) -> list[str]:
    """The arms that quote a figure; of one that nobody quotes the arm that its record fits, where it fits one only."""
    quoting = [arm.name for arm in rules.arms.values() if figure.id in arm.figures]
    fitting = [arm.name for arm in rules.arms.values() if of_arm(figure, arm)]
    return quoting or (fitting if len(fitting) == 1 else [])


def label(key: Series) -> str:
    """How a line is called."""
    arm, hardware, engine, streams, task = key
    parts = [arm, hardware, "engine unknown" if engine == UNKNOWN else f"vLLM {engine}"]
    if streams != 1:
        parts.append(f"{streams} streams")
    return ", ".join([*parts, task] if task else parts)


def plot(rules: Rules, evidence: Evidence, figures: Iterable[Figure], path: Path, metric: str = METRIC) -> int:
    """Draw the figures into a PNG or SVG file.

    Returns:
        How many points were drawn.

    Raises:
        UsageError: the file is neither, no figure has a place, or matplotlib is not installed.
        LaunchError: the file cannot be written.
    """
    check(path)
    found = series(rules, figures, metric)
    if not found:
        raise UsageError(
            f"no figure of {metric} fits that has an arm, a context and a value",
            "leave an option out, or name another --metric, such as prefill_tok_s",
        )
    picture = _picture(found, metric, evidence)
    try:
        _save(picture, path)
    except OSError as error:
        raise _unwritable(path, error) from None
    return sum(len(points) for points in found.values())


def check(path: Path) -> None:
    """Refuse a file that cannot be drawn into, before anything is read.

    Raises:
        UsageError: it is neither PNG nor SVG.
        LaunchError: it cannot be written.
    """
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"{path.name} ends neither in .svg nor in .png", "write --plot speed.svg, for example")
    try:
        output_files.check(path)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> LaunchError:
    return LaunchError(f"{path} cannot be written ({error.strerror})", "name another file with --plot")


def _picture(found: dict[Series, list[tuple[int, Figure]]], metric: str, evidence: Evidence) -> Any:
    try:
        matplotlib: Any = import_module("matplotlib")
        draw: Any = import_module("matplotlib.figure").Figure
    except ImportError:
        raise UsageError(
            "--plot needs matplotlib, which is not installed", "run .venv/bin/pip install 'matplotlib>=3.9' once"
        ) from None
    matplotlib.rcdefaults()
    matplotlib.rcParams["svg.hashsalt"] = "launch-resolver"
    columns = min(3, -(-len(found) // 8))
    picture = draw(figsize=(12, 5.5 + 0.17 * -(-len(found) // columns)), layout="constrained")
    axes = picture.add_subplot()
    colors = matplotlib.colormaps["tab20"].colors
    arms = list(dict.fromkeys(key[0] for key in found))
    for number, (key, points) in enumerate(found.items()):
        color = colors[arms.index(key[0]) % len(colors)]
        axes.plot(
            [context / 1000 for context, _ in points],
            [figure.value or 0 for _, figure in points],
            marker=MARKS[number % len(MARKS)],
            color=color,
            linewidth=1.2,
            label=label(key),
        )
        for context, figure in points:
            if figure.low is not None and figure.high is not None:
                axes.vlines(context / 1000, figure.low, figure.high, color=color, linewidth=1)
    means = evidence.metrics.get(metric, {})
    axes.set_xlabel("context in thousands of tokens")
    axes.set_ylabel(f"{metric} in {means.get('unit', '')}: {means.get('means', '')}".rstrip(": "), fontsize=8)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.grid(True, linewidth=0.3)
    picture.legend(loc="outside lower left", fontsize=6.5, frameon=False, ncols=columns)
    return picture


def _save(picture: Any, path: Path) -> None:
    """Write the file whole or not at all, without the date and the program's name in it."""
    import io

    made = io.BytesIO()
    if path.suffix.lower() == ".svg":
        picture.savefig(made, format="svg", metadata={"Date": None, "Creator": None})
    else:
        picture.savefig(made, format="png", dpi=120, metadata={"Software": None})
    output_files.replace(path, made.getvalue())
