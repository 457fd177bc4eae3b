"""What can go wrong between a resolved launch and a running engine?"""

from __future__ import annotations


class LaunchError(Exception):
    """The engine was not started. `message` says why, `fix` what to do. Neither ever holds a secret."""

    def __init__(self, message: str, fix: str) -> None:
        """Take both texts, one sentence each."""
        super().__init__(f"{message}: {fix}")
        self.message = message
        self.fix = fix
