"""Does the server serve what was launched, under its name, and nothing else?"""

from __future__ import annotations

from resolver.serving.accept.basis import Refuted, Subject
from resolver.serving.client import BadAnswer
from resolver.serving.ready import identity

NAME = "models"
NOBODY = "a-model-that-nobody-serves"


def run(subject: Subject) -> str:
    """The list of models, its longest request, and another name, which must not be answered."""
    said = identity(subject.target)
    seen = subject.server.identity().max_model_len
    if subject.max_model_len is not None and seen != subject.max_model_len:
        raise Refuted(
            f"the launch has {subject.max_model_len} tokens, and the server says {seen}", "set MAX_LEN to what it says"
        )
    try:
        subject.server.client.post("/v1/completions", {"model": NOBODY, "prompt": "Hello", "max_tokens": 1})
    except BadAnswer as error:
        if "status 404" in str(error):
            return said
        raise Refuted(f"asked for a model that it does not have, the server answers {error}", "read its log") from None
    raise Refuted(
        "the server answers for a model that it does not have", "check for a proxy between here and the engine"
    )
