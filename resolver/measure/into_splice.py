"""Where in the text of profiles.yaml do new figures go? Beside their arm, by the positions of YAML's own nodes; all other bytes stay.

A library that writes YAML back would lay out the long lines of arms anew; here the text is only ever added to, in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from resolver.measure.flow import flow

KEY = "evidence"
BEFORE = ("sets", "measured", "figures")
"""Keys of an arm that the evidence stands behind, where the arm has none yet: behind the last of these."""


class NoPlace(Exception):
    """The text is not laid out in a way in which figures can be added; the message says where and why."""


def add(text: str, arm: str, items: Sequence[Mapping[str, Any]]) -> tuple[str, int, int]:
    """The text with figures added to an arm.

    Args:
        text: the whole file, line breaks as they are.
        arm: the arm's name.
        items: the figures, as plain data.

    Returns:
        The new text, and the characters of it between which it differs from the old one: all before the first and from
        the second on is the old text.

    Raises:
        NoPlace: there is no such arm, or its figures cannot be added to.
    """
    node = _arm(text, arm)
    evidence = _value(node, KEY)
    written = [flow(item) for item in items]
    if evidence is None:
        at, new = _first(text, node, written)
    elif not isinstance(evidence, yaml.SequenceNode):
        raise NoPlace(f"line {evidence.start_mark.line + 1}: the evidence of {arm} is no list")
    elif evidence.flow_style:
        at = evidence.end_mark.index - 1
        new = _separated(text, at, bool(evidence.value)) + ", ".join(written)
    else:
        at = _line_end(text, _last(evidence))
        dash = evidence.value[0].start_mark
        indent = _indent_of_dash(text, dash.index)
        new = _lines(text, at, [f"{indent}- {item}" for item in written])
    return text[:at] + new + text[at:], at, at + len(new)


def _arm(text: str, arm: str) -> yaml.MappingNode:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    arms = _value(root, "arms")
    node = _value(arms, arm)
    if not isinstance(node, yaml.MappingNode):
        raise NoPlace(f"there is no arm {arm}")
    return node


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((v for k, v in node.value if isinstance(k, yaml.ScalarNode) and k.value == key), None)


def _first(text: str, node: yaml.MappingNode, written: list[str]) -> tuple[int, str]:
    """The place of an arm's first figures, and their text."""
    if node.flow_style:
        at = node.end_mark.index - 1
        return at, f"{_separated(text, at, bool(node.value))}{KEY}: [{', '.join(written)}]"
    behind = [v for k, v in node.value if k.value in BEFORE] or [node.value[-1][1]]
    at = _line_end(text, _last(behind[-1]))
    first = node.value[0][0].start_mark
    indent = text[first.index - first.column : first.index]
    return at, _lines(text, at, [f"{indent}{KEY}:", *(f"{indent}  - {item}" for item in written)])


def _last(node: yaml.Node) -> int:
    """The index behind the last character of a node; of a block, of its last part, for blocks end where the next thing begins."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return _last(node.value[-1][1])
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _last(node.value[-1])
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        mark = node.end_mark
        return int(mark.index) - 1 if mark.index and mark.column == 0 else int(mark.index)
    return int(node.end_mark.index)


def _line_end(text: str, at: int) -> int:
    """The index behind the line break of the line that `at` is in, or the end of the text."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _lines(text: str, at: int, lines: list[str]) -> str:
    """Whole lines to put in at a line's beginning, with the line break that the text has there."""
    line_break = "\r\n" if text[:at].endswith("\r\n") or (at == len(text) and "\r\n" in text) else "\n"
    if at and not text[:at].endswith("\n"):  # the file ends without a line break, and shall again
        return "".join(line_break + line for line in lines)
    return "".join(line + line_break for line in lines)


def _separated(text: str, at: int, filled: bool) -> str:
    return "" if not filled or text[:at].rstrip().endswith(",") else ", "


def _indent_of_dash(text: str, at: int) -> str:
    """The spaces before the `-` that introduces the node at `at`."""
    line = text.rfind("\n", 0, at) + 1
    before = text[line:at]
    dash = before.rfind("-")
    if dash < 0 or before[:dash].strip():
        raise NoPlace(f"line {text.count(chr(10), 0, at) + 1}: the list of figures is not laid out one item a line")
    return before[:dash]
