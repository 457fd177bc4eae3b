"""The table of docs/migrating.md: every variable of the shell launcher, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.conditions import leaves
from resolver.expressions import names
from resolver.model import Flag, JsonFlag, Knob, Row
from resolver.views.reference.links import Links
from resolver.views.reference.markdown import code, plain, table

NEW = (
    "ATTENTION_BACKEND",
    "DATA_PARALLEL_SIZE",
    "DISTRIBUTED_EXECUTOR_BACKEND",
    "ENGINE_VENV",
    "MASTER_ADDR",
    "MASTER_PORT",
    "NNODES",
    "NODE_RANK",
    "PIPELINE_PARALLEL_SIZE",
    "TENSOR_PARALLEL_SIZE",
    "VLLM_CPU_KVCACHE_SPACE",
)
"""Knobs that the shell launcher did not have."""
MOST = 4
"""Ends that the table names of a knob that decides many."""
GONE = {"CG_MODE": "R108"}
"""Variables that had an effect there and have none here, with the rule that says so."""


def variables(links: Links) -> list[str]:
    """The table, by variable."""
    old = [knob for knob in links.rules.knobs.values() if knob.env not in NEW]
    rows = [
        (links.to("knob", knob.env), plain(knob.help), ", ".join(dict.fromkeys(becomes(links, knob))), _default(knob))
        for knob in sorted(old, key=lambda knob: knob.env)
    ]
    dropped = {i.origin: i.says for i in links.rules.implementations if i.where is None}
    rows += [(code(name), plain(dropped[rule]), "nothing", "") for name, rule in GONE.items()]
    return table(("variable", "what it is", "what it becomes", "default"), rows)


def _default(knob: Knob) -> str:
    return code(knob.default) if knob.default is not None else plain(knob.default_says or "none")


def becomes(links: Links, knob: Knob) -> Iterator[str]:
    """The flags, keys and variables that a knob ends in; what it decides where it ends in none."""
    if knob.type == "ignored":
        yield "nothing; it is accepted"
        return
    ends = list(_ends(links, (knob.name, *knob.sets)))
    if knob.exported and knob.env not in links.rules.variables:
        ends.append(code(knob.env))
    yield from ends or _decides(links, knob)


def _decides(links: Links, knob: Knob) -> list[str]:
    """What a knob moves that is not rendered itself."""
    rules = links.rules
    if knob.type == "words":
        return ["the last words of the command"]
    if "served_model" in knob.sets:
        return ["the model of the command"]
    moved = [s.name for s in rules.settings.values() if any(reads(row, knob.name) for row in s.rows)]
    ends = list(dict.fromkeys(_ends(links, tuple(moved))))
    more = [f"{len(ends) - MOST} more"] if len(ends) > MOST else []
    told = (["the arm"] if "arm" in moved else []) + ends[:MOST] + more
    return [f"decides {told[0]}", *told[1:]] if told else ["read by the launcher itself"]


def reads(row: Row, name: str) -> bool:
    """Whether a row of a setting tests or computes with a knob."""
    read = {leaf.name for leaf in leaves(row.when)} | set(names(row.value))
    return any(word.partition(".")[0] == name for word in read)


def _ends(links: Links, sources: tuple[str, ...]) -> Iterator[str]:
    for entry in links.rules.argv:
        if isinstance(entry, Flag) and entry.source in sources:
            yield code(entry.flag)
        elif isinstance(entry, JsonFlag):
            yield from (code(f"{entry.flag} {key.key}") for key in entry.keys if key.source in sources)
    for variable in links.rules.variables.values():
        if variable.source in sources:
            yield code(variable.name)
