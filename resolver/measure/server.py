"""Which server is measured, and how is it asked? An address, a key from the environment or a file, the model's name, its counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any

from resolver.measure.metrics import Counters, parse
from resolver.measure.stream import Answer, read
from resolver.serving.client import BadAnswer, Client, NoAnswer, as_object, count
from resolver.serving.errors import LaunchError

WAIT = 1800.0  # seconds for one answer: a cold prompt of 240,000 tokens takes minutes on the smallest card
SOON = 10.0  # seconds for what costs a server nothing: who it is, its version, its counters
TEMPLATE = {"enable_thinking": False}
"""What every chat asks of the template: a model that thinks aloud first would be timed and graded for its thoughts."""
Message = Mapping[str, Any]


class NotMeasurable(LaunchError):
    """The server lacks what a tool needs, or is none; `message` says what, `fix` what to do."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answers: the model's name, its path on that machine, the longest context, the engine's version, when it started."""

    model: str
    root: str
    max_model_len: int
    version: str
    boot: float

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "model": self.model,
            "root": self.root,
            "max_model_len": self.max_model_len,
            "version": self.version,
            "boot": self.boot,
        }


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is measured.

    Attributes:
        client: where it listens, and the key.
        model: the name under which it serves its model.
        salt: what the server is to mix into its prefix cache (`cache_salt`), so that the same texts, which numbers need to
            compare, are not served from what an earlier session left there.
    """

    client: Client
    model: str
    salt: str = field(default_factory=lambda: token_hex(8))

    @property
    def url(self) -> str:
        """Its address."""
        host = self.client.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.client.port}"

    @property
    def soon(self) -> Client:
        """Its client for questions that need no work: a server that is silent is told of at once."""
        return replace(self.client, wait=min(SOON, self.client.wait))

    def models(self) -> list[dict[str, Any]]:
        """Ask which models it serves; entries without a name are left out.

        Raises:
            NotMeasurable: nobody answers there, or not as a server of models does.
        """
        try:
            listed = as_object(*self.soon.get("/v1/models")).get("data")
        except NoAnswer as error:
            raise NotMeasurable(
                f"nobody answers at {self.url} ({error})", "start it with `launch.py serve`, or name another with --url"
            ) from None
        except BadAnswer as error:
            denied = "status 401" in str(error)
            fix = (
                "set VLLM_API_KEY, or write the key into api_key.txt" if denied else "name an OpenAI-compatible server"
            )
            raise NotMeasurable(f"{self.url} does not say which models it serves: {error}", fix) from None
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        return [entry for entry in entries if isinstance(entry.get("id"), str) and entry["id"]]

    def identity(self) -> Identity:
        """Ask who it is.

        Raises:
            NotMeasurable: nobody answers there, or it does not serve the model.
        """
        models = self.models()
        found = next((entry for entry in models if entry["id"] == self.client.hide(self.model)), None)
        if found is None:
            names = ", ".join(entry["id"] for entry in models) or "nothing"
            raise NotMeasurable(f"{self.url} does not serve {self.model}: it serves {names}", "name another server")
        root = found.get("root")
        try:
            version = as_object(*self.soon.get("/version")).get("version")
        except (NoAnswer, BadAnswer):
            version = None
        return Identity(
            self.model,
            root if isinstance(root, str) else "",
            count(found.get("max_model_len")) or 0,
            version if isinstance(version, str) else "",
            self.counters().boot,
        )

    def counters(self) -> Counters:
        """Read /metrics; a server without the page has no counters."""
        try:
            status, body = self.soon.get("/metrics")
        except (NoAnswer, BadAnswer):
            return Counters()
        return parse(body.decode("utf-8", errors="replace")) if status == 200 else Counters()

    def tokens_of_chat(self, messages: Sequence[Message]) -> int:
        """Count the tokens of a chat after the template, as the server itself counts them.

        Raises:
            NotMeasurable: it has no /tokenize, or that answers wrongly.
        """
        return self._tokenize({"messages": list(messages), "chat_template_kwargs": TEMPLATE})[0]

    def tokens_of_text(self, text: str) -> list[int]:
        """Return the ids of a text's tokens.

        Raises:
            NotMeasurable: see tokens_of_chat.
        """
        return self._tokenize({"prompt": text, "add_special_tokens": False})[1]

    def _tokenize(self, body: Mapping[str, Any]) -> tuple[int, list[int]]:
        try:
            answer = self.client.post("/tokenize", {"model": self.model, **body})
        except (NoAnswer, BadAnswer) as error:
            raise NotMeasurable(
                f"{self.url} does not count tokens: /tokenize: {error}",
                "measure a vLLM server: lengths are those that the server itself counts",
            ) from None
        number, tokens = count(answer.get("count")), answer.get("tokens")
        if number is None or not isinstance(tokens, list) or number != len(tokens):
            raise NotMeasurable(f"{self.url} answers /tokenize without a count and its tokens", "measure a vLLM server")
        return number, tokens

    def chat(self, messages: Sequence[Message], limit: int, exact: bool = False, **more: Any) -> Answer:
        """Ask a chat, greedily, streamed.

        Args:
            messages: the chat.
            limit: the most tokens of the answer.
            exact: go on to the limit, whatever the model says.
            more: further fields of the request.
        """
        body = {"messages": list(messages), "chat_template_kwargs": TEMPLATE, "cache_salt": self.salt, **more}
        return self._ask("/v1/chat/completions", body, limit, exact)

    def _ask(self, path: str, body: Mapping[str, Any], limit: int, exact: bool) -> Answer:
        whole = {
            "model": self.model,
            "max_tokens": limit,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
            **({"ignore_eos": True, "min_tokens": limit} if exact else {}),
            **body,
        }

        def events() -> Iterator[str]:
            return self.client.stream(path, whole)

        answer = read(events, limit, exact=exact)
        hide = self.client.hide  # a key that was sent in parts is whole only now
        calls = tuple((hide(name), hide(arguments)) for name, arguments in answer.calls)
        return replace(answer, text=hide(answer.text), reasoning=hide(answer.reasoning), calls=calls)
