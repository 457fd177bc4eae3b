"""The overlay of this project's kernels, made from what their plugin says of itself: `python -m tools.plugin_overlay` writes
rules/engines/overlays/splitverify.yaml from kernels/splitverify/plugin/overlay.json, `--check` only compares.

The records of `guards` are copied as they are: vLLM gets them as the backend's reasons, and a launch is refused with them before.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from resolver.compile import product_root
from resolver.engine import versions

SOURCE = "kernels/splitverify/plugin/overlay.json"
TARGET = "rules/engines/overlays/splitverify.yaml"
SAID = f"{SOURCE}; the kernels were measured alone on an H200 (docs/kernels/)"
FLASH_ATTN_BELOW = (8, 9)
"""FA2_FP8KV is for GPUs below this compute capability: from there on vLLM's own FLASH_ATTN and others take an fp8 cache."""


def capabilities(root: Path, version: str) -> list[str]:
    """The compute capabilities that the engine's data speaks of, in order."""
    data = json.loads((root / "rules" / "engines" / f"vllm-{version}.json").read_text(encoding="utf-8"))
    found = {row["capability"] for row in data["attention"]["rows"]}
    return sorted(found, key=_pair)


def _pair(capability: str) -> tuple[int, int]:
    major, minor = capability.split(".")
    return int(major), int(minor)


def support(plugin: dict[str, Any], known: list[str]) -> Iterator[dict[str, Any]]:
    """One row for each backend and cache dtype."""
    for backend, has in plugin["provides"]["attention_backends"].items():
        least = _pair(has["capability"].removeprefix(">= "))
        for dtype in has["kv_cache_dtypes"]:
            yield _row(backend, dtype, [c for c in known if _pair(c) >= least])
    for has in plugin["provides"]["kv_cache_dtypes_by_environment"].values():
        for backend, dtypes in has.items():
            for dtype in dtypes:
                yield _row(backend, dtype, [c for c in known if _pair(c) < FLASH_ATTN_BELOW])


def _row(backend: str, dtype: str, capability: list[str]) -> dict[str, Any]:
    return {"backend": backend, "kv_cache_dtype": dtype, "capability": capability, "causal": [True, False]}


def render(root: Path) -> str:
    """The overlay's file. Flow style in JSON's spelling, which is YAML."""
    plugin = json.loads((root / SOURCE).read_text(encoding="utf-8"))
    engines = [v for v in versions(root) if any(v.startswith(f"{w}.") for w in plugin["engine"]["vllm"])]
    (backend,) = plugin["provides"]["attention_backends"]
    lines = [
        "# yaml-language-server: $schema=../../schema/overlay.json",
        f"# Made by `python -m tools.plugin_overlay` from {SOURCE}: edit that one.",
        f"overlay: {plugin['overlay']}",
        f"engine: {json.dumps(engines)}",
        f"plugin: {plugin['overlay']}",
        f"source: {json.dumps(SAID)}",
        "brings:",
        "  variables:",
        *(f"    {name}: {json.dumps(text)}" for name, text in plugin["provides"]["environment"].items()),
        "  attention:",
        *(f"    - {json.dumps(row)}" for row in support(plugin, capabilities(root, engines[-1]))),
        "  refusals:",
    ]
    for guard in plugin["guards"]:
        head = {"id": guard["id"], "backend": backend}
        lines += [f"    - {json.dumps(head)[:-1]},"]
        lines += [f"       {json.dumps(key)}: {json.dumps(guard[key])}," for key in ("refuse", "fix")]
        lines += [f'       "when": {json.dumps(guard["when"])}}}']
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    """Write the file, or with `--check` say whether it is what would be written; 1 when it is not."""
    root = product_root()
    text, target = render(root), root / TARGET
    if "--check" in argv:
        same = target.read_text(encoding="utf-8") == text
        print(f"{TARGET} {'is' if same else 'is not'} what {SOURCE} says")
        return 0 if same else 1
    target.write_text(text, encoding="utf-8")
    print(f"wrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
