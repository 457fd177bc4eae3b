"""Type a printed command: read it as a shell and the launcher would, and resolve what it says."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from resolver.cli.options import read
from resolver.request import build
from resolver.resolution import Resolution


def typed(command: str, environ: Mapping[str, str], start: Resolution) -> Resolution:
    """What the command resolves to, typed in a shell with this environment, on the machine and engine of `start`."""
    words = shlex.split(command)
    environ = dict(environ)
    if words[0] == "env":
        words = words[1:]
        while words[0] == "-u":
            environ.pop(words[1], None)
            words = words[2:]
    assert words[:2] == ["python", "launch.py"], words
    line = read(words[2:])
    resolver = start.resolver
    asked = build(
        resolver.rules, resolver.table, profile=line.get("--profile"), assignments=line.assignments, environ=environ, args=line.args or ()
    )  # fmt: skip
    return resolver.resolve(asked, start.machine, start.engine)
