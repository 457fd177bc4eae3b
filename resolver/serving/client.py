"""How is an engine asked over HTTP? With the standard library, no proxy, no redirect; the key is in no message and no answer."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from resolver.serving.addresses import asked
from resolver.serving.echo import hide, hide_bytes
from resolver.serving.secrets import Secret

MOST = 8 << 20  # bytes of an answer; an engine that sends more to such small questions is none
LARGEST = 1 << 53


class NoAnswer(Exception):
    """Nobody answers there (yet): the connection was refused, cut or too slow."""


class BadAnswer(Exception):
    """Somebody answers, and not as an engine should; the text says what came."""


@dataclass(frozen=True)
class Client:
    """Where an engine listens.

    Attributes:
        host: the address that it was told to bind; "every address" is asked on the loopback.
        port: its port.
        key: the API key, if it has one.
        wait: seconds for one answer. A server that sends a little now and then may take twice that.
    """

    host: str
    port: int
    key: Secret | None = None
    wait: float = 120.0

    def get(self, path: str, key: bool | Secret = True) -> tuple[int, bytes]:
        """Ask for `path`. Returns status and body.

        Args:
            path: the path, from the slash.
            key: True sends the client's key if it has one, False none, and another secret that one.

        Raises:
            NoAnswer, BadAnswer: see there.
        """
        return self._whole("GET", path, None, key)

    def post(self, path: str, body: Mapping[str, Any], key: bool | Secret = True) -> dict[str, Any]:
        """Post a JSON object. Returns the JSON object of a 200 answer.

        Raises:
            NoAnswer, BadAnswer: see there; another status is a bad answer.
        """
        return as_object(*self._whole("POST", path, body, key))

    def stream(self, path: str, body: Mapping[str, Any]) -> Iterator[str]:
        """Post a JSON object and yield the data of each server-sent event as it comes; comments are left out.

        Raises:
            NoAnswer, BadAnswer: see there; an answer that is no event stream is a bad one.
        """
        until = time.monotonic() + self.wait
        with (
            closing(self._connection()) as connection,
            closing(self._start(connection, "POST", path, body, True)) as answer,
        ):
            kind = answer.getheader("Content-Type", "")
            if answer.status != http.client.OK or not kind.startswith("text/event-stream"):
                kind = self.hide(kind) or "no content type"
                raise BadAnswer(f"status {answer.status}, {kind}: {shown(self._read(answer, until))}")
            for line in self._lines(answer, until):
                if line.startswith("data:"):
                    yield self.hide(line.removeprefix("data:").strip())

    def hide(self, text: str) -> str:
        """Return a text of this server without the key: one that was put together from the parts of a stream, say."""
        return hide(text, self.key)

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(asked(self.host), self.port, timeout=self.wait)

    def _whole(self, method: str, path: str, body: Mapping[str, Any] | None, key: bool | Secret) -> tuple[int, bytes]:
        until = time.monotonic() + self.wait
        with (
            closing(self._connection()) as connection,
            closing(self._start(connection, method, path, body, key)) as answer,
        ):
            return answer.status, self._read(answer, until)

    def _start(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        key: bool | Secret,
    ) -> http.client.HTTPResponse:
        headers = {"Content-Type": "application/json", "Connection": "close"}
        secret = self.key if key is True else key or None
        if secret:
            headers["Authorization"] = f"Bearer {secret.reveal()}"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            return connection.getresponse()
        except TimeoutError:
            raise NoAnswer(f"no answer within {self.wait:g} s") from None
        except http.client.HTTPException as error:
            raise BadAnswer(f"no HTTP answer ({type(error).__name__})") from None
        except (OSError, ValueError) as error:  # a ValueError quotes a header that cannot be sent, which is the key
            raise NoAnswer(_reason(error)) from None

    def _read(self, answer: http.client.HTTPResponse, until: float) -> bytes:
        return hide_bytes(b"".join(self._parts(answer, until, "the answer does not end")), self.key)

    def _parts(self, answer: http.client.HTTPResponse, until: float, endless: str) -> Iterator[bytes]:
        """Yield an answer as it comes, within its limits of time and size."""
        size = 0
        while True:
            try:
                part = answer.read1(65536)
            except TimeoutError:
                raise NoAnswer(f"the answer was not whole within {self.wait:g} s") from None
            except (OSError, http.client.HTTPException) as error:
                raise NoAnswer(f"the answer was cut ({type(error).__name__})") from None
            if not part:
                return
            size += len(part)
            if size > MOST or time.monotonic() > until:
                raise BadAnswer(endless)
            yield part

    def _lines(self, answer: http.client.HTTPResponse, until: float) -> Iterator[str]:
        rest = b""
        for part in self._parts(answer, until, "the stream does not end"):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line.decode("utf-8", errors="replace").rstrip("\r")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "the request cannot be sent: the host or the key holds a character that HTTP does not allow"


def as_object(status: int, body: bytes) -> dict[str, Any]:
    """Return the JSON object of an answer.

    Raises:
        BadAnswer: another status than 200, or no JSON object.
    """
    if status != http.client.OK:
        raise BadAnswer(f"status {status}: {shown(body)}")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, or nested without end
        raise BadAnswer(f"no JSON: {shown(body)}") from None
    if not isinstance(found, dict):
        raise BadAnswer(f"no JSON object: {shown(body)}")
    return found


def count(value: Any) -> int | None:
    """Return a count of a server's answer; None where it is no whole number from 0 to 2**53, which is all that floats hold."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST else None


def shown(body: bytes) -> str:
    """Return the beginning of an answer, on one line."""
    text = " ".join(body[:2000].decode("utf-8", errors="replace").split())
    return text[:300] or "an empty answer"
