"""How does a key stay out of what a server says? It is replaced in everything that comes, before anything else reads it."""

from __future__ import annotations

import html
import json
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from resolver.masking import HIDDEN
from resolver.serving.secrets import Secret

SHORTEST = 6  # characters: a shorter key, such as EMPTY, is a word that answers have anyway, and hides nothing
TOO_DEEP = "an answer that is nested too deeply to be read"


def hide(text: str, secret: Secret | None) -> str:
    """Return a text of a server without the key, whole or as JSON, addresses, HTML or Python write it.

    Args:
        text: what came, in part or whole. JSON that writes the key with escapes is looked into.
        secret: the key that the server was sent; None and a very short one leave the text as it is.
    """
    forms = _forms(secret) if secret and len(secret) >= SHORTEST else ()
    return _hidden(text, forms) if forms else text


def hide_bytes(body: bytes, secret: Secret | None) -> bytes:
    """Return a body without the key; see `hide`."""
    text = body.decode("utf-8", "surrogateescape")
    found = hide(text, secret)
    return body if found is text else found.encode("utf-8", "surrogateescape")


@lru_cache(maxsize=8)
def _forms(secret: Secret) -> tuple[str, ...]:
    key = secret.reveal()
    raw = key.encode("utf-8", "surrogateescape")
    forms = {key, repr(key)[1:-1], json.dumps(key)[1:-1], html.escape(key), quote(raw, safe=""), quote_plus(raw)}
    forms.add(key.encode("latin-1", "ignore").decode("utf-8", "surrogateescape"))  # as the header carried it
    return tuple(sorted((form for form in forms if len(form) >= SHORTEST), key=len, reverse=True))


def _hidden(text: str, forms: tuple[str, ...]) -> str:
    found = text
    for form in forms:
        if form in found:
            found = found.replace(form, HIDDEN)
    if "\\" not in found:  # the key may still be written with escapes
        return found
    try:
        data = json.loads(found)
        clear = _walked(data, forms)
        return found if clear == data else json.dumps(clear)
    except ValueError:
        return found
    except RecursionError:
        return TOO_DEEP


def _walked(data: Any, forms: tuple[str, ...]) -> Any:
    if isinstance(data, str):
        return _hidden(data, forms)
    if isinstance(data, list):
        return [_walked(one, forms) for one in data]
    if isinstance(data, dict):
        return {_hidden(name, forms): _walked(one, forms) for name, one in data.items()}
    return data
