"""`launch.py resolve --batch FILE`: many requests in one process, one JSON object a line in and out, in order."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from resolver import files
from resolver.cli.ask import choose_engine, load_env_file, probe_machine
from resolver.cli.options import Line
from resolver.cli.options import read as read_line
from resolver.cli.start import OK, REFUSED, USAGE, OutputError, without_packages
from resolver.compile import keep_knobs, open_resolver
from resolver.diagnostics import Diagnostic, RulesError, UsageError, nearest
from resolver.facts import Machine
from resolver.request import Request, build
from resolver.resolve import Resolver
from resolver.views.result import SCHEMA, as_json

KEYS = ("id", "profile", "knobs", "env", "args", "machine", "engine")
OWN = ("--profile", "--machine", "--engine")
"""The launcher's options that a request's `args` may hold."""
LONGEST = 4 << 20
"""Bytes of one line: more is no request."""
ENDLESS = 1 << 30
"""Bytes of one line that are passed over before the file is given up."""


class BadLine(Exception):
    """A line that is no request: what is wrong, and the fix."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class Batch:
    """What stays the same for every line: rules, the default machine, machines met so far, the env file."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.resolver: Resolver = open_resolver()
        if line.get("--engine"):
            self.resolver.engine(line.get("--engine"))
        self.notes: list[Diagnostic] = []
        self.env_file = load_env_file(self.resolver, line, self.notes)
        self.machines: dict[str, tuple[Machine, bool]] = {}
        if line.get("--machine"):
            self.machine(line.get("--machine"))

    def machine(self, wanted: Any) -> tuple[Machine, bool]:
        """The machine of a line, by name or as an object; None is the default. Each is made once."""
        if wanted is None:
            wanted = self.line.get("--machine")
        key = wanted if isinstance(wanted, str) else json.dumps(wanted, sort_keys=True)
        found = self.machines.get(key)
        if found is None:
            if len(self.machines) > 10_000:
                self.machines.clear()
            found = self.machines[key] = self._make(wanted)
        return found

    def _make(self, wanted: Any) -> tuple[Machine, bool]:
        from resolver.machines import inline_machine, load_machine

        if wanted is None:
            import os

            return probe_machine(self.resolver, Request(environ=dict(os.environ))), True
        if isinstance(wanted, str):
            return load_machine(self.resolver.root, wanted), False
        return inline_machine(self.resolver.root, wanted, "machine"), False

    def answer(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one request. Raises BadLine, UsageError and RulesError."""
        _check(data)
        resolver = self.resolver
        environ = dict(data.get("env") or {})
        assignments = []
        for name, value in (data.get("knobs") or {}).items():
            if value is None:
                continue
            text = "true" if value is True else "false" if value is False else str(value)
            knob = resolver.table.by_variable.get(name.upper())
            if knob is not None and knob.secret:
                environ[knob.env] = text
            else:
                assignments.append((name, text, f"knobs {name}"))
        typed = typed_words(data.get("args") or ())
        request = build(
            resolver.rules,
            resolver.table,
            profile=typed.get("--profile") or data.get("profile") or self.line.get("--profile"),
            assignments=[*assignments, *typed.assignments],
            environ=environ,
            env_file=self.env_file,
            args=typed.args or (),
        )
        machine, probed = self.machine(typed.get("--machine") or data.get("machine"))
        notes = list(self.notes)
        wanted = typed.get("--engine") or data.get("engine") or self.line.get("--engine")
        engine = choose_engine(resolver, wanted, machine, probed, notes)
        return as_json(resolver.resolve(request, machine, engine), notes, data.get("id"))


def typed_words(words: Sequence[str]) -> Line:
    """What words as typed on the command line say: options, KNOB=value, and behind `--` engine flags.

    Without a `--`, flags that are not the launcher's own are engine flags. Raises BadLine and UsageError.
    """
    if "--" not in words:
        own = 0
        while own < len(words) and ("=" in words[own] if not words[own].startswith("-") else words[own] in OWN):
            own += 2 if words[own] in OWN else 1
        words = [*words[:own], "--", *words[own:]]
    line = read_line(words)
    if line.words:
        raise BadLine(
            f"args: {line.words[0][0][:40]!r} is neither an option nor KNOB=value", "put engine flags behind `--`"
        )
    for name in line.options:
        if name not in OWN:
            raise BadLine(f"args: {name} has no meaning in a batch", f"use some of {', '.join(OWN)}")
    return line


def _check(data: Any) -> None:
    """Raises BadLine unless the request has the right shape."""
    if not isinstance(data, dict):
        raise BadLine("the line is JSON and no object", 'write {"id": 1, "profile": "mtp-fast"}, for example')
    for key in data:
        if key not in KEYS:
            near = nearest(key, KEYS)
            fix = f"did you mean {near}?" if near else f"use some of {', '.join(KEYS)}"
            raise BadLine(f"a request has no part {key[:40]!r}", fix)
    for key in ("profile", "engine"):
        if not isinstance(data.get(key), (str, type(None))):
            raise BadLine(f"{key} is no text", f'write "{key}": "NAME"')
    if not isinstance(data.get("machine"), (str, dict, type(None))):
        raise BadLine("machine is neither a name nor an object", 'write "machine": "rtx-3090", for example')
    knobs, env, args = data.get("knobs"), data.get("env"), data.get("args")
    if knobs is not None:
        if not isinstance(knobs, dict):
            raise BadLine("knobs is no object", 'write "knobs": {"CTX": "long"}, for example')
        for name, value in knobs.items():
            if not isinstance(value, (str, int, float, bool, type(None))):
                raise BadLine(f"the value of knob {name[:40]} is no text or number", "write it as text")
    if env is not None and not (isinstance(env, dict) and all(isinstance(v, str) for v in env.values())):
        raise BadLine("env is no object of texts", 'write "env": {"CUDA_HOME": "/usr/local/cuda"}, for example')
    if args is not None and not (isinstance(args, list) and all(isinstance(v, str) for v in args)):
        raise BadLine("args is no list of texts", 'write "args": ["--seed", "7"], for example')


def whole_lines(handle: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, a byte over LONGEST at most of each. Raises UsageError for a line that never ends."""
    number = 0
    while raw := handle.readline(LONGEST + 1):
        number += 1
        yield raw
        skipped = 0
        while len(raw) > LONGEST and not raw.endswith(b"\n"):
            raw = handle.readline(LONGEST + 1)
            skipped += len(raw)
            if skipped > ENDLESS:
                raise UsageError(
                    f"line {number} of the requests has no end within {ENDLESS >> 20} MiB",
                    "give a file with one JSON object a line",
                )
            if len(raw) <= LONGEST:
                break


def results(batch: Batch, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """For each line that is not blank: the exit status it stands for, and its result."""
    encode = json.JSONEncoder(separators=(",", ":")).encode
    for number, raw in enumerate(lines, 1):
        if raw.isspace():
            continue
        status, result = one(batch, number, raw)
        yield status, encode(result).encode("ascii") + b"\n"


def one(batch: Batch, number: int, raw: bytes) -> tuple[int, dict[str, Any]]:
    """One line's exit status and result."""
    request_id = None
    try:
        data = _parse(raw, number)
        request_id = data.get("id") if isinstance(data, dict) else None
        result = batch.answer(data)
        return (OK if result["ok"] else REFUSED), result
    except (BadLine, UsageError) as error:
        found = [Diagnostic("error", "batch-line", error.message, error.fix)]
    except RulesError as error:
        found = list(error.diagnostics)
    except RecursionError:
        found = [Diagnostic("error", "batch-line", "the line is nested too deep", "write a flat request")]
    bad = {"schema": SCHEMA, "id": request_id, "line": number, "ok": False, "argv": None}
    return USAGE, bad | {"diagnostics": [d.as_json() for d in found]}


def _parse(raw: bytes, number: int) -> Any:
    if len(raw) > LONGEST:
        raise BadLine(f"the line is longer than {LONGEST >> 20} MiB", "split the request")
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(f"the line is not UTF-8 text at byte {error.start + 1}", "save the file as UTF-8") from None
    try:
        return json.loads(text)
    except ValueError as error:
        column = getattr(error, "colno", 1)
        raise BadLine(f"the line is not JSON at column {column}", "write one JSON object a line") from None


def run_batch(line: Line) -> int:
    """Answer every line of the file; returns the worst exit status."""
    if line.assignments or line.args is not None:
        raise UsageError(
            "--batch takes knobs and engine flags from its lines, not from the command line",
            'write them into each line as "knobs" and "args"',
        )
    if line.get("--format") not in (None, "json"):
        raise UsageError("--batch prints JSON only", "leave out --format")
    name = line.get("--batch") or ""
    from importlib.util import find_spec

    missing = next((n for n in ("yaml", "jsonschema", "cerberus") if find_spec(n) is None), None)
    if missing:
        return without_packages(missing, False)
    if sys.stdout is None:
        raise OutputError("standard output is closed, so there is nowhere to print to")
    batch = Batch(line)
    if name == "-":
        if sys.stdin is None:
            raise UsageError(
                "standard input is closed, so --batch - has nothing to read", "give a file, or pipe into it"
            )
        return _answer_all(batch, sys.stdin.buffer, flush=True)
    try:
        handle = files.open_plain(name, pipe=True)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "it is no file name"
        raise UsageError(f"--batch {name} cannot be read ({said})", "give a file that is there and readable") from None
    with open(handle, "rb") as lines:
        return _answer_all(batch, lines, flush=False)


def _answer_all(batch: Batch, lines: BinaryIO, flush: bool) -> int:
    worst = OK
    out = sys.stdout.buffer
    gc.freeze()
    gc.enable()
    try:
        for status, result in results(batch, whole_lines(lines)):
            worst = max(worst, status)
            out.write(result)
            if flush:
                out.flush()
        out.flush()
    except OSError as error:
        raise OutputError(f"cannot read the requests or write the results ({error.strerror})") from None
    finally:
        gc.unfreeze()
    keep_knobs(batch.resolver)
    return worst
