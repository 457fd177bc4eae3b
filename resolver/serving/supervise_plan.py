"""What is to be started, and where is it to be asked? From a resolution; what the user's own engine flags say comes last and wins."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver.serving import addresses, secrets
from resolver.serving.client import Client
from resolver.serving.environment import engine_environment
from resolver.serving.errors import LaunchError
from resolver.serving.launch import engine_path
from resolver.serving.probes.basis import World
from resolver.serving.ready import Target
from resolver.serving.supervise_guard import Order

if TYPE_CHECKING:
    from resolver.resolution import Resolution

ELSEWHERE = {"uds": "listens on a UNIX socket", "ssl_keyfile": "speaks TLS", "root_path": "serves below another path"}


@dataclass(frozen=True)
class Plan:
    """A launch that is to be supervised: what to run, and whom to ask whether it is ready."""

    order: Order
    target: Target

    @property
    def url(self) -> str:
        """Where people reach the server from this machine."""
        return addresses.url(self.target.client.host, self.target.client.port)


def make(resolution: Resolution, port_free: bool = True) -> Plan:
    """Plan an accepted launch.

    Args:
        resolution: the launch.
        port_free: whether its port must be free already; a switch looks once the other server has stopped.

    Raises:
        LaunchError: the engine is missing, its port is taken, the key is gone, or it would be no server that can be asked.
    """
    root = resolution.resolver.root
    argv = resolution.argv
    given = resolution.passthrough.last
    for flag, what in ELSEWHERE.items():
        if given.get(flag):
            raise LaunchError(
                f"the engine flag --{flag.replace('_', '-')} makes a server that {what}, which cannot be asked from here",
                "start it without `serve`",
            )
    if resolution.setting("headless_flag") or given.get("headless"):
        raise LaunchError(
            "this machine only helps another one, which has the server: there is nothing to ask here",
            "start it without `serve`, and the first machine with it",
        )
    engine_path(argv[0], root)
    environ = secrets.with_key(
        engine_environment(resolution, root), root / secrets.FILE, resolution.setting("api_key_source") is not None
    )
    target = target_of(resolution, environ)
    if port_free:
        check_free(target.client.host, target.client.port)
    keep = resolution.lookup("vllm_offload_keep_shm") == "on"
    return Plan(Order(argv, environ, root, keep), target)


def world_of(resolution: Resolution, plan: Plan) -> World:
    """The machine as the launch sees it."""
    root = resolution.resolver.root
    environ = dict(plan.order.environ)
    venv = resolution.request.knobs.get("engine_venv")
    if venv is not None:
        environ["ENGINE_VENV"] = venv.text
    return World(root, environ)


def target_of(resolution: Resolution, environ: Mapping[str, str]) -> Target:
    """Where the launch listens and what it serves there.

    Args:
        resolution: the launch.
        environ: an environment with the API key in it, if there is one.
    """
    key = _first(resolution.passthrough.last.get("api_key")) or environ.get(secrets.VARIABLE)
    return Target(
        Client(
            _given(resolution, "host", "bind_host"),
            int(_given(resolution, "port", "port")),
            secrets.Secret(key) if key else None,
        ),
        _given(resolution, "served_model_name", "served_model_name"),
        str(resolution.setting("served_model")),
        resolution.lookup("tools") == "on" or "enable_auto_tool_choice" in resolution.passthrough.flags,
    )


def _first(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = value[0] if value else ""
    return "" if value is None else str(value)


def _given(resolution: Resolution, flag: str, name: str) -> str:
    return _first(resolution.passthrough.last.get(flag)) or str(resolution.lookup(name))


def check_free(host: str, port: int) -> None:
    """Refuse a port that somebody has, before an engine takes minutes to find out.

    Raises:
        LaunchError: it cannot be bound.
    """
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        if error.errno is None or error.errno < 0 or isinstance(error, socket.gaierror):
            return  # a name that only the engine can make sense of
        raise LaunchError(
            f"port {port} on {host or 'every address'} cannot be had ({error.strerror})",
            "set PORT to a free one, or stop what has it",
        ) from None


def state_name(resolution: Resolution) -> str:
    """What the log's file name starts with."""
    profile = resolution.request.profile
    return Path(str(profile)).name if profile else "launch"
