"""Which server listens at an address that somebody typed? Plain http, no path, no password; its first model, where none is named."""

from __future__ import annotations

from urllib.parse import urlsplit

from resolver.diagnostics import UsageError
from resolver.measure.server import WAIT, NotMeasurable, Server
from resolver.serving.client import Client
from resolver.serving.secrets import Secret


def from_url(url: str, key: Secret | None, model: str | None = None, wait: float = WAIT) -> Server:
    """Return the server at an address; without a model's name, it is the first one that it lists.

    Raises:
        UsageError: the address is none that can be asked.
        NotMeasurable: nobody answers, or it serves none.
    """
    try:
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if not host or parts.path.rstrip("/") not in ("", "/v1") or parts.query or parts.username or parts.password:
        raise UsageError("--url is no address of a server", "write --url http://127.0.0.1:8000, for example")
    if parts.scheme != "http":
        raise UsageError(
            f"--url speaks {parts.scheme[:10]}, and only http is measured",
            "measure on the machine of the server itself, so that TLS and the network are not timed",
        )
    client = Client(host, port or 80, key, wait)
    if model is None:
        names = [str(entry["id"]) for entry in Server(client, "").models()]
        if not names:
            raise NotMeasurable(f"{Server(client, '').url} serves no model", "name another --url")
        model = names[0]
    return Server(client, model)
