"""Does nobody get in without the key?"""

from __future__ import annotations

from resolver.serving.accept.basis import NotApplicable, Refuted, Subject
from resolver.serving.client import BadAnswer
from resolver.serving.ready import WRONG_KEY
from resolver.serving.secrets import Secret

NAME = "key required"
ASKED = {
    "/v1/completions": {"prompt": "Hello", "max_tokens": 1},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1},
}
OPEN = ("/metrics", "/version", "/tokenize")
"""Paths that vLLM 0.31 answers without a key: its middleware guards /v1 alone."""


def run(subject: Subject) -> str:
    """Every way in, without a key and with a wrong one: 401. What is open all the same is told."""
    client = subject.server.client
    if not client.key:
        raise NotApplicable("no key is set: whoever reaches the address may use it")
    for key, who in ((False, "without a key"), (WRONG_KEY, "with a wrong key")):
        _denied("/v1/models", client.get("/v1/models", key)[0], who)
        for path, body in ASKED.items():
            _denied(path, _status(subject, path, body, key), who)
    free = [path for path in OPEN if client.get(path, False)[0] not in (401, 403, 404)]
    return f"401 without it; {', '.join(free) or 'nothing'} open to everybody"


def _status(subject: Subject, path: str, body: dict[str, object], key: bool | Secret) -> int:
    try:
        subject.server.client.post(path, {"model": subject.target.model, **body}, key)
    except BadAnswer as error:
        word = str(error).removeprefix("status ").partition(":")[0]
        return int(word) if word.isdigit() else 0
    return 200


def _denied(path: str, status: int, who: str) -> None:
    if status != 401:
        raise Refuted(f"{path} asked {who} is answered with status {status}, not 401", "check the log for --api-key")
