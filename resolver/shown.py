"""Text from outside as it may stand on a terminal."""


def clean(text: str) -> str:
    """Text without characters that would move the cursor or break the line."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() or "\udc80" <= c <= "\udcff" else "?" for c in text)
    )
