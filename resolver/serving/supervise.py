"""From a planned launch to a server that is really ready, and to its end: start, show, ask, wait, stop, report.

One loop reads the engine's log, the guard's reports and the caller's signals; only the questions to the server are asked
from a thread, since each may take minutes.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from resolver.serving import failures, regions, state, supervise_guard, supervise_tree
from resolver.serving.client import BadAnswer, NoAnswer
from resolver.serving.errors import LaunchError
from resolver.serving.progress import Progress
from resolver.serving.ready import Report, Target, wait_until_ready
from resolver.serving.supervise_plan import Plan
from resolver.serving.supervise_report import Ending, tell_end, tell_ready

TICK, FATAL_WAIT, KEPT_LINES = 0.2, 10.0, 5000
TIMEOUT = 1800.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TEMPORARY = re.compile(r"distributed_init_method=file://(/\S*/vllm_dist_[0-9a-f]+)")
GUARD_KILLED = "the process that watches over the engine was killed"


@dataclass(frozen=True)
class Wishes:
    """What the caller wants beyond a server.

    Attributes:
        log: where the engine's log goes.
        timeout: seconds until the server must be ready.
        once: stop as soon as it was ready.
        question: what to ask it then; None asks nothing.
        answer: takes the answer.
        echo: show the engine's log as well.
        step: told of each step: ("guard", its pid), ("engine", its pid), ("ready", 0), ("stopping", 0). It must not raise.
        task: what to do with the server once it is ready, in a thread of its own; it takes a way to say something.
    """

    log: Path
    timeout: float = TIMEOUT
    once: bool = False
    question: str | None = None
    answer: Callable[[str], None] = print
    echo: bool = False
    step: Callable[[str, int], None] = lambda what, pid: None
    task: Callable[[Callable[[str], None]], None] | None = None


def supervise(plan: Plan, wishes: Wishes, progress: Progress) -> int:
    """Run it all. Returns the exit status.

    Raises:
        LaunchError: the engine was not started.
    """
    return watch(plan, wishes, progress).status


def watch(plan: Plan, wishes: Wishes, progress: Progress) -> Ending:
    """Run it all, and say how it ended. Returns that.

    Raises:
        LaunchError: the engine was not started.
    """
    gc.enable()  # a command switches it off, since it ends soon; this one does not
    handle = state.open_log(wishes.log)
    run = _Run(plan, wishes, progress, handle)
    previous = {number: signal.getsignal(number) for number in (*SIGNALS, signal.SIGPIPE)}
    try:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a reader of our output that goes away is no reason to stop
        run.begin()
        for number in SIGNALS:
            if previous[number] is not signal.SIG_IGN:  # nohup, or a shell's background
                signal.signal(number, run.signalled)
        ending = run.loop()
    finally:
        run.close()
        for number, handler in previous.items():
            signal.signal(number, handler)
    progress.clear()
    tell_end(ending, progress, run.lines, plan.order.root, wishes.log)
    return ending


class _Run:
    """One supervised engine."""

    def __init__(self, plan: Plan, wishes: Wishes, progress: Progress, log: int) -> None:
        self.plan, self.wishes, self.progress, self.file = plan, wishes, progress, log
        self.mask = state.Masker(plan.order.argv, plan.order.environ)
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self.ending = Ending()
        self.signals: list[int] = []
        self.stopping = self.over = self.asked = self.worked = False
        self.told: deque[str] = deque()
        self.dead = threading.Event()
        self.outcome: tuple[Report, str | None] | None = None
        self.fatal: float | None = None
        self.refusal: LaunchError | None = None
        self.rest = {"log": b"", "status": b""}

    def begin(self) -> None:
        """Start the engine. There are no threads yet, since this forks."""
        self.started = supervise_guard.start(self.plan.order)
        self.wishes.step("guard", self.started.guard)

    def close(self) -> None:
        """Whatever happened: the guard notices that nobody holds its pipe, and stops the engine."""
        self.dead.set()
        if hasattr(self, "started"):
            for end in (self.started.control, self.started.status, self.started.log):
                with contextlib.suppress(OSError):
                    os.close(end)
        with contextlib.suppress(OSError):
            os.close(self.file)

    def signalled(self, number: int, _: object) -> None:
        """A signal came. The loop acts on it: a handler may interrupt a write that it would have to do itself."""
        self.signals.append(number)

    def loop(self) -> Ending:
        """Until the guard has reported the end and the log is read."""
        sources = {self.started.log: "log", self.started.status: "status"}
        while sources:
            ready, _, _ = select.select(list(sources), [], [], TICK)
            for source in ready:
                part = os.read(source, 65536)
                if not part:
                    if sources.pop(source) == "status" and not self.over:
                        self._guard_killed()
                    continue
                self._take(sources[source], part)
            if self.over and self.started.log in sources and self.started.log not in ready:
                break  # somebody outside the engine's tree holds its log
            self._look()
        self._take("log", b"\n")
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.started.guard, 0)
        if self.refusal is not None:
            raise self.refusal
        return self.ending

    def _look(self) -> None:
        """What time brings."""
        self.progress.tick()
        now = time.monotonic()
        while self.signals and not self.over:  # the first one stops, a second one at once
            number = self.signals.pop(0)
            if self.stopping:
                self.started.tell("kill")
            else:
                self.ending.number = number
                self._stop("stopped")
        while self.told:
            self.progress.line(self.told.popleft())
        if self.over or self.stopping:
            return
        if self.worked and self.wishes.once:
            self._stop("once")
        elif self.outcome is not None:
            self._asked(*self.outcome)
            self.outcome = None
        elif self.fatal is not None and now - self.fatal > FATAL_WAIT:
            self._stop("died")  # vLLM usually ends by itself then
        elif not self.ending.ready and self.progress.elapsed() > self.wishes.timeout:
            self.ending.problem = f"not ready after {self.wishes.timeout:g} s, still {self.progress.phase}"
            self._stop("not ready")

    def _take(self, kind: str, part: bytes) -> None:
        part = self.rest[kind] + part
        if kind == "log":
            part = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self.rest[kind] = part.split(b"\n")
        for line in lines:
            if kind == "status":
                self._status(json.loads(line))
            elif line:
                self._log(self.mask(line.decode("utf-8", errors="replace")))

    def _log(self, line: str) -> None:
        self.lines.append(line)
        with contextlib.suppress(OSError):
            os.write(self.file, line.encode("utf-8", errors="replace") + b"\n")
        if self.wishes.echo:
            self.progress.line(line)
        if not self.ending.ready and not self.asked:
            self.progress.read(line)
        if found := TEMPORARY.search(line):
            self.started.tell(f"file {found[1]}")
            self.started.belongings.name(found[1])
        if self.fatal is None and not self.stopping and failures.FATAL.search(line):
            self.fatal = time.monotonic()

    def _status(self, said: dict[str, object]) -> None:
        if isinstance(pid := said.get("pid"), int):
            self.wishes.step("engine", pid)
            threading.Thread(target=self._ask, daemon=True).start()
        elif isinstance(error := said.get("error"), list):
            self.refusal = LaunchError(*error)
        elif "ended" in said:
            self.over = True
            self.dead.set()
            for name in ("killed", "left", "removed"):
                found = said[name]
                setattr(self.ending, name, tuple(found) if isinstance(found, list) else found)
            code = said["ended"]
            self.ending.code = code if isinstance(code, int) else None

    def _guard_killed(self) -> None:
        """The guard did not report: end here what it would have ended."""
        self.dead.set()
        self.ending.why, self.ending.problem, self.over = "guard killed", GUARD_KILLED, True
        belongings, order = self.started.belongings, self.plan.order
        belongings.look(os.getpid(), always=True)
        _, self.ending.killed, left = supervise_tree.end_all(os.getpid(), supervise_guard.POLITE)
        removed = belongings.remove() + regions.remove_stale_regions(order.keep_regions)
        self.ending.left, self.ending.removed = tuple(left), tuple(removed)

    def _stop(self, why: str) -> None:
        self.stopping, self.ending.why = True, why
        self.wishes.step("stopping", 0)
        self.started.tell("stop")
        self.progress.enter("stopping")

    def _ask(self) -> None:
        """In a thread: wait for the server, examine it, ask the question."""
        try:
            report = wait_until_ready(
                self.plan.target, lambda: not self.dead.is_set(), self.wishes.timeout + FATAL_WAIT
            )
            answer = None
            if report.ready and self.wishes.question is not None:
                answer = ask(self.plan.target, self.wishes.question)
        except Exception as error:  # whatever the server sends, the loop must hear of it
            report, answer = Report(problem=f"it could not be asked ({type(error).__name__})"), None
        self.outcome = report, answer

    def _work(self, task: Callable[[Callable[[str], None]], None]) -> None:
        """In a thread: what the caller wants of a server that is ready."""
        try:
            task(self.told.append)
        except Exception as error:  # what the task did not foresee must not stop the loop
            self.told.append(f"{'':9}  it could not be finished ({type(error).__name__})")
        self.worked = True

    def _asked(self, report: Report, answer: str | None) -> None:
        """The server was examined."""
        if self.dead.is_set():
            return
        if not report.ready:
            wrong = [result for result in report.results if not result.passed]
            self.ending.problem = report.problem or f"{wrong[-1].name} fails: {self.mask(wrong[-1].detail)}"
            self._stop("not ready")
            return
        self.ending.ready, self.ending.seconds = True, self.progress.elapsed()
        self.wishes.step("ready", 0)
        self.started.tell("ready")
        tell_ready(report, self.progress, self.plan, self.wishes.log)
        if answer is not None:
            self.wishes.answer(answer)
        if self.wishes.task is not None:
            threading.Thread(target=self._work, args=(self.wishes.task,), daemon=True).start()
        elif self.wishes.once:
            self._stop("once")
        else:
            self.progress.live = False


def ask(target: Target, question: str) -> str:
    """Ask the model something and return what it says; without an answer, why."""
    try:
        found = target.client.post(
            "/v1/chat/completions",
            {
                "model": target.model,
                "messages": [{"role": "user", "content": question}],
                "max_tokens": 200,
                "temperature": 0,
                "chat_template_kwargs": {"enable_thinking": False},
            },
        )
        message = found["choices"][0]["message"]
        return str(message.get("content") or message.get("reasoning") or "(an empty answer)")
    except (NoAnswer, BadAnswer, LookupError, TypeError, AttributeError) as error:
        return f"(no answer: {error})"
