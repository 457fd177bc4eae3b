# SPDX-License-Identifier: Apache-2.0
"""Why the backend refuses a configuration: records in ``overlay.json``, evaluated here.

The file is the one source: ``validate_configuration`` answers with its sentences, and the launcher's overlay of this plugin
is made from the same records (``python -m tools.plugin_overlay`` in the launcher's repository), so that a launch is refused
for the same reason, with the same fix, before an engine is started.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any


@functools.cache
def overlay() -> dict[str, Any]:
    """The records: engine versions, what the plugin provides, and guards."""
    return json.loads(resources.files("splitverify").joinpath("plugin/overlay.json").read_text())


def holds(condition: Any, value: Any) -> bool:
    """Whether ``value`` meets one condition of a guard. An unknown size (None) is neither below nor uneven."""
    if not isinstance(condition, Mapping):
        return bool(value == condition)
    (kind, operand), = condition.items()
    if kind == "in":
        return value in operand
    if kind == "not_in":
        return value not in operand
    if kind == "below":
        return value is not None and tuple(value) < tuple(operand)
    if kind == "not_multiple_of":
        return value is not None and value % operand != 0
    raise ValueError(f"unknown condition {kind!r}")


def refusals(facts: Mapping[str, Any]) -> list[str]:
    """The sentences of all guards that fire, in the file's order. A guard on a fact that is not given is silent."""
    fired = []
    for guard in overlay()["guards"]:
        when = guard["when"]
        if all(name in facts and holds(condition, facts[name]) for name, condition in when.items()):
            fired.append(f"{guard['refuse']}: {guard['fix']} [{guard['id']}]")
    return fired
