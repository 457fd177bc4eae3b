"""What does pip's output say? How much it fetched, and why it failed, in words that help."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

SIZES = {"bytes": 1, "kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
DOWNLOADING = re.compile(r"\s*Downloading (\S+?)(?:\.metadata)? \((\d+(?:\.\d+)?) (bytes|kB|MB|GB)\)")
SHOWN = 10_000_000  # bytes: a larger download gets a line of its own


class Reader:
    """Reads pip's lines as they come: sums the sizes of what it fetches and keeps the last lines."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """Start; `say` is called with a line for each large download."""
        self.fetched = 0
        self._say = say
        self._last: deque[str] = deque(maxlen=30)

    def line(self, text: str) -> None:
        """Take one line of pip's output."""
        self._last.append(text.rstrip())
        found = DOWNLOADING.match(text)
        if found is None:
            if text.startswith("Installing collected packages"):
                self._say("unpacking")
            return
        size = round(float(found[2]) * SIZES[found[3]])
        self.fetched += size
        if size >= SHOWN:
            self._say(f"fetching {found[1].split('-')[0]}, {size / 1e6:.0f} MB")

    def tail(self) -> list[str]:
        """Return the last lines that were read."""
        return list(self._last)


def explain(lines: list[str], torch: str) -> str:
    """Turn the last lines of a pip that failed into a message with a way out."""
    errors = [line for line in lines if line.startswith("ERROR")] or lines[-5:]
    text = "\n".join(errors)
    if "No matching distribution" in text and torch.split("==", maxsplit=1)[0] + "==" in text:
        fix = (
            f"{torch} is not in the package index that pip uses. PyTorch publishes its CPU builds in an index of its "
            "own: give that index's address with --torch-index"
        )
    elif "No space left" in text:
        fix = "the disk is full: free some room and run this again"
    elif re.search(r"[Tt]imed? ?out|Connection|resolution|retries", text):
        fix = "the package index was not reached: check the network and run this again; what was fetched is kept by pip"
    elif "No matching distribution" in text:
        fix = "the package index has no build of it for this Python and processor: Python 3.11 on x86_64 is what was tried"
    else:
        fix = "run this again; if it fails the same way, the lines above are pip's own"
    return f"pip failed:\n{text}\n{fix}"
