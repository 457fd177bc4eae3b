"""Where does one value come from? Settings, knobs and facts with the row, the inputs and what they beat; conditions leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from resolver import expressions
from resolver.compile.helpers import HELPERS, show
from resolver.conditions import All, Any_, Condition, Leaf, Not, Ref
from resolver.expressions import Const, Expression, Name, Operation
from resolver.interpret import deciding, holds, leaf_holds
from resolver.masking import hide_in_word, mask, mask_text, secret_flag
from resolver.model import Row
from resolver.wording import condition_text, leaf_text

if TYPE_CHECKING:
    from resolver.resolution import Resolution

_OPERATION = {"+": "add", "-": "sub", "*": "mul", "//": "div"}
STATES = ("unset", "empty", "given")


def evaluate(resolution: Resolution, expression: Expression) -> Any:
    """The value an expression would give here: for rows that were not taken."""
    if isinstance(expression, Const):
        return expression.value
    if isinstance(expression, Name):
        return resolution.lookup(expression.name)
    if isinstance(expression, Operation):
        name = _OPERATION.get(expression.operator, expression.operator)
        return HELPERS[f"_op_{name}"](*(evaluate(resolution, a) for a in expression.arguments))
    parts = [p if isinstance(p, str) else text_of(resolution, p.name) for p in expression.parts]
    return HELPERS["_join"](*parts)


def text_of(resolution: Resolution, name: str) -> str | None:
    """A name's value as text, the user's own where there is one; None for null, `(not shown)` for a secret."""
    text = _text_of(resolution, name)
    return None if text is None else hide_in_word(text)


def _text_of(resolution: Resolution, name: str) -> str | None:
    meaning = resolution.resolver.scope.meaning(name)
    if meaning is not None and meaning.kind in ("knob", "setting"):
        knob = resolution.rules.knobs.get(name)
        if knob is not None and knob.secret:
            return None if resolution.knob_state(name) != 2 else "(not shown)"
        value, text = resolution.render_lookup(name)
        if knob is not None and knob.type == "words" and text:
            return mask_text(text)
        return text or (None if value is None else show(value))
    if meaning is not None and meaning.kind in ("extra_last", "extra_any"):
        if secret_flag("--" + meaning.base.replace("_", "-")):
            return "(not shown)" if meaning.base in resolution.passthrough.flags else None
        if meaning.kind == "extra_last":
            return resolution.passthrough.last_text.get(meaning.base)
    found = resolution.lookup(name)
    if isinstance(found, (tuple, frozenset, set)):
        return ", ".join(sorted(map(show, found))) or None
    return None if found is None else show(found)


def origin_of(resolution: Resolution, name: str) -> str:
    """Where a name's value comes from: a knob's layer, a row, the machine, or the engine flags."""
    meaning = resolution.resolver.scope.meaning(name)
    if meaning is None:
        return "nothing is called so"
    rules = resolution.rules
    if meaning.base in rules.knobs and meaning.kind in ("knob", "reading"):
        given = resolution.request.knobs.get(meaning.base)
        if given is not None and not resolution.readings[meaning.base].problem:
            return given.origin
        position = rules.knobs[meaning.base].position
        return f"default, {position}" if rules.knobs[meaning.base].default is not None else f"unset, {position}"
    if meaning.base in rules.settings:
        row = resolution.winning_row(meaning.base)
        return str(row.position) if row else f"no row of {rules.settings[meaning.base].position} matched"
    if meaning.kind == "fact":
        if meaning.base.startswith("engine."):
            return f"engine {resolution.engine.name}"
        return f"machine {resolution.machine.name}"
    if meaning.kind == "choices":
        return f"engine {resolution.engine.name}"
    given = resolution.request.knobs.get("extra_args")
    places = [*(["after --"] if resolution.request.args else []), *([f"EXTRA_ARGS, {given.origin}"] if given else [])]
    return f"engine flags ({' and '.join(places)})" if places else "no engine flags"


def kind_of(resolution: Resolution, name: str) -> str:
    """What a name is: knob, setting, fact, file, flags or choices."""
    meaning = resolution.resolver.scope.meaning(name)
    kind = meaning.kind if meaning else "unknown"
    return (
        "flags"
        if kind.startswith("extra")
        else "knob"
        if kind == "reading" and meaning and meaning.base in resolution.rules.knobs
        else kind
    )


def inputs(resolution: Resolution, names: Iterator[str]) -> list[dict[str, Any]]:
    """Each name that was read, with its value and where that came from."""
    out = []
    for name in dict.fromkeys(names):
        knob = resolution.rules.knobs.get(name)
        item: dict[str, Any] = {
            "name": knob.env if knob else name,
            "kind": kind_of(resolution, name),
            "value": text_of(resolution, name),
            "origin": origin_of(resolution, name),
        }
        if knob:
            item["state"] = STATES[resolution.knob_state(name)]
        out.append(item)
    return out


def leaves(resolution: Resolution, condition: Condition, wanted: bool | None = None) -> list[dict[str, Any]]:
    """Every leaf with what it is now; with `wanted` only those because of which the condition is so. A leaf below a `not` is said negated."""
    out: list[dict[str, Any]] = []
    for leaf, negated in _walk(resolution, condition, wanted, False):
        says = words(resolution, Not(leaf)) if negated else leaf_words(resolution, leaf)
        names = [leaf.name, *([leaf.operand.name] if isinstance(leaf.operand, Ref) else [])]
        item = {
            "says": says,
            "true": leaf_holds(resolution, leaf) != negated,
            "now": inputs(resolution, iter(names)),
        }
        if item not in out:
            out.append(item)
    return out


def _walk(
    resolution: Resolution, condition: Condition, wanted: bool | None, negated: bool
) -> Iterator[tuple[Leaf, bool]]:
    if isinstance(condition, Leaf):
        yield condition, negated
    elif isinstance(condition, Not):
        yield from _walk(resolution, condition.inner, None if wanted is None else not wanted, not negated)
    else:
        for part in condition.parts:
            if wanted is None or holds(resolution, part) == wanted:
                yield from _walk(resolution, part, wanted, negated)


def leaf_words(resolution: Resolution, leaf: Leaf) -> str:
    """A leaf with a knob's name as the user types it."""
    knob = resolution.rules.knobs.get(leaf.name)
    text = leaf_text(leaf)
    return text.replace(leaf.name, knob.env, 1) if knob else text


def words(resolution: Resolution, condition: Condition) -> str:
    """A condition in one line, knobs as the user types them."""
    return condition_text(_renamed(resolution, condition))


def _renamed(resolution: Resolution, condition: Condition) -> Condition:
    if isinstance(condition, Leaf):
        knob = resolution.rules.knobs.get(condition.name)
        return Leaf(knob.env, condition.op, condition.operand, condition.path) if knob else condition
    if isinstance(condition, Not):
        return Not(_renamed(resolution, condition.inner))
    parts = tuple(_renamed(resolution, part) for part in condition.parts)
    return All(parts) if isinstance(condition, All) else Any_(parts)


# settings and knobs


def setting(resolution: Resolution, name: str) -> dict[str, Any]:
    """A setting: its value, the row that gave it, the inputs of that row, and the rows it beat or passed over."""
    table = resolution.rules.settings[name]
    won = resolution.state.rows[resolution.resolver.number[name]]
    out: dict[str, Any] = {"name": name, "kind": "setting", "value": text_of(resolution, name)}
    if table.help:
        out["help"] = table.help
    out["origins"] = list(table.origins)
    out["row"] = _row(table.rows[won]) if won >= 0 else None
    if won < 0:
        out["why"] = "no row matched"
        out["inputs"] = []
    else:
        row = table.rows[won]
        read = [*(leaf.name for leaf in deciding(resolution, row.when, True)), *expressions.names(row.value)]
        out["inputs"] = inputs(resolution, iter(read))
    out["passed_over"] = [
        {**_row(row), "because": leaves(resolution, row.when, False)}
        for row in (table.rows[:won] if won >= 0 else table.rows)
    ]
    out["beat"] = [
        {**_row(row), "value": _shown(evaluate(resolution, row.value))}
        for row in (table.rows[won + 1 :] if won >= 0 else ())
        if holds(resolution, row.when)
    ][:1]
    hidden = hidden_by(resolution, name)
    if hidden:
        out["hidden_by"] = hidden
    return out


def _row(row: Row) -> dict[str, Any]:
    out: dict[str, Any] = {"position": str(row.position), "when": condition_text(row.when)}
    if row.because:
        out["reason"] = row.because
    if row.figures:
        out["figures"] = list(row.figures)
    if row.origins:
        out["origins"] = list(row.origins)
    return out


def _shown(value: Any) -> str | None:
    return None if value is None else show(value)


def hidden_by(resolution: Resolution, source: str) -> list[str]:
    """The user's engine flags that win over what this name renders, keys masked."""
    found = []
    for entry in resolution.rules.argv:
        if getattr(entry, "source", None) == source or getattr(entry, "gate", None) == source:
            dest = resolution.engine.destination(getattr(entry, "flag", ""))
            if dest in resolution.passthrough.flags:
                last = resolution.passthrough.last_text.get(dest or "")
                found.append(" ".join(mask([getattr(entry, "flag", ""), *([last] if last else [])])))
    return found
