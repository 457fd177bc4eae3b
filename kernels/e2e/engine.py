# SPDX-License-Identifier: Apache-2.0
"""One engine in this process, booted from the words that `launch.py` rendered; its figures and answers go to files.

    python -m e2e.engine TASK.json

The task is written by `e2e.run`. The engine's core runs in this process so that it can be stepped and profiled.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

BEGUN = time.time()


def boot(words: list[str]) -> Any:
    """The engine that `vllm serve WORDS` would start, by its own parser. Returns an LLM."""
    from vllm import LLM
    from vllm.engine.arg_utils import EngineArgs
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    given = make_arg_parser(FlexibleArgumentParser(prog="vllm serve")).parse_args(words)
    given.model = given.model_tag or given.model
    return LLM.from_engine_args(EngineArgs.from_cli_args(given))


def spoil(share: float) -> None:
    """Make our kernels compute with a softmax scale that is wrong by this share: the comparison of answers must notice."""
    from splitverify.plugin.runner import LayerRunner

    set_up = LayerRunner.__init__

    def wrong(self: Any, *, scale: float, **rest: Any) -> None:
        set_up(self, scale=scale * (1 + share), **rest)

    LayerRunner.__init__ = wrong  # type: ignore[method-assign]


def counters(llm: Any) -> dict[str, float]:
    """What the engine counted: preemptions, and drafts proposed and accepted."""
    wanted = ("preemption", "spec_decode_num")
    return {metric.name: metric.value for metric in llm.get_metrics()
            if any(part in metric.name for part in wanted) and hasattr(metric, "value")}


def left_to_vllm() -> dict[str, int]:
    """Calls that the plugin left to vLLM's kernels, by reason."""
    module = sys.modules.get("splitverify.plugin.fallbacks")
    return dict(module.COUNTS) if module else {}


class Work:
    """The task, what is written of it, and the engine."""

    def __init__(self, task: dict[str, Any]) -> None:
        from e2e.turns import Turns

        self.task, self.name = task, task["name"]
        self.out = Path(task["out"])
        self.turns = Turns(Path(task["turns"]), self.name, tuple(task["names"]), task["deadline"], tuple(task["others"]))

    def put(self, kind: str, **record: Any) -> None:
        """Append one record."""
        with open(self.out / "results.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps({"launch": self.name, "kind": kind, **record}) + "\n")
        shown = {key: value for key, value in record.items() if key not in ("top", "left_to_vllm")}
        print("RESULT", self.name, kind, json.dumps(shown)[:600], flush=True)

    def start(self) -> None:
        """Boot, draw weights, say so."""
        import torch

        from e2e import weights
        from e2e.stepping import Stepper

        if self.task["spoil"]:
            spoil(self.task["spoil"])
        self.llm = boot(self.task["words"])
        config = self.llm.llm_engine.vllm_config
        self.block = config.cache_config.block_size
        self.put("boot", seconds=round(time.time() - BEGUN, 1), block=self.block,
                 pages=config.cache_config.num_gpu_blocks, gpu=torch.cuda.get_device_name() if torch.cuda.is_available() else None)
        self.llm.apply_model(weights.draw)
        self.stepper = Stepper(self.llm.llm_engine, self.name)
        self.turns.say("up")

    def time_it(self) -> None:
        """The timed part; nobody else uses the GPU meanwhile."""
        from e2e import timing

        if not self.task["contexts"]:
            return
        self.turns.my_turn()
        self.stepper.run([timing.prompt(99, 3000)] * 2, 8)          # what is compiled at the first request
        for context, cold in self.task["contexts"]:
            if self.turns.left() < self.task["reserve"]:
                self.put("skipped", context=context, why="no time left")
                continue
            self.put("timing", **timing.measure(self.stepper, context, (1, 4), cold))

    def answer(self) -> None:
        """The compared answers; all engines at once."""
        from e2e import workload

        first, again = workload.residues(self.task["residue_block"])
        batches = {"mixed": [workload.mixed()], "residues": [first, again],
                   "unlike": [workload.long_ones()], "crowded": [workload.crowded(self.task["residue_block"])]}
        for wanted in self.task["answers"]:
            for batch in batches[wanted]:
                self._answer(batch)
            if wanted == "crowded":
                self._force(batches[wanted][0])

    def _force(self, batch: Any) -> None:
        """Ask for single steps of the answers just given, each from its text alone."""
        from e2e import workload

        file = self.out / f"answers-{self.name}-{batch.name}.json"
        given = json.loads(file.read_text(encoding="utf-8"))
        if len(given) < len(batch.prompts) or not all(answer["tokens"] for answer in given):
            self.put("skipped", batch="forced", why="not all was answered")
            return
        asked = workload.forced(batch, [answer["tokens"] for answer in given], [answer["pauses"] for answer in given])
        begun, before, emptied = time.time(), counters(self.llm), self._forget()
        run = self.stepper.run([list(prompt) for _, _, prompt in asked], 1, logprobs=5, at_once=2)
        records = [{"place": place, "step": step, "tokens": answer.tokens, "logprobs": answer.logprobs}
                   for (place, step, _), answer in zip(asked, run.answers.values(), strict=True)]
        (self.out / f"forced-{self.name}-{batch.name}.json").write_text(json.dumps(records), encoding="utf-8")
        self._put_answers("forced", len(asked), run, begun, before, cache_emptied=emptied)

    def _forget(self) -> bool:
        """Empty the prefix cache: what is computed from a text must not begin with what an earlier answer left there."""
        for _ in range(20):
            if self.llm.reset_prefix_cache():
                return True
            self.llm.llm_engine.step()                             # the last step's pages are given back with the next
            time.sleep(0.05)
        return False

    def _answer(self, batch: Any) -> None:
        begun, before = time.time(), counters(self.llm)
        run = self.stepper.run([list(prompt) for prompt in batch.prompts], batch.tokens, logprobs=5, at_once=batch.at_once,
                               until=self.turns.deadline - 5)
        with open(self.out / f"answers-{self.name}-{batch.name}.json", "w", encoding="utf-8") as file:
            json.dump([{"prompt": len(prompt), "tokens": answer.tokens, "logprobs": answer.logprobs, "cached": answer.cached,
                        "pauses": answer.pauses}
                       for prompt, answer in zip(batch.prompts, run.answers.values(), strict=False)], file)
        self._put_answers(batch.name, len(batch.prompts), run, begun, before)

    def _put_answers(self, batch: str, asked: int, run: Any, begun: float, before: dict[str, float], **more: Any) -> None:
        counted = {key: value - before.get(key, 0) for key, value in counters(self.llm).items()}
        answers = run.answers.values()
        self.put("answers", batch=batch, asked=asked, answered=len(answers), with_prefix=sum(bool(answer.cached) for answer in answers),
                 pauses=sum(len(answer.pauses) for answer in answers), seconds=round(time.time() - begun, 1), counted=counted, **more)


def main(words: list[str]) -> int:
    """Run the task of the file. Returns 0; an exception ends it with the engine's own traceback in the log."""
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    work = Work(json.loads(Path(words[0]).read_text(encoding="utf-8")))
    work.start()
    work.turns.all_up(work.task["boot_wait"])
    try:
        work.time_it()
    finally:
        work.turns.say("timed")
    work.turns.all_timed()
    work.answer()
    work.put("end", seconds=round(time.time() - BEGUN, 1), left_to_vllm=left_to_vllm(), counted=counters(work.llm))
    work.turns.say("done")
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)                                               # the engine's threads would hold the process up
