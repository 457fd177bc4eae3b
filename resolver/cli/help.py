"""The help pages, made from the tables that the command line is read by."""

from __future__ import annotations

from collections.abc import Iterable

from resolver.cli.dispatch import COMMANDS, NAMING, Command
from resolver.cli.options import OPTIONS, SHORT

_HEAD = """\
Usage: launch.py [--profile NAME] [KNOB=value ...] [OPTIONS] [-- ENGINE FLAGS]
       launch.py COMMAND [OPTIONS]

Starts a vLLM server: one launch, computed from a profile, knobs, this machine and its engine. Nothing is started when
something speaks against it; then every reason is shown, each with the way out.

  launch.py --profile dflash2-long              start
  launch.py resolve --profile dflash2-long      only show what would be started
  SPEC=dflash2 CTX=long launch.py               knobs from the environment
  launch.py CTX=long MAX_SEQS=2 -- --seed 7     knobs as words, engine flags after --

A knob's value is taken from the first of: command line, environment, --env-file, profile, default.
PRINT_ARGV=1 prints the command, one word a line, and starts nothing.
"""

_STATUS = """\
Exit status:
  0    fine; of a launch, the exit status is the engine's own
  1    refused, or the engine could not be started; with --batch: at least one request was refused
  2    the command line cannot be used; with --batch: at least one line could not be read
  3    a rule, machine, profile or other file is broken or unreadable, or nothing could be written to standard output
  70   internal error
  130  interrupted

Data goes to standard output, everything else to standard error. NO_COLOR and TERM=dumb are honoured.
LAUNCH_CACHE_DIR names the folder for compiled rules (empty: none), LAUNCH_STATE_DIR the one for logs and servers; LAUNCH_DEBUG=1 shows tracebacks.
"""

_SERVING = """\
Ready means that identity, a completion, a streamed completion, a tool call and, with a key, a refusal without it were
seen to work. SIGINT, SIGTERM and SIGHUP stop the engine with all its processes; a second one does so at once. They are
stopped too when this process is killed. Progress goes to standard error, the answer to --ask to standard output.
Exit status: 0 when it was stopped after it was ready, 1 when it was not ready in time or answers wrongly, that of the
engine when the engine died (never 0), 128 and the number of the signal when it was stopped before it was ready.
"""

_DIFF = """\
A and B are each a profile, a machine, an engine version, a file that `resolve --json` wrote, or a quoted command line such
as 'mtp-fast MAX_SEQS=2 --machine rtx-4090'. What else is given counts for both. Exit status: 0 when nothing differs, else 1.
"""

_MEASURING = """\
Tools: tool-call, residues, needle, perplexity (with --text), exact-match (with --questions), conversations, ttft, prefill, decode;
without names all but residues, which takes long. Each says clean, broken or inconclusive, and why; docs/measuring.md says how.
Exit status: 0 when all is clean, 1 when something is broken or inconclusive, 130 after Ctrl-C, which shows what was measured.
"""

_FORMATS = """\
Formats:
  table   for people: the arm and why, what differs from the defaults, what to know, the command
  shell   one line to paste: folder, environment and command; secrets by reference only
  argv    the words of the command, one a line
  env     the variables that change, as KEY='value' lines; removed ones as comments
  json    everything, one object
  vllm-config, systemd, compose, llama-swap   a file for that program; secrets by reference only

Without --format: table on a terminal, shell elsewhere. A key among the engine flags is shown as *** in every format.

Batch lines: {"id", "profile", "knobs": {}, "env": {}, "args": [], "machine": name or object, "engine"}; every part may be
missing. `env` is the whole environment of that request. Each gives one JSON line, in order.
"""


def page(command: Command | None) -> str:
    """The help of one command, or of all."""
    if command is None:
        shown = "\n".join(f"  {c.name:<12}{c.help}" for c in COMMANDS.values())
        return f"{_HEAD}\nCommands (launch.py COMMAND --help says more):\n{shown}\n\n{_options(COMMANDS['launch'].options)}\n{_STATUS}"
    takes = " [KNOB=value ...]" if command.asks else ""
    if command.name in NAMING:
        takes = f" [{NAMING[command.name][0]}]{takes}"
    tail = " [-- ENGINE FLAGS]" if command.asks else ""
    text = f"Usage: launch.py {command.name}{takes} [OPTIONS]{tail}\n\n{command.help[0].upper()}{command.help[1:]}.\n\n"
    text += _options(command.options)
    if command.name == "resolve":
        text += "\n" + _FORMATS
    if command.name == "diff":
        text += "\n" + _DIFF
    if command.name == "serve":
        text += "\n" + _SERVING
    if command.name == "measure":
        text += "\n" + _MEASURING
    return text + "\n" + _STATUS


def _options(names: Iterable[str]) -> str:
    short = {full: letter for letter, full in SHORT.items()}
    lines = []
    for name in names:
        option = OPTIONS[name]
        head = ", ".join([*([short[name]] if name in short else []), name]) + (
            f" {option.value}" if option.value else ""
        )
        lines.append(f"  {head:<28}{option.help}")
    return "Options:\n" + "\n".join(lines) + "\n"
