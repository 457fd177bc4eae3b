"""What differs between two launches: knobs, settings, argv, environment, messages, and what the change costs at the next start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver.compile.helpers import show
from resolver.diagnostics import UsageError
from resolver.views.result import as_json

if TYPE_CHECKING:
    from resolver.resolution import Resolution

SCHEMA = 1


@dataclass(frozen=True)
class Side:
    """One launch: what `resolve --json` prints of it, and where each setting came from, where that is known."""

    label: str
    data: Mapping[str, Any]
    rows: Mapping[str, str] = field(default_factory=dict)


def side_of(label: str, resolution: Resolution) -> Side:
    """A side from a resolution."""
    rows = {}
    for name in resolution.rules.order:
        row = resolution.winning_row(name)
        if row is not None:
            rows[name] = str(row.position)
    return Side(label, as_json(resolution), rows)


def saved_side(label: str, data: Any) -> Side:
    """A side from saved JSON. Raises UsageError when it is not what `resolve --json` prints."""
    needed = ("schema", "ok", "engine", "machine", "argv", "env", "settings", "knobs", "diagnostics")
    if not isinstance(data, dict) or any(part not in data for part in needed) or data["schema"] != 1:
        raise UsageError(
            f"{label} is no result of `launch.py resolve --json`", "save one with launch.py resolve --json"
        )
    return Side(label, data)


def diff(a: Side, b: Side, root: Path) -> dict[str, Any]:
    """The differences as plain data (schema 1); keys are masked on both sides already."""
    settings = [
        {"name": n, "a": _text(x), "b": _text(y), "by_a": a.rows.get(n), "by_b": b.rows.get(n)}
        for n, x, y in _changed(a.data["settings"], b.data["settings"])
    ]
    knobs = [{"name": n, "a": x, "b": y} for n, x, y in _changed(a.data["knobs"], b.data["knobs"])]
    argv = [{"flag": n, "a": x, "b": y} for n, x, y in _changed(_flags(a.data["argv"]), _flags(b.data["argv"]))]
    environment = [{"name": n, "a": x, "b": y} for n, x, y in _changed(_env(a.data), _env(b.data))]
    out: dict[str, Any] = {
        "schema": SCHEMA,
        "a": _head(a),
        "b": _head(b),
        "knobs": knobs,
        "settings": settings,
        "argv": argv,
        "environment": environment,
        "messages": _messages(a, b),
        "effects": _effects(root, a, b, settings, environment),
    }
    parts = ("settings", "argv", "environment", "messages")
    out["same"] = not any(out[part] for part in parts) and out["a"]["ok"] == out["b"]["ok"]
    return out


def _head(side: Side) -> dict[str, Any]:
    return {"label": side.label, **{key: side.data.get(key) for key in ("ok", "arm", "engine", "machine", "profile")}}


def _text(value: Any) -> str | None:
    return None if value is None else show(value)


def _changed(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(n, a.get(n), b.get(n)) for n in dict.fromkeys([*a, *b]) if a.get(n) != b.get(n)]


def _flags(argv: Sequence[str] | None) -> dict[str, str]:
    """argv by flag; a flag given twice is numbered, the words before the first flag are `command`."""
    found: dict[str, list[str]] = {}
    name = "command"
    counts: dict[str, int] = {}
    for word in argv or ():
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            flag, eq, value = word.partition("=")
            counts[flag] = counts.get(flag, 0) + 1
            name = flag if counts[flag] == 1 else f"{flag} ({counts[flag]})"
            found[name] = [value] if eq else []
        else:
            found.setdefault(name, []).append(word)
    return {name: " ".join(words) for name, words in found.items()}


def _env(data: Mapping[str, Any]) -> dict[str, str]:
    env = data["env"]
    out = {**env["set"], **dict.fromkeys(env["unset"], "(removed)")}
    return out | ({"PATH": f"{env['path_front']} first"} if env.get("path_front") else {})


def _messages(a: Side, b: Side) -> list[dict[str, Any]]:
    """The rules that speak on one side only, or say something else."""
    said = [{(d["rule"], d["message"]): d for d in side.data["diagnostics"]} for side in (a, b)]
    out = []
    for which, mine, other in (("a", said[0], said[1]), ("b", said[1], said[0])):
        for key, d in mine.items():
            if key not in other:
                out.append(
                    {
                        "side": which,
                        "severity": d["severity"],
                        "rule": d["rule"],
                        "message": d["message"],
                        "position": d.get("position"),
                    }
                )
    return sorted(out, key=lambda d: (["error", "refuse", "warn", "note"].index(d["severity"]), d["rule"], d["side"]))


# what it costs


@lru_cache(maxsize=4)
def effects(root: Path) -> list[dict[str, Any]]:
    """What rules/effects/ says, one entry a file."""
    from resolver.yaml12 import read

    return [read(p, str(p.relative_to(root))).data for p in sorted((root / "rules" / "effects").glob("*.yaml"))]


@lru_cache(maxsize=4)
def _variables(root: Path, version: str) -> frozenset[str]:
    """The variables of stock vLLM; those of an overlay are not known to be part of the key."""
    import json

    path = root / "rules" / "engines" / f"vllm-{version}.json"
    return frozenset(json.loads(path.read_text(encoding="utf-8"))["variables"])


def _effects(
    root: Path, a: Side, b: Side, settings: list[dict[str, Any]], environment: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Whether the next start compiles again, and whether the KV pool is another one; `known` false where nobody wrote it down."""
    if not (a.data["ok"] and b.data["ok"]):
        return []
    versions = {side.data["engine"].split("+")[0] for side in (a, b)}
    if len(versions) > 1:
        why = [{"name": "engine", "because": "the version of vLLM is part of the key"}]
        return [
            {"kind": "recompile", "known": True, "because": why},
            {"kind": "kv_pool", "known": False, "because": []},
        ]
    known = next((e for e in effects(root) if versions <= set(e["engines"])), None)
    if known is None:
        return [{"kind": kind, "known": False, "because": []} for kind in ("recompile", "kv_pool")]
    changed = {s["name"] for s in settings}
    out = []
    for kind in ("recompile", "kv_pool"):
        why = [{"name": n, "because": says} for n, says in known[kind].items() if n in changed]
        if kind == "recompile":
            counted = _variables(root, next(iter(versions))) - set(known["variables_left_out"])
            why += [{"name": v["name"], "because": known["variables"]} for v in environment if v["name"] in counted]
        elif all(side.data["settings"].get("kv_cache_memory_bytes") for side in (a, b)):
            why = [w for w in why if w["name"] != "gpu_memory_utilization"]
        out.append({"kind": kind, "known": True, "because": why})
    return out
