"""How is an arm started and stopped between measurements? By `launch.py serve`, as a process of its own, ended before the next one begins."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from resolver.measure.server import Server
from resolver.serving.errors import LaunchError
from resolver.serving.supervise_tree import PR_SET_PDEATHSIG

STOP = 120.0  # seconds that `serve` has to stop what it started
LOOK = 0.05  # seconds between two looks at whether it is gone
READY, KEPT = "ready: ", 40


_TIED = f"import ctypes, os, sys; ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, {int(signal.SIGTERM)}); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
"""What the new process does first: it asks to be stopped when this one is gone, whatever ended it, and becomes `serve`."""


@contextmanager
def booted(
    words: Sequence[str],
    server: Server,
    root: Path,
    environ: Mapping[str, str],
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Server]:
    """Start a launch, give its server when it was seen to work, and stop all of it.

    Args:
        words: what follows `launch.py serve`.
        server: where it will listen.
        root: the product's folder.
        environ: its whole environment.
        say: told each line that `serve` says.

    Raises:
        LaunchError: it did not become ready; the message has what it said.
        KeyboardInterrupt: Ctrl-C came while it was stopped; it is stopped all the same.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", _TIED, str(root / "launch.py"), "serve", *words],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C is for this process, which then stops that one
    )
    ready, lines = threading.Event(), deque[str](maxlen=KEPT)
    reader = threading.Thread(target=_read, args=(process, ready, lines, say), daemon=True)
    reader.start()
    ending = False  # whether a Ctrl-C is on its way out already
    try:
        while not ready.wait(0.1):
            if process.poll() is not None:
                reader.join(5)
                if ready.is_set():
                    break
                raise LaunchError(_why(lines, process.returncode), "start it alone with `launch.py serve`, and see")
        yield server
    except KeyboardInterrupt:
        ending = True
        raise
    finally:
        with _pressed() as pressed:
            _stop(process, pressed, 0 if ending else 1)
            reader.join(5)
        if pressed and not ending:
            raise KeyboardInterrupt


def _read(
    process: subprocess.Popen[bytes], ready: threading.Event, lines: deque[str], say: Callable[[str], None]
) -> None:
    assert process.stderr is not None
    for raw in process.stderr:
        line = raw.decode("utf-8", errors="replace").rstrip()
        lines.append(line)
        say(line)
        if line.partition(" s  ")[2].startswith(READY):
            ready.set()


@contextmanager
def _pressed() -> Iterator[list[int]]:
    """Note each Ctrl-C instead of being torn out by it, so that the stopping is gone through with and nothing is forgotten."""
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # a Ctrl-C comes to the main thread alone
        yield pressed
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(process: subprocess.Popen[bytes], pressed: Sequence[int], patient: int) -> None:
    """Ask it to stop, then insist: a second signal makes `serve` kill what it started.

    Args:
        process: `serve`.
        pressed: grows with each Ctrl-C.
        patient: how many of them only end the measuring; one more than that insists at once.
    """
    for number, seconds in ((signal.SIGTERM, STOP), (signal.SIGTERM, 20.0), (signal.SIGKILL, 10.0)):
        if process.poll() is not None:
            return
        process.send_signal(number)
        allowed = max(patient, len(pressed))
        until = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < until and len(pressed) <= allowed:
            time.sleep(LOOK)


def _why(lines: Sequence[str], code: int) -> str:
    """What `serve` said of its failure, else how it ended."""
    said = [line.partition("error: ")[2] for line in lines if "error: " in line]
    return f"it did not become ready: {said[-1] if said else f'exit status {code}'}"
