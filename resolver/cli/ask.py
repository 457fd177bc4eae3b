"""From a command line to a resolution: rules, request, machine and engine, each from where the options say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from resolver.compile import keep_knobs, open_resolver
from resolver.diagnostics import Diagnostic, UsageError
from resolver.request import build

if TYPE_CHECKING:
    from resolver.cli.options import Line
    from resolver.engine import Engine
    from resolver.facts import Machine
    from resolver.request import Request
    from resolver.resolution import Resolution
    from resolver.resolve import Resolver


class Answer(NamedTuple):
    """A resolution and what is to be said about the way to it."""

    resolution: Resolution
    notes: tuple[Diagnostic, ...]
    probed: bool


def ask(line: Line, environ: Mapping[str, str] | None = None) -> Answer:
    """Resolve what the line asks. Raises UsageError and RulesError."""
    resolver = open_resolver()
    engine_name = line.get("--engine")
    if engine_name:
        resolver.engine(engine_name)
    notes: list[Diagnostic] = []
    request = make_request(resolver, line, os.environ if environ is None else environ, notes)
    machine, probed = choose_machine(resolver, line, request)
    engine = choose_engine(resolver, engine_name, machine, probed, notes)
    resolution = resolver.resolve(request, machine, engine)
    keep_knobs(resolver)
    return Answer(resolution, tuple(notes), probed)


def make_request(resolver: Resolver, line: Line, environ: Mapping[str, str], notes: list[Diagnostic]) -> Request:
    """The request of the line, on the caller's environment."""
    return build(
        resolver.rules,
        resolver.table,
        profile=line.get("--profile"),
        assignments=line.assignments,
        environ=environ,
        env_file=load_env_file(resolver, line, notes),
        args=line.args or (),
    )


def load_env_file(resolver: Resolver, line: Line, notes: list[Diagnostic]) -> Mapping[str, tuple[str, str]] | None:
    """The variables of --env-file, or None without one; what should be said about them is added to `notes`."""
    name = line.get("--env-file")
    if not name:
        return None
    from resolver.cli.env_file import read_env_file

    found = read_env_file(name, resolver.table.by_variable, resolver.engine(None).variables)
    notes += found.notes
    return found.variables


def choose_machine(resolver: Resolver, line: Line, request: Request) -> tuple[Machine, bool]:
    """The machine that the line names, else this one; and whether it was probed."""
    name = line.get("--machine")
    if name:
        from resolver.machines import is_file_name, load_machine

        if is_file_name(name) and not os.path.isfile(name):
            raise UsageError(f"--machine {name} is no file", "give a machine file, or a name of `launch.py machines`")
        return load_machine(resolver.root, name), False
    return probe_machine(resolver, request), True


def probe_machine(resolver: Resolver, request: Request) -> Machine:
    """This machine, with the engine environment that the request names."""
    from resolver.facts import DiskFiles, machine_from
    from resolver.serving.probe import probe

    environ = dict(request.environ)
    venv = request.knobs.get("engine_venv")
    if venv is not None:
        environ["ENGINE_VENV"] = venv.text
    return machine_from(probe(resolver.root, environ), "this machine", "probed", files=DiskFiles(str(resolver.root)))


def choose_engine(
    resolver: Resolver, name: str | None, machine: Machine, probed: bool, notes: list[Diagnostic]
) -> Engine:
    """The engine that was named, else the machine's, else the default. An installed engine that is not known is never guessed at."""
    if name:
        return resolver.engine_of(machine, name)
    if machine.engine is None:
        engine = resolver.engine_of(machine)
        if probed:
            notes.append(
                Diagnostic(
                    "note",
                    "no-engine-found",
                    f"no engine was found in ENGINE_VENV, so the launch is resolved for vLLM {engine.name}",
                    "install vLLM there, name another environment with ENGINE_VENV, or name a version with --engine",
                )
            )
        return engine
    try:
        return resolver.engine_of(machine)
    except UsageError as error:
        from resolver.engine import versions

        whose = "the engine in ENGINE_VENV" if probed else f"the engine of machine {machine.name}"
        raise UsageError(
            f"{whose} is vLLM {machine.engine}, which is not among the known ones ({error.message})",
            f"use --engine with one of {', '.join(versions(resolver.root))}",
        ) from None
