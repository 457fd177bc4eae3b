"""Where do the numbers of `launch.py measure` go? The sound ones to a ledger, and with --into beside an arm of profiles.yaml."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.cli.options import Line
from resolver.cli.start import say
from resolver.serving.errors import LaunchError

if TYPE_CHECKING:
    from resolver.measure.measurement import Measurement
    from resolver.measure.server import Identity, Server
    from resolver.measure.session import Session
    from resolver.resolution import Resolution


def sound(done: Session) -> tuple[list[Measurement], int]:
    """The numbers that may be recorded, and how many may not."""
    every = [one for report in done.reports for one in report.measurements]
    good = [one for one in every if one.sound]
    return good, len(every) - len(good)


def record(
    line: Line, done: Session, resolution: Resolution | None, identity: Identity, into: str | None, server: Server
) -> None:
    """Append to the ledger, and write evidence.

    Raises:
        LaunchError: the server is not the launch that it is said to be, or a file cannot be written.
    """
    from resolver.compile import product_root
    from resolver.measure import ledger
    from resolver.measure.into_running import running_configuration
    from resolver.measure.into_server import differences
    from resolver.measure.provenance_here import provenance_here
    from resolver.serving.addresses import here

    host = server.client.host
    running = running_configuration(os.environ, host, server.client.port)
    if resolution is not None and (wrong := list(differences(identity, resolution, running))):
        raise LaunchError(
            f"the server is not this launch, so nothing is recorded: {'; '.join(wrong)}",
            "name what it was started with, or only its address with --url",
        )
    good, bad = sound(done)
    if bad:
        say(f"note: {bad} numbers are not sound and are not recorded\n")
    if not good:
        say("note: nothing was measured that may be recorded\n")
        return
    named = line.get("--ledger")
    path = Path(named) if named else ledger.default_path(os.environ)
    on = provenance_here(resolution, product_root(), os.environ, engine=identity.version or None, local=here(host))
    records = ledger.append(path, good, on)
    say(f"{len(records)} figures were added to {path}\n")
    if into:
        from resolver.measure.into import write

        profiles = product_root() / "profiles.yaml"
        written = write(profiles, into, records)
        say(f"{len(written)} figures were written beside {into} in {profiles}\n")
