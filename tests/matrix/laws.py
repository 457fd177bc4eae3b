"""The laws, each a function of one request that fails when the law is broken. To add one: write it here and name it in LAWS."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from resolver.compile.helpers import show
from resolver.knobs import GIVEN
from resolver.model import JsonFlag
from resolver.resolution import Resolution
from tests.matrix import reference
from tests.matrix.asked import Asked, answer, product


def said(r: Resolution) -> list[str]:
    """Everything said, in order, without the places in rule files."""
    return [json.dumps({k: v for k, v in d.as_json().items() if k != "position"}) for d in r.diagnostics]


def outcome(r: Resolution) -> dict[str, Any]:
    """All that a launch consists of."""
    return {
        "refused": r.refused,
        "argv": r.argv,
        "set": dict(r.rendered.set_variables),
        "unset": set(r.rendered.unset_variables),
        "environment": r.environment(),
        "settings": {name: r.setting(name) for name in sorted(r.rules.settings)},
    }


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """What differs, name by name."""
    out = []
    for key in a:
        left, right = a[key], b.get(key)
        if isinstance(left, dict) and isinstance(right, dict):
            out += [
                f"{key}.{k}: {left.get(k)!r} != {right.get(k)!r}"
                for k in {**left, **right}
                if left.get(k) != right.get(k)
            ]
        elif left != right:
            out.append(f"{key}: {left!r} != {right!r}")
    return "; ".join(out)


def same(a: Mapping[str, Any], b: Mapping[str, Any], about: str = "") -> None:
    assert a == b, about + differences(a, b)


def total(asked: Asked) -> None:
    """Law 1: a launch that can be executed, or a refusal with its reasons."""
    r = answer(asked)
    said = r.diagnostics
    json.dumps([d.as_json() for d in said])
    assert r.refused == any(d.severity == "refuse" for d in said)
    for d in said:
        assert str(d)
        assert d.severity != "refuse" or d.fix, f"{d.rule}: no way out"
    assert isinstance(r.effective_knobs, dict)
    if not r.refused:
        for text in [*r.argv, *r.rendered.set_variables, *r.rendered.set_variables.values()]:
            assert isinstance(text, str)
            assert "\0" not in text
            os.fsencode(text)
        assert r.argv[0]
        assert r.setting("arm") in r.rules.arms


def deterministic(asked: Asked) -> None:
    """Law 2, first half: the same again, with knobs in another order."""
    first, second = answer(asked), answer(asked)
    same(outcome(first), outcome(second))
    assert said(first) == said(second)
    if len({name for name, _ in asked.given}) < len(asked.given):
        return
    environ, env_file = (dict(reversed(m.items())) for m in (asked.environ, asked.env_file))
    turned = answer(
        Asked(asked.profile, list(asked.given)[::-1], environ, env_file, asked.args, asked.machine, asked.engine)
    )
    same(outcome(first), outcome(turned))
    assert said(first) == said(turned)


def replay(asked: Asked) -> None:
    """Law 3: the effective knobs of a launch, given back, give the same launch."""
    r = answer(asked)
    if r.refused:
        return
    own = set(r.resolver.table.by_variable)
    secret = {k.env for k in r.rules.knobs.values() if k.secret}
    base = {**asked.env_file, **asked.environ}
    rest = {k: v for k, v in base.items() if k not in own or k in secret}
    again = answer(Asked(None, list(r.effective_knobs.items()), rest, {}, asked.args, asked.machine, asked.engine))
    for key in ("refused", "argv", "set", "unset", "settings"):
        a, b = outcome(r)[key], outcome(again)[key]
        assert a == b, f"{key}: {a!r} != {b!r}"
    exported = {k.env for k in r.rules.knobs.values() if k.exported}
    variables = [{k: v for k, v in x.environment().items() if k not in own or k in exported} for x in (r, again)]
    assert variables[0] == variables[1]
    assert r.effective_knobs == again.effective_knobs


def default_given(asked: Asked, knob_name: str) -> None:
    """Law 4: a default given explicitly changes no setting, argv word or variable that is set."""
    knob = product().rules.knobs[knob_name]
    if knob.explicit_matters or knob.secret or knob.type in ("ignored", "words"):
        return
    before = answer(asked)
    if knob_name in before.request.knobs or before.refused:
        return
    text = knob.default
    if text is None:
        for setting in knob.sets:
            value, own = before.render_lookup(setting)
            text = own or show(value) or None
            if text is not None:
                break
    if text is None or before.resolver.table.read(knob_name, text).state != GIVEN:
        return
    after = answer(
        Asked(
            asked.profile,
            [*asked.given, (knob.env, text)],
            asked.environ,
            asked.env_file,
            asked.args,
            asked.machine,
            asked.engine,
        )
    )
    for key in ("argv", "settings"):
        a, b = outcome(before)[key], outcome(after)[key]
        assert a == b, f"{knob.env}={text}: {differences({key: a}, {key: b})}"
    for name, value in before.environment().items():
        assert after.environment().get(name) == value, f"{knob.env}={text}: {name} was {value!r}"
    for name, value in after.environment().items():
        if name not in before.environment():
            assert (name, value) == (knob.env, text), f"{knob.env}={text}: {name}={value!r} is new"
            assert knob.exported
    # what nothing reads may be left out by default, and is refused when it is asked for
    refusals = {d.rule for d in after.diagnostics if d.severity == "refuse"}
    assert all(rule.startswith("nothing-reads-") for rule in refusals), f"{knob.env}={text} refused: {refusals}"


def provenance(asked: Asked) -> None:
    """Law 7: every word and every variable comes from something that exists, at a place that exists."""
    r = answer(asked)
    known = {*r.rules.knobs, *r.rules.settings}
    json_flags = {e.flag for e in r.rules.argv if isinstance(e, JsonFlag)}
    for token in r.rendered.tokens:
        assert token.source in known | json_flags | {"", "user"}, token.text
        if token.source in r.rules.settings and token.source not in r.rules.knobs:
            row = r.winning_row(token.source)
            assert row is not None, f"{token.text}: {token.source} has no row"
            assert row.position.line >= 1
            assert (r.resolver.root / row.position.file).is_file()
    user = [t.text for t in r.rendered.tokens if t.source == "user"]
    assert user == list(r.passthrough.words)
    for name, value in r.rendered.set_variables.items():
        source = r.rules.variables[name].source
        assert source in known
        found, text = r.render_lookup(str(source))
        assert value == (text or show(found))


def compiled_as_interpreted(asked: Asked) -> None:
    """The compiled rules say what walking the rules says: on every row, value and guard."""
    r = answer(asked)
    reference.check_settings(r)
    reference.check_guards(r)


LAWS: dict[str, Callable[[Asked], None]] = {
    "total": total,
    "deterministic": deterministic,
    "replay": replay,
    "provenance": provenance,
    "compiled": compiled_as_interpreted,
}
