"""`launch.py doctor`: what would go wrong on this machine, and what mends it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from resolver.cli.ask import make_request, probe_machine
from resolver.cli.start import OK, REFUSED, put
from resolver.compile import open_resolver

if TYPE_CHECKING:
    from resolver.cli.options import Line
    from resolver.doctor.finding import Finding, Launch
    from resolver.resolution import Resolution
    from resolver.serving.probes.basis import World


def run(line: Line) -> int:
    """Print the findings; exit status 1 when one is more than a note, after --fix."""
    from resolver.doctor.examine import examine
    from resolver.doctor.gather import questions, scene
    from resolver.doctor.mends import mend

    resolution = _resolve(line)
    world, launch = world_of(resolution), launch_of(resolution, line.get("--env-file"))
    seen, why = scene(questions(world, launch), launch)
    found = examine(seen)
    done: list[str] = []
    if line.given("--fix"):
        done = mend(world, seen, [f.mend for f in found if f.mend])
        if done:
            seen, why = scene(questions(world, launch), launch)
            found = examine(seen)
    if line.given("--json"):
        from resolver.views.page import dump

        put(dump({"schema": 1, "findings": [f.as_json() for f in found], "done": done, "unknown": why}))
    else:
        _show(found, done, why, line.given("--quiet"), line.given("--verbose"))
    return REFUSED if any(f.severity != "note" for f in found) else OK


def _resolve(line: Line) -> Resolution:
    """The launch that is asked for; an engine that is not known is a finding here, and no error."""
    resolver = open_resolver()
    request = make_request(resolver, line, os.environ, [])
    machine = probe_machine(resolver, request)
    from resolver.diagnostics import UsageError

    try:
        engine = resolver.engine_of(machine)
    except UsageError:
        engine = resolver.engine(None)
    return resolver.resolve(request, machine, engine)


def world_of(resolution: Resolution) -> World:
    """The machine, with the engine environment that the launch names."""
    from resolver.serving.probes.basis import World

    environ = dict(resolution.request.environ)
    venv = resolution.request.knobs.get("engine_venv")
    if venv is not None:
        environ["ENGINE_VENV"] = venv.text
    return World(resolution.resolver.root, environ)


def launch_of(resolution: Resolution, env_file: str | None) -> Launch:
    """What the launch needs of the machine."""
    from resolver.doctor.finding import Launch
    from resolver.engine import versions
    from resolver.unread_environment import unread_environment

    tier = resolution.setting("kv_offloading_size")
    unread = [(d.message.partition(" ")[0], d.fix or "unset it") for d in unread_environment(resolution)]
    return Launch(
        model=resolution.setting("served_model"),
        draft=resolution.setting("draft_model"),
        address=resolution.setting("bind_host") or "",
        port=resolution.lookup("port") or 0,
        drafts_with_model=resolution.setting("spec_method") not in (None, "mtp"),
        allocator=resolution.setting("allocator_conf"),
        builds_kernels=resolution.setting("runs_flashinfer_on_fp8") == "on"
        or resolution.setting("effective_attention_backend") == "FLASHINFER",
        toolchain=resolution.setting("toolchain_home"),
        tier_bytes=int(float(tier) * (1 << 30)) if tier else 0,
        streams_weights=resolution.passthrough.last.get("load_format") == "runai_streamer",
        gpus=resolution.setting("gpus_needed") or 1,
        unread=tuple(unread),
        env_file=env_file,
        engines=tuple(versions(resolution.resolver.root)),
        venv=str(resolution.lookup("engine_venv") or "venv"),
        plugin_engines={name: engines for name, (_, engines) in resolution.rules.plugin_overlays.items()},
    )


def _show(found: list[Finding], done: list[str], why: dict[str, str], quiet: bool, verbose: bool) -> None:
    from resolver.views.page import stdout_page

    page = stdout_page()
    styles = {"problem": "refuse", "warning": "warn", "note": "note"}
    for text in done:
        page.line(f"done: {text}", "good")
    for f in found:
        if quiet and f.severity == "note":
            continue
        page.line(f"{f.severity}: {f.what}", styles[f.severity])
        page.line(f"why  {f.why}", indent=4)
        page.line(f"from {f.source}", "dim", indent=4)
        page.line(f"fix  {f.fix}", indent=4)
    if not any(f.severity != "note" for f in found):
        page.line("nothing here would keep the launch from working", "good")
    if verbose:
        for name, reason in why.items():
            page.line(f"unknown: {name} ({reason})", "dim")
