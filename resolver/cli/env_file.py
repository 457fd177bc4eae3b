"""Read a file of KEY=VALUE lines. What cannot be read is an error with file:line:column; nothing is expanded or executed."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from resolver import files
from resolver.diagnostics import Diagnostic, Position, RulesError, UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXPANDS = re.compile(r"\$[A-Za-z_{(]|`")
_CLOSE = {"'": re.compile(r"'"), '"': re.compile(r'(?<!\\)(?:\\\\)*"')}
_ESCAPED = re.compile(r'\\([\\"$`])')


@dataclass(slots=True)
class EnvFile:
    """The variables of the file: name to (text, origin), and what should be said about it."""

    variables: dict[str, tuple[str, str]] = field(default_factory=dict)
    notes: list[Diagnostic] = field(default_factory=list)


class _Bad(Exception):
    """What is wrong, and at which character of the line (from 0)."""

    def __init__(self, message: str, fix: str, column: int) -> None:
        super().__init__(message)
        self.message, self.fix, self.column = message, fix, column


def read_env_file(name: str, knobs: Collection[str] = (), known: Collection[str] = ()) -> EnvFile:
    """Read the file. `knobs`: the variables of knobs, for the near-miss note; `known`: variables that are right as they are.

    Raises UsageError when there is no such file, RulesError with every bad line otherwise.
    """
    try:
        raw = files.read_bytes(name, pipe=True)
    except OSError as error:
        raise UsageError(
            f"--env-file {name} cannot be read ({error.strerror})", "give a file that is there and readable"
        ) from None
    except ValueError:
        raise UsageError("--env-file is no file name", "give a file that is there and readable") from None
    out = EnvFile()
    errors: list[Diagnostic] = []
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if b"\r\n" in raw:
        out.notes.append(_note("has Windows line ends, which were dropped", Position(name, 1, 1)))
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            found = _line(line.removesuffix(b"\r"))
            if found is None:
                continue
            key, text, column, warning = found
            where = Position(name, number, column + 1)
            if warning:
                out.notes.append(_note(warning, where))
            if key in out.variables:
                out.notes.append(_note(f"sets {key} again; the last line wins", where))
            out.variables[key] = (text, f"{where}")
            _near_miss(key, knobs, known, where, out)
        except _Bad as bad:
            errors.append(Diagnostic("error", "env-file", bad.message, bad.fix, Position(name, number, bad.column + 1)))
    if errors:
        raise RulesError(errors)
    return out


def _note(said: str, where: Position) -> Diagnostic:
    return Diagnostic("note", "env-file", f"{where} {said}")


def _near_miss(key: str, knobs: Collection[str], known: Collection[str], where: Position, out: EnvFile) -> None:
    if key in knobs or key in known:
        return
    import difflib

    near = difflib.get_close_matches(key.upper(), list(knobs), n=1, cutoff=0.85)
    if near:
        out.notes.append(_note(f"sets {key}, which is no knob; did you mean {near[0]}?", where))


def _line(raw: bytes) -> tuple[str, str, int, str | None] | None:
    """Key, text, the column of the key, and a warning; None for a line that says nothing."""
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8"))
        raise _Bad("the line is not UTF-8 text", "save the file as UTF-8", column) from None
    if "\0" in line or "\r" in line:
        raise _Bad("the line holds a control character", "remove it", min(i for i, c in enumerate(line) if c in "\0\r"))
    at = len(line) - len(line.lstrip())
    if at == len(line) or line[at] == "#":
        return None
    export = re.compile(r"export\s+").match(line, at)
    at = export.end() if export else at
    name = _NAME.match(line, at)
    if name is None:
        raise _Bad("the line starts with no variable name", "write KEY=VALUE, or start a comment with #", at)
    after = name.end()
    if line[after : after + 1] != "=":
        fix = "write KEY=VALUE without spaces around the ="
        raise _Bad(f"there is no = right after {name.group() if len(name.group()) <= 40 else 'the name'}", fix, after)
    text, warning = _value(line, after + 1)
    return name.group(), text, at, warning


def _value(line: str, at: int) -> tuple[str, str | None]:
    quote = line[at : at + 1]
    if quote in _CLOSE and quote:
        close = _CLOSE[quote].search(line, at + 1)
        if close is None:
            raise _Bad("the quote is never closed on this line", f"end the value with {quote}", at)
        end = close.end()
        rest = line[end:]
        if rest.strip() and not re.match(r"\s+#", rest):
            raise _Bad("something follows the closing quote", "quote the whole value once", end)
        inner = line[at + 1 : end - 1]
        if quote == "'":
            return inner, None
        return _ESCAPED.sub(r"\1", inner), _literal(re.sub(r"\\.", "", inner))
    bare = re.split(r"(?:^|\s+)#", line[at:], maxsplit=1)[0].rstrip()
    space = re.search(r"\s", bare)
    if space:
        raise _Bad("the value has a space and no quotes", "put quotes around the value", at + space.start())
    for i, char in enumerate(bare):
        if char in "'\"" and not bare.startswith(("{", "[")):
            raise _Bad("a quote stands inside the value", "put quotes around the whole value", at + i)
    return bare, _literal(bare)


def _literal(text: str) -> str | None:
    return (
        "has a $ or a backquote, which is taken as it stands: nothing is expanded here"
        if _EXPANDS.search(text)
        else None
    )
