"""Read rules/knobs.yaml and rules/facts.yaml."""

from __future__ import annotations

from resolver.load.collect import Collector, words
from resolver.model import Fact, Knob
from resolver.yaml12 import Document


def read_knobs(document: Document, collect: Collector) -> dict[str, Knob]:
    """Every knob, by name. A variable name used twice is an error."""
    knobs: dict[str, Knob] = {}
    variables: dict[str, str] = {}
    for name, data in document.data["knobs"].items():
        path = ("knobs", name)
        variable = data.get("env", name.upper())
        if variable in variables:
            collect.fail(
                "knob",
                f"{name}: {variable} is the variable of knob {variables[variable]} already",
                document.position(path),
            )
        variables[variable] = name
        default = data.get("default")
        knobs[name] = Knob(
            name=name,
            env=variable,
            type=data["type"],
            help=data["help"],
            position=document.position(path, key=True),
            allowed=tuple(str(item) for item in data.get("allowed", ())),
            minimum=data.get("minimum"),
            maximum=data.get("maximum"),
            default=None if default is None else str(default),
            default_says=data.get("default_says"),
            empty="value" if "empty_means" in data else "default",
            empty_means=data.get("empty_means"),
            sets=words(data.get("sets")),
            exported=bool(data.get("exported", False)),
            explicit_matters=data.get("explicit_matters"),
            never_suggested=bool(data.get("never_suggested", False)),
            invalid_origin=data.get("invalid_origin"),
            origins=words(data.get("origin")),
            figures=words(data.get("figures")),
        )
        if knobs[name].type == "choice" and not knobs[name].allowed:
            collect.fail(
                "knob", f"{name}: a choice needs its allowed values", document.position(path), "add `allowed: [...]`"
            )
    return knobs


def read_facts(document: Document) -> dict[str, Fact]:
    """Every declared fact, by its dotted name."""
    return {
        name: Fact(name, data["type"], data["help"], document.position(("facts", name), key=True))
        for name, data in document.data["facts"].items()
    }
