"""What happens around every command: streams, signals, exit statuses, and what an unexpected error looks like."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import NoReturn

OK, REFUSED, USAGE, BROKEN, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130
AGAIN = "LAUNCH_STARTED_AGAIN"
_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.EIO)
NEEDED = ("yaml", "jsonschema", "cerberus")


class OutputError(Exception):
    """Standard output cannot be written."""


def start(root: str) -> NoReturn:
    """Run the command line of this process and end it. Never raises, never shows a traceback."""
    from resolver.cli import bytecode

    again = os.environ.pop(AGAIN, None) is not None
    status = INTERNAL
    try:
        import gc
        import signal

        gc.disable()  # a command makes rules and a few answers, and ends; a batch switches it on again
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that goes away ends us as it ends any tool
        bytecode.keep(root)
        _streams()
        status = guarded(lambda: _command(sys.argv[1:]), again)
    except KeyboardInterrupt:
        say("interrupted\n")
        status = INTERRUPTED
    finish(status)


def finish(status: int) -> NoReturn:
    """Flush, and end without the interpreter's own complaints about streams that are gone."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            status = status or BROKEN
            if stream is sys.stdout:
                say("error: cannot write to standard output\n")
    os._exit(status)


def _command(words: list[str]) -> int:
    from resolver.cli.dispatch import main

    return main(words)


def guarded(action: Callable[[], int], again: bool = True) -> int:
    """Run a command and turn every way in which it can end into an exit status and at most a few clear lines.

    `again`: this process was started again already with the product's own Python, so that is not tried once more.
    """
    try:
        return action()
    except KeyboardInterrupt:
        say("interrupted\n")
        return INTERRUPTED
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else INTERNAL
    except BaseException as error:
        return _explain(error, again)


def _explain(error: BaseException, again: bool) -> int:
    from resolver.diagnostics import RulesError, UsageError
    from resolver.serving.errors import LaunchError

    debug = os.environ.get("LAUNCH_DEBUG") == "1"
    if debug:
        import traceback

        say(traceback.format_exc())
    if isinstance(error, UsageError):
        say_error(error.message, error.fix)
        return USAGE
    if isinstance(error, LaunchError):
        say_error(error.message, error.fix)
        return REFUSED
    if isinstance(error, RulesError):
        for d in error.diagnostics:
            say_error(f"{d.position}: {d.message}" if d.position else d.message, d.fix)
        return BROKEN
    if isinstance(error, OutputError):
        say_error(str(error), None)
        return BROKEN
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in NEEDED:
        return without_packages(error.name or "", again)
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "resolver":
        say_error(
            f"this checkout is incomplete: it has no {error.name}", "run `git status` there, and restore the file"
        )
        return BROKEN
    if isinstance(error, MemoryError):
        say_error("there is not enough memory", "raise the limit (`ulimit -v`), or end other programs")
        return BROKEN
    if isinstance(error, OSError) and error.errno in _SHORT:
        say_error(f"the system ran short: {os.strerror(error.errno)}", "raise the limit (`ulimit -a`), or make room")
        return BROKEN
    where = _place(error)
    say_error(f"internal error: {type(error).__name__}{where}, please report", "LAUNCH_DEBUG=1 shows the traceback")
    return INTERNAL


def _place(error: BaseException) -> str:
    """The innermost line of this product; the error's own text is left out, for it may hold a secret."""
    found = ""
    trace = error.__traceback__
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(root):
            found = f" at {os.path.relpath(file, root)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def without_packages(missing: str, again: bool) -> int:
    """Start again with the product's own Python, where `make setup` made one; else say what to do."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    python = os.path.join(root, ".venv", "bin", "python")
    if not again and os.access(python, os.X_OK) and sys.argv:
        os.environ[AGAIN] = "1"
        try:
            os.execv(python, [python, os.path.join(root, "launch.py"), *sys.argv[1:]])
        except OSError:
            del os.environ[AGAIN]
    say_error(
        f"this Python has no package {missing}, which is needed whenever a rule, a machine or a value is new",
        "run `make setup` once, then use .venv/bin/python launch.py",
    )
    return BROKEN


def say(text: str) -> None:
    """Write to standard error; a standard error that is gone is no reason to fail."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def say_error(message: str, fix: str | None) -> None:
    """One error: what is wrong, and the way out, without characters that would repaint the terminal."""
    from resolver.shown import clean

    say(f"error: {clean(message)}\n" + (f"  fix: {clean(fix)}\n" if fix else ""))


def put(text: str) -> None:
    """Write data to standard output. Raises OutputError when that is closed or full."""
    if sys.stdout is None:
        raise OutputError("standard output is closed, so there is nowhere to print to")
    try:
        sys.stdout.write(text)
    except OSError as error:
        raise OutputError(f"cannot write to standard output ({error.strerror})") from None


def _streams() -> None:
    """Any text can be written in any locale: what the encoding lacks is escaped, bytes from outside pass as they came."""
    import codecs

    def handle(error: UnicodeError) -> tuple[str | bytes, int]:
        assert isinstance(error, UnicodeEncodeError)
        char = error.object[error.start]
        if "\udc80" <= char <= "\udcff":
            return bytes([ord(char) - 0xDC00]), error.start + 1
        return char.encode("ascii", "backslashreplace"), error.start + 1

    codecs.register_error("launch", handle)
    for stream, number in ((sys.stdin, 0), (sys.stdout, 1), (sys.stderr, 2)):
        if stream is None:
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # so that no file that is opened later takes this number
        elif number and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="launch")
