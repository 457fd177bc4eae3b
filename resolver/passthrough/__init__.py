"""The engine flags that a user passes through, read the way the engine itself will read them: as facts, never as text to search."""

from resolver.passthrough.read import Passthrough, read_words
from resolver.passthrough.words import split

__all__ = ["Passthrough", "read_words", "split"]
