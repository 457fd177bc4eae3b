"""The launch as a Compose file, and as a model of llama-swap."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from resolver.views.result import engine_bin
from resolver.views.targets_parts import KEY, Parts, head, parts, text

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def compose(resolution: Resolution) -> str:
    """A Compose file. The server listens on all addresses of its container; the address it was to listen on is the published one."""
    p = parts(resolution)
    stock = "+" not in resolution.engine.name
    version = resolution.engine.version
    wish = (
        f":-vllm/vllm-openai:v{version}" if stock else f":?set VLLM_IMAGE to an image of vLLM {resolution.engine.name}"
    )
    host, port = resolution.setting("bind_host"), resolution.render_lookup("port")[1]
    words = list(p.words)
    for at, word in enumerate(words[:-1]):
        if word == "--host":
            words[at + 1] = "0.0.0.0"
    folders = _folders(resolution, p)
    variables = {k: v for k, v in p.variables.items() if k != "CUDA_HOME"}
    count = 1
    for name in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"):
        value = resolution.setting(name) if name in resolution.rules.settings else None
        count *= value if isinstance(value, int) else 1
    published = port if host in ("0.0.0.0", "::") else f"{host}:{port}"
    lines = [
        *head(resolution, p),
        "services:",
        "  vllm:",
        f"    image: {text('${VLLM_IMAGE' + wish + '}')}",
        '    entrypoint: ["vllm"]',
        "    command:",
        *(f"      - {text(_dollars(word))}" for word in words),
        "    environment:",
        *(f"      {name}: {text(_dollars(value))}" for name, value in variables.items()),
    ]
    if p.key:
        lines.append(f"      {KEY}: {text('${' + KEY + ':?set it from ' + _from(p.key) + '}')}")
    lines += ["    ports:", f"      - {text(f'{published}:{port}')}", "    volumes:"]
    lines += [f"      - {text(_dollars(f'{folder}:{folder}:ro'))}" for folder in folders]
    lines += ["    ipc: host", "    restart: on-failure"]
    if resolution.facts.get("device") != "cpu":
        lines += [
            "    deploy:",
            "      resources:",
            "        reservations:",
            "          devices:",
            f"            - {{driver: nvidia, count: {count}, capabilities: [gpu]}}",
        ]
    return "\n".join(lines) + "\n"


def _from(key: str) -> str:
    return "the environment" if key == "environment" else key


def _folders(resolution: Resolution, p: Parts) -> list[str]:
    """The folders that hold the models: nothing else of the host is needed."""
    paths = [p.words[1], resolution.setting("draft_model")]
    return list(dict.fromkeys(os.path.abspath(os.path.join(p.root, path)) for path in paths if isinstance(path, str)))


def _dollars(value: str) -> str:
    return value.replace("$", "$$")


def llama_swap(resolution: Resolution) -> str:
    """A model of llama-swap: it starts the server at the first request, on a port of its own choosing."""
    from shlex import quote

    p = parts(resolution)
    words = [p.program, *p.words]
    for at, word in enumerate(words[:-1]):
        if word == "--port":
            words[at + 1] = "${PORT}"
        elif word == "--host":
            words[at + 1] = "127.0.0.1"
    name = str(resolution.setting("served_model_name"))
    env = {**p.variables, "PATH": f"{engine_bin(resolution)}:/usr/local/bin:/usr/bin:/bin"}
    shown = [w if w == "${PORT}" else quote(w) for w in words]
    lines = [
        *head(
            resolution, p, ["a key: give llama-swap apiKeys of its own, or start it with VLLM_API_KEY"] if p.key else []
        ),
        "models:",
        f"  {text(name)}:",
        f"    cmd: {text(' '.join(shown))}",
        "    env:",
        *(f"      - {text(f'{k}={v}')}" for k, v in env.items()),
        '    proxy: "http://127.0.0.1:${PORT}"',
        '    checkEndpoint: "/health"',
    ]
    return "\n".join(lines) + "\n"
