"""A server to be loaded, as a program: `loaded_server.py PORT [short|dies|deaf|hangs]`. It answers what e2e.soak asks.

`short` answers with one token less, `dies` ends with status 3 in its hundredth answer, `deaf` does not hear SIGTERM,
`hangs` stops answering after its fiftieth question.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from itertools import count

from tests.fake_http import FakeHandler, FakeHTTP

METRICS = """\
# TYPE vllm:num_preemptions counter
vllm:num_preemptions_total{engine="0",model_name="m"} 2.0
vllm:num_preemptions_total{engine="1",model_name="m"} 1.0
vllm:num_preemptions_created{engine="0"} 1.7e9
vllm:num_requests_waiting{engine="0"} 4.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 4.0
vllm:prompt_tokens_by_source_total{source="a"} 9.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
"""


class Handler(FakeHandler):
    how = ""
    asked = count(1)

    def do_GET(self) -> None:
        models = {"data": [{"id": "m", "max_model_len": 40_000}]}
        self.send(200, {"/metrics": METRICS.encode(), "/v1/models": models}.get(self.path, b"ok"))

    def do_POST(self) -> None:
        number = next(self.asked)
        asked = self.body()
        if len(asked["prompt"]) + asked["max_tokens"] > 40_000:
            self.send_error(400, "too long")
            return
        if self.how == "hangs" and number > 50:
            threading.Event().wait()
        if self.how == "dies" and number == 100:
            print("ERROR engine dead", flush=True)
            os._exit(3)
        tokens = asked["max_tokens"] - (self.how == "short")
        self.begin(chunked=False)
        try:
            for place in range(tokens):
                choice = {"token_ids": [1], "finish_reason": "length" if place == tokens - 1 else None}
                self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            return  # it was hung up


class Server(FakeHTTP):
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:  # whoever hangs up is no error of this server
        pass


def main() -> None:
    Handler.how = sys.argv[2] if len(sys.argv) > 2 else ""
    if Handler.how == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()


if __name__ == "__main__":
    main()
