"""Read YAML as 1.2 core (so `off`, `no` and `on` stay strings), with the position of every node.

Anchors, aliases, tags, merge keys and duplicate keys are refused: a rule file says each thing once, where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from resolver import files
from resolver.diagnostics import Diagnostic, Position, RulesError

_MAX_DEPTH = 60
_FIX = "mend the text there: indentation, quotes, colons and brackets are the usual causes"

_INT = re.compile(r"[-+]?[0-9]+\Z")
_HEX_OCT = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")


class Document:
    """Plain data of one file and the positions of its nodes, asked by path (`("guards", "x", "when")`)."""

    def __init__(self, file: str, data: Any, root: yaml.Node | None) -> None:
        self.file = file
        self.data = data
        self._root = root

    def position(self, path: Iterable[str | int] = (), *, key: bool = False) -> Position:
        """Where the node at `path` starts (`key=True`: where its key stands). Falls back to the nearest parent."""
        node = self._root
        found = node.start_mark if node is not None else None
        for step in path:
            child = None
            if isinstance(node, yaml.MappingNode):
                for k, v in node.value:
                    if _scalar(k) == step or k.value == step:
                        found = k.start_mark if key else v.start_mark
                        child = v
                        break
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                child = node.value[step]
                found = child.start_mark
            if child is None:
                break
            node = child
        if found is None:
            return Position(self.file, 1, 1)
        return Position(self.file, found.line + 1, found.column + 1)


def _scalar(node: yaml.Node) -> Any:
    text: str = node.value
    if getattr(node, "style", None) in ("'", '"', "|", ">"):
        return text
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE"):
        return True
    if text in ("false", "False", "FALSE"):
        return False
    if len(text) <= 300:
        if _INT.match(text):
            return int(text)
        if _HEX_OCT.match(text):
            return int(text, 0)
        if _FLOAT.match(text):
            return float(text)
    return text


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.errors: list[Diagnostic] = []

    def fail(self, node: yaml.Node, message: str, fix: str | None = None) -> None:
        mark = node.start_mark
        self.errors.append(
            Diagnostic("error", "yaml", message, fix, Position(self.file, mark.line + 1, mark.column + 1))
        )

    def build(self, node: yaml.Node, depth: int = 0) -> Any:
        if depth > _MAX_DEPTH:
            self.fail(node, f"nested more than {_MAX_DEPTH} levels deep", "write it flat")
            return None
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, depth + 1) for child in node.value]
        out: dict[str, Any] = {}
        first: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.fail(key, "a key must be a word, not a list or a mapping", "write the key as one word")
                continue
            name = key.value
            if name == "<<":
                self.fail(key, "merge keys are not used here", "write the keys out")
                continue
            if name in first:
                line = first[name].start_mark.line + 1
                self.fail(key, f"duplicate key {name!r}: first given on line {line}", "keep one of the two")
                continue
            first[name] = key
            out[name] = self.build(value, depth + 1)
        return out


def _plain_event(event: Any, file: str) -> None:
    """Raises RulesError for what YAML has and rule files do not use."""
    where = Position(file, event.start_mark.line + 1, event.start_mark.column + 1)
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise RulesError(
            [Diagnostic("error", "yaml", "anchors and aliases are not used here", "write the value out", where)]
        )
    if getattr(event, "tag", None):
        raise RulesError([Diagnostic("error", "yaml", f"tags are not used here: {event.tag}", "remove the tag", where)])


def _quickly(text: str) -> yaml.Node | None:
    """The nodes by libyaml, where PyYAML has it and the text is one that nothing can be said against; else None."""
    loader = getattr(yaml, "CSafeLoader", None)
    if loader is None or not text or not text.isascii() or "\t" in text:
        return None
    depth = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                return None
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _MAX_DEPTH:
                return None
        return yaml.compose(text, Loader=loader)
    except yaml.YAMLError:
        return None


def parse(text: str, file: str) -> Document:
    """Parse one YAML document. Raises RulesError with every error that can be found in one pass."""
    quick = _quickly(text)
    if quick is not None:
        return _built(quick, file)
    try:
        depth = -1
        event: Any
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            _plain_event(event, file)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:  # said here, for a deep text takes the plain reader very long
                where = Position(file, event.start_mark.line + 1, event.start_mark.column + 1)
                raise RulesError(
                    [Diagnostic("error", "yaml", f"nested more than {_MAX_DEPTH} levels deep", "write it flat", where)]
                )
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Position(file, mark.line + 1 if mark else 1, mark.column + 1 if mark else 1)
        said = " ".join(part for part in (error.context, error.problem) if part)
        raise RulesError([Diagnostic("error", "yaml", f"not valid YAML: {said}", _FIX, where)]) from None
    except yaml.reader.ReaderError as error:
        column = error.position - (text.rfind("\n", 0, error.position) + 1) + 1
        where = Position(file, text.count("\n", 0, error.position) + 1, column)
        raise RulesError(
            [Diagnostic("error", "yaml", f"not valid YAML: {error.reason}", "remove the character", where)]
        ) from None
    except RecursionError:
        raise RulesError(
            [Diagnostic("error", "yaml", "nested too deep", "write it flat", Position(file, 1, 1))]
        ) from None
    return Document(file, None, None) if root is None else _built(root, file)


def _built(root: yaml.Node, file: str) -> Document:
    builder = _Builder(file)
    data = builder.build(root)
    if builder.errors:
        raise RulesError(builder.errors)
    return Document(file, data, root)


def read(path: Path, shown: str | None = None) -> Document:
    """Read and parse a file; `shown` is the name used in messages. Raises RulesError, never OSError."""
    file = shown or str(path)
    try:
        content = files.read_bytes(path)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        said = getattr(error, "strerror", None) or str(error)
        raise RulesError(
            [
                Diagnostic(
                    "error",
                    "file",
                    f"cannot read {file}: {said}",
                    "make it a file that is there and readable",
                    Position(file, 1, 1),
                )
            ]
        ) from None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        where = Position(file, before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        raise RulesError(
            [Diagnostic("error", "file", f"{file} is not UTF-8 (byte {error.start})", "save the file as UTF-8", where)]
        ) from None
    return parse(text, file)
