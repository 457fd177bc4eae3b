"""Conditions and values in words, for messages and views."""

from __future__ import annotations

from resolver.compile.helpers import show
from resolver.conditions import All, Condition, Leaf, Not, Ref


def leaf_text(leaf: Leaf) -> str:
    """`ctx is long or huge`, `draft_tokens > 7`, `dynamic_k is given`."""
    if leaf.op == "state":
        return f"{leaf.name} is {leaf.operand}"
    if leaf.op == "unknown":
        return f"{leaf.name} is unknown"
    if leaf.op == "is":
        return f"{leaf.name} is {' or '.join(show(item) for item in leaf.operand)}"
    right = leaf.operand.name if isinstance(leaf.operand, Ref) else show(leaf.operand)
    return f"{leaf.name} {leaf.op} {right}"


def condition_text(condition: Condition, inside: bool = False) -> str:
    """A condition in one line."""
    if isinstance(condition, Leaf):
        return leaf_text(condition)
    if isinstance(condition, Not):
        if isinstance(condition.inner, Leaf) and condition.inner.op != "<":
            text = leaf_text(condition.inner)
            return text.replace(" is ", " is not ", 1) if " is " in text else f"not {text}"
        return f"not ({condition_text(condition.inner)})"
    word = " and " if isinstance(condition, All) else " or "
    text = word.join(condition_text(p, inside=len(condition.parts) > 1) for p in condition.parts) or "always"
    return f"({text})" if inside and len(condition.parts) > 1 else text
