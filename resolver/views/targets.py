"""The launch as a file for other programs: vLLM's --config, a systemd unit, a Compose file, a llama-swap model.

All are written from the words and variables of one resolution. Secrets stand in none of them, only where they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from resolver.diagnostics import UsageError
from resolver.views.result import engine_bin
from resolver.views.suggest_flags import destination
from resolver.views.targets_compose import compose, llama_swap
from resolver.views.targets_parts import KEY, KEY_FILE, head, parts, text

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def vllm_config(resolution: Resolution) -> str:
    """YAML for `vllm serve --config FILE.yaml`: the same flags with the same texts; the last of a repeated flag, as vLLM takes it.

    Raises UsageError for a flag that the file cannot say.
    """
    p = parts(resolution)
    lines: dict[str, str] = {"model": text(p.words[1])}
    engine = resolution.engine
    at = 2
    while at < len(p.words):
        word = p.words[at]
        at += 1
        name, eq, value = word.partition("=")
        dest = destination(engine, name)
        if dest is None:
            raise UsageError(f"the flag {name} has no place in a --config file", "use --format shell or argv")
        spelled = _spelling(engine.flags[dest], name)
        info = engine.flags[dest]
        lines.pop(spelled, None)
        if info["kind"] == "append" and sum(destination(engine, w.partition("=")[0]) == dest for w in p.words) > 1:
            raise UsageError(
                f"{name} is given more than once, which a --config file cannot say", "use --format shell or argv"
            )
        if eq:
            lines[spelled] = text(value)
            continue
        values: list[str] = []
        most = 0 if info["nargs"] == 0 else 1 if info["nargs"] in (None, "?", 1) else len(p.words)
        while at < len(p.words) and len(values) < most and not p.words[at].startswith("--"):
            values.append(p.words[at])
            at += 1
        lines[spelled] = "true" if not values else text(values[0]) if most == 1 else f"[{', '.join(map(text, values))}]"
    notes = [
        "start it with: vllm serve --config THIS_FILE.yaml",
        "and with these variables, which this file cannot hold:",
    ]
    notes += [f"  {name}={value}" for name, value in p.variables.items()]
    notes += [f"  {name} must not be set" for name in p.removed]
    if p.key:
        notes.append(f"  {KEY}: from {'the environment' if p.key == 'environment' else p.key}")
    return "\n".join([*head(resolution, p, notes), *(f"{k}: {v}" for k, v in lines.items())]) + "\n"


def _spelling(info: Mapping[str, Sequence[str]], name: str) -> str:
    """The flag in full, without dashes; a dotted tail stays."""
    head_, dot, tail = name.partition(".")
    full = [s for s in (*info["spellings"], *info["negative"]) if s.startswith("--")]
    wanted = "--" + head_.lstrip("-").replace("_", "-")
    found = wanted if wanted in full else next((s for s in full if s.startswith(wanted)), full[0])
    if not name.startswith("--"):
        found = full[0]
    return found[2:] + dot + tail


# systemd


def systemd(resolution: Resolution) -> str:
    """A unit for systemd. The key is passed on from the manager's environment, or read from api_key.txt at the start."""
    p = parts(resolution)
    path = f"{engine_bin(resolution)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    words = [p.program, *p.words]
    if p.key == KEY_FILE:
        script = f'{KEY}="$$(cat {KEY_FILE})"; export {KEY}; exec "$$0" "$$@"'
        command = f"/bin/sh -c {_unit_word(script, dollars=False)} " + " ".join(map(_unit_word, words))
    else:
        command = " ".join(map(_unit_word, words))
    lines = [
        *head(resolution, p),
        "[Unit]",
        f"Description=vLLM server {_plain(resolution.request.profile or '')}".rstrip(),
        "Wants=network-online.target",
        "After=network-online.target",
        "",
        "[Service]",
        "Type=exec",
        f"WorkingDirectory={_plain(p.root)}",
        *(f"Environment={_unit_word(f'{k}={v}', dollars=False)}" for k, v in {**p.variables, "PATH": path}.items()),
        *(f"UnsetEnvironment={name}" for name in p.removed),
        *([f"PassEnvironment={KEY}"] if p.key == "environment" else []),
        f"ExecStart={command}",
        "Restart=on-failure",
        "RestartSec=10",
        "TimeoutStopSec=120",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"


def _plain(value: str) -> str:
    return value.replace("%", "%%")


def _unit_word(value: str, dollars: bool = True) -> str:
    """A word of a unit file: in quotes, with what systemd would expand taken as it stands."""
    out = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    if dollars:
        out = out.replace("$", "$$")
    return f'"{out}"'


TARGETS: dict[str, Callable[[Resolution], str]] = {
    "vllm-config": vllm_config,
    "systemd": systemd,
    "compose": compose,
    "llama-swap": llama_swap,
}
