"""Whether a launch is refused is asked in two ways: by what refuses alone, and by the diagnostics once they are there."""

from __future__ import annotations

from resolver.compile import open_resolver
from resolver.machines import load_machine, with_facts
from resolver.request import build


def test_both_ways_say_the_same_of_every_example_of_the_rules() -> None:
    resolver = open_resolver()
    rules, root = resolver.rules, resolver.root
    said = {True: 0, False: 0}
    examples = [e for guard in rules.guards.values() for e in (*guard.fires, *guard.silent)]
    for example in examples:
        machine = with_facts(root, load_machine(root, example.machine or "rtx-3090"), example.with_facts)
        typed = [(name, text, "argument") for name, text in example.knobs.items()]
        asked = build(rules, resolver.table, profile=example.profile, assignments=typed, args=example.args)
        alone = resolver.resolve(asked, machine, example.engine)
        whole = resolver.resolve(asked, machine, example.engine)
        refuses = any(d.severity in ("refuse", "error") for d in whole.diagnostics)
        assert alone.refused == whole.refused == refuses, example.position
        said[refuses] += 1
    assert all(said.values()), "only one of the two answers was seen"
