"""`launch.py measure`: what a running server does and how fast; shown, written as JSON, appended to a ledger, or made evidence of an arm."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.cli.options import Line
from resolver.cli.start import INTERRUPTED, OK, REFUSED, put, say
from resolver.diagnostics import UsageError

if TYPE_CHECKING:
    from resolver.measure.server import Identity, Server
    from resolver.measure.session import Session
    from resolver.resolution import Resolution


def run(line: Line) -> int:
    """Measure; exit status 0 where all is clean, 1 where something is broken or inconclusive, 130 after Ctrl-C."""
    if line.given("--matrix"):
        from resolver.cli.measure_matrix import run as matrix

        return matrix(line)
    from resolver.cli.measure_wish import wish_of
    from resolver.measure import session
    from resolver.measure.journal import Journal
    from resolver.measure.progress import bar

    wish = wish_of(line)
    into, resume = line.get("--into"), line.get("--resume")
    check_files(line)
    resolution = claimed(line)
    if isinstance(resolution, int):
        return resolution
    server = server_of(line, resolution)
    identity = server.identity()
    if into:
        confirmed(identity, resolution, into, server)
    journal = Journal(bar(line.given("--quiet")))
    if resume:
        journal.open(Path(resume), identity.as_json(), lambda text: say(f"note: {text}\n"))
        if journal.resumed and not line.given("--quiet"):
            say(f"{journal.resumed} pieces of {resume} are taken as they are\n")
    try:
        done = session.run(server, wish, journal, identity, lambda text: say(f"note: {text}\n"))
    finally:
        journal.close()
    show(line, done)
    if line.given("--ledger") or into:
        from resolver.cli.measure_record import record

        record(line, done, resolution, identity, into, server)
    return status_of(done)


def check_files(line: Line) -> None:
    """Refuse files that cannot be written, before a server is asked.

    Raises:
        LaunchError: --resume or the ledger is no ordinary file, or cannot be written.
    """
    from resolver.measure import journal, ledger

    resume = line.get("--resume")
    if resume:
        journal.check(Path(resume))
    if line.given("--ledger") or line.given("--into"):
        named = line.get("--ledger")
        ledger.check_writable(Path(named) if named else ledger.default_path(os.environ))


def status_of(done: Session) -> int:
    """The exit status of a session."""
    if done.interrupted:
        return INTERRUPTED
    return OK if done.reports and all(report.verdict == "clean" for report in done.reports) else REFUSED


def show(line: Line, done: Session) -> None:
    """Print the session."""
    if line.given("--json"):
        from resolver.views.page import dump

        put(dump(done.as_json()))
        return
    from resolver.views.measured import show as view
    from resolver.views.page import stdout_page

    view(done, stdout_page(), line.given("--verbose"))


def claimed(line: Line) -> Resolution | int | None:
    """The launch that the server is said to be; None where only its address is given; an exit status where it is refused."""
    if line.given("--url") and not (line.given("--profile") or line.assignments or line.args):
        return None
    from resolver.cli import suggesting
    from resolver.cli.ask import ask
    from resolver.cli.resolve import level_of
    from resolver.views.page import stderr_page
    from resolver.views.terminal import show_resolution

    answer = ask(line)
    if answer.resolution.refused:
        show_resolution(answer.resolution, stderr_page(), level_of(line), answer.notes, command=False)
        suggesting.show(line, answer, stderr_page())
        return REFUSED
    return answer.resolution


def server_of(line: Line, resolution: Resolution | None) -> Server:
    """Where the server listens: at --url, else where the launch does."""
    from dataclasses import replace

    from resolver.compile import product_root
    from resolver.measure.server import WAIT, Server
    from resolver.measure.server_address import from_url
    from resolver.serving import secrets, supervise_plan

    environ = secrets.with_key(dict(os.environ), product_root() / secrets.FILE)
    key = environ.get(secrets.VARIABLE)
    url = line.get("--url")
    if url:
        name = None if resolution is None else supervise_plan.target_of(resolution, environ).model
        return from_url(url, secrets.Secret(key) if key else None, name)
    assert resolution is not None
    target = supervise_plan.target_of(resolution, environ)
    return Server(replace(target.client, wait=WAIT), target.model)


def confirmed(identity: Identity, resolution: Resolution | None, arm: str, server: Server) -> None:
    """Refuse to write evidence of an arm from a server that is not its launch, before hours are spent on it."""
    if resolution is None:
        raise UsageError(
            "--into writes evidence of an arm, and only an address is given, so the launch is not known",
            "name the launch with --profile and KNOB=value, beside --url or instead of it",
        )
    from resolver.measure.into_running import running_configuration
    from resolver.measure.into_server import confirm

    confirm(identity, resolution, arm, running_configuration(os.environ, server.client.host, server.client.port))
