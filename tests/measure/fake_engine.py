"""A stand-in for `vllm serve` that can be measured. The tests put it at <venv>/bin/vllm.

Its speed follows from its words, so that two arms differ: a step takes FAKE_STEP_MS milliseconds over `--max-num-seqs`. With
FAKE_WRONG=N an engine of N requests at once calls no tool; with FAKE_DEAD=N it ends before it is up; FAKE_LOG takes a line a boot.
"""

from __future__ import annotations

import os
import sys

from tests.measure.fake_server import FakeServer, Handler


class Mute(Handler):
    """Calls no tool, once it was ready."""

    calls = 0

    def call(self, body: dict[str, object]) -> None:
        Mute.calls += 1
        if Mute.calls == 1:
            super().call(body)
        else:
            self.send(200, {"choices": [{"message": {"content": "No."}}]})


def main() -> None:
    words = sys.argv
    seqs = words[words.index("--max-num-seqs") + 1]
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as out:
        out.write(f"{seqs}\n")
    if os.environ.get("FAKE_DEAD") == seqs:
        sys.exit("RuntimeError: no room on this card")
    place = words[words.index("--host") + 1], int(words[words.index("--port") + 1])
    step = float(os.environ.get("FAKE_STEP_MS", "20")) / 1000 / int(seqs)
    server = FakeServer(
        root=words[2], address=place, per_step=step, per_token=step / 100, key=os.environ.get("VLLM_API_KEY")
    )
    if os.environ.get("FAKE_WRONG") == seqs:
        server.RequestHandlerClass = Mute
    server.serve_forever()


if __name__ == "__main__":
    main()
