"""Why did the engine die? Its own last error, found in its log, and what is known of such a death (rules/failures.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

FILE, SCHEMA = "rules/failures.yaml", "rules/schema/failures.json"
FATAL = re.compile(r"EngineCore encountered a fatal error|EngineDeadError|Engine core initialization failed")
"""Lines after which the engine serves nobody any more, whatever its /health says."""
MOST = 600  # characters of an error that are shown

_FRONT = re.compile(
    r"\A(?:\([\w-]+(?: \S+)? pid=\d+\)\s?)?(?:(?P<level>[A-Z]+) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?)?(?P<text>.*)\Z",
    re.DOTALL,
)
_ERROR = re.compile(
    r"\A(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Warning|Exit|NotFound)\b\s*(?::|\Z)"
)
_ARGUMENTS = re.compile(r"\A(?:\S+ )*?error: ")
_SECONDHAND = re.compile(
    r"Engine core initialization failed|EngineCore encountered an issue|WorkerProc initialization failed|"
    r"Worker failed with error|Frontend process failed|API server process .* died|\w*Warning:|"
    r"(KeyboardInterrupt|SystemExit|asyncio\.[\w.]*CancelledError|BrokenPipeError|ProcessLookupError|ConnectionResetError)\b"
)
"""Errors that only report another one, or that come of stopping."""


@dataclass(frozen=True)
class Signature:
    """A known death. `position` is where it stands in rules/failures.yaml; the rest is as there."""

    id: str
    pattern: re.Pattern[str]
    means: str
    fix: str
    source: str
    log: str
    position: str
    rule: str | None = None
    hazard: str | None = None
    doc: str | None = None

    def see(self) -> str:
        """Where more is said."""
        more = (
            f"rule {self.rule}" if self.rule else "",
            f"hazard {self.hazard}" if self.hazard else "",
            f"docs/{self.doc}" if self.doc else "",
            f"{self.id}, {self.position}",
        )
        return ", ".join(filter(None, more))


def load(root: Path) -> list[Signature]:
    """Read the known deaths, in order.

    Raises:
        RulesError: the file is missing or broken.
    """
    from resolver.diagnostics import Diagnostic, RulesError
    from resolver.load import schema
    from resolver.yaml12 import read

    document = read(root / FILE, FILE)
    schema.validate(document, root / SCHEMA)
    found = []
    for name, entry in document.data["failures"].items():
        position = document.position(("failures", name), key=True)
        try:
            pattern = re.compile(entry["pattern"])
        except re.error as error:
            message = f"the pattern of {name} is no regular expression: {error}"
            raise RulesError([Diagnostic("error", "failures", message, "correct it", position)]) from None
        found.append(Signature(name, position=str(position), **{**entry, "pattern": pattern}))
    return found


def explain(signatures: Iterable[Signature], lines: Sequence[str]) -> Signature | None:
    """Return the first of the known deaths that the log shows, or None."""
    return next((known for known in signatures if any(known.pattern.search(line) for line in lines)), None)


def last_error(lines: Sequence[str]) -> list[str]:
    """Return the engine's own last error, without the prefixes of its log; its last words where it shows none.

    vLLM reports an error once in each process that it passes through. The error is the last one that neither reports
    another nor comes of stopping.
    """
    texts = [_split(line) for line in lines]
    errors = [i for i, (_, text) in enumerate(texts) if _ERROR.match(text) or _ARGUMENTS.match(text)]
    own = [i for i in errors if not _SECONDHAND.search(texts[i][1])]
    if own or errors:
        at = (own or errors)[-1]
        found = [texts[at][1]]
        if "validation error" in found[0]:
            found += [text.strip() for _, text in texts[at + 1 : at + 3] if text.startswith("  ")]
    else:
        said = [text for level, text in texts if text.strip() and level in ("ERROR", "CRITICAL")]
        found = (said or [text for _, text in texts if text.strip()])[-3:]
    return [text if len(text) <= MOST else text[:MOST] + " ..." for text in found]


def _split(line: str) -> tuple[str | None, str]:
    match = _FRONT.match(line.rstrip())
    assert match
    return match["level"], match["text"]
