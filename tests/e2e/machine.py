"""The machine that the run was made on, as a machine file: an H200 with stock vLLM 0.31.0 and this project's plugin."""

from __future__ import annotations

from pathlib import Path

import yaml

REPO = Path(__file__).resolve().parents[2]


def h200(folder: Path) -> str:
    """Write the machine file into a folder; returns its name for --machine."""
    data = yaml.safe_load((REPO / "rules/machines/h200.yaml").read_text())
    data["facts"]["installed"] = ["splitverify"]
    data["engine"] = {"version": "0.31.0", "overlays": ["splitverify"]}
    data["files"] = {}
    path = folder / "h200-splitverify.yaml"
    path.write_text(yaml.safe_dump(data))
    return str(path)
