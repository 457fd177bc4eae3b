"""What did the launcher start at this address? Its configuration, by the records that `launch.py serve` keeps of servers it watches."""

from __future__ import annotations

from collections.abc import Mapping

from resolver.serving import state
from resolver.serving.addresses import same


def running_configuration(environ: Mapping[str, str], host: str, port: int) -> str | None:
    """The hash of the launch that serves there, as `configuration_hash` makes it; None where no record says so.

    Args:
        environ: the caller's environment, for the state folder.
        host: the address that is asked.
        port: its port.
    """
    from resolver.serving.ownership import records

    folder = state.folder(environ) / "servers"
    if not folder.is_dir():
        return None
    found = [
        record.launch.configuration
        for record in records.everything(folder)
        if record.phase == "ready" and record.launch.port == port and same(record.launch.host, host) and record.lives
    ]
    return found[0] if len(found) == 1 else None
