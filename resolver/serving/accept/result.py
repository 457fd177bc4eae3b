"""What did one check of the battery find?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """One check. `passed` is None where it does not apply; `detail` is what was seen, or why not."""

    name: str
    passed: bool | None
    detail: str
    fix: str = ""
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    @classmethod
    def from_json(cls, data: Any) -> Result | None:
        """What `as_json` wrote; None for what is no such thing."""
        try:
            texts, passed = (data["name"], data["detail"], data["fix"]), data["passed"]
            if not all(isinstance(text, str) for text in texts) or passed not in (True, False, None):
                return None
            return cls(texts[0], passed, texts[1], texts[2], float(data["seconds"]))
        except (KeyError, TypeError, ValueError):
            return None
