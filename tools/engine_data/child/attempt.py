"""Runs one step that may refuse, and turns every way of refusing into a text."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from typing import Any

ERROR_LINE = re.compile(r"^vllm(?: serve)?: error: ", re.MULTILINE)
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def attempt(step: Callable[[], Any]) -> tuple[Any, str | None]:
    """(result, None) when the step returns; (None, reason) when it raises or exits.

    An exit with status 0 (help, version) is a refusal too: nothing would be served. The reason is argparse's own text
    without its usage, or the exception's name and text.
    """
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
            return step(), None
    except SystemExit as stop:
        parts = ERROR_LINE.split(output.getvalue(), maxsplit=1)
        said = ADDRESS.sub("", parts[-1].strip())
        return None, said if len(parts) == 2 else f"exit {stop.code} without an error (help or version)"
    except Exception as error:  # whatever stops a launch is the answer
        return None, f"{type(error).__name__}: {error}"
