"""Does it answer what every such model knows? A server that answers nonsense is fast, and healthy."""

from __future__ import annotations

from resolver.measure.server import TEMPLATE
from resolver.serving.accept.basis import NotApplicable, Refuted, Subject

NAME = "known answers"
SMALLEST = 100 << 20
"""Bytes: a smaller model is none that knows anything. Assumed; the tiny model of this repository has 300 KB."""
QUESTIONS = (
    ("What is the capital of France? Answer with one word.", "paris"),
    ("What is 17 + 25? Answer with the number alone.", "42"),
    ("Repeat this word and say nothing else: lighthouse", "lighthouse"),
)


def run(subject: Subject) -> str:
    """Three questions, greedily; all three must be right."""
    if subject.model_bytes is not None and subject.model_bytes < SMALLEST:
        raise NotApplicable(f"a model of {subject.model_bytes:,} bytes knows nothing")
    for question, right in QUESTIONS:
        answer = subject.server.client.post(
            "/v1/chat/completions",
            {
                "model": subject.target.model,
                "messages": [{"role": "user", "content": question}],
                "max_tokens": 64,
                "temperature": 0,
                "chat_template_kwargs": TEMPLATE,
            },
        )
        message = answer["choices"][0]["message"]
        said = str(message.get("content") or message.get("reasoning") or "")
        if right not in said.lower():
            raise Refuted(
                f"asked {question!r} it says {said[:80]!r}",
                "try SPEC=off, then another KV cache: one of them, or the model's files, is broken",
            )
    return f"{len(QUESTIONS)} of {len(QUESTIONS)}"
