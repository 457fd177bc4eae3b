"""Read the words of a command line by one table. Every error names the word and the way out, and never a value that may be a secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from resolver.diagnostics import UsageError, nearest


class Option(NamedTuple):
    """One option. `value` names what it takes (None: nothing), `allowed` lists what that may be."""

    name: str
    value: str | None
    help: str
    allowed: tuple[str, ...] = ()


OPTIONS = {
    option.name: option
    for option in (
        Option("--profile", "NAME", "a profile: see `launch.py profiles`"),
        Option("--machine", "NAME|FILE", "this machine file instead of the machine itself: see `launch.py machines`"),
        Option("--engine", "VERSION[+OVERLAY]", "this engine instead of the machine's: see `launch.py engines`"),
        Option("--env-file", "FILE", "KEY=VALUE lines, below the environment and above the profile"),
        Option(
            "--format",
            "FORMAT",
            "table (a terminal's default), shell (the default elsewhere), argv, json, env, vllm-config, systemd, compose or llama-swap",
            ("table", "shell", "argv", "json", "env", "vllm-config", "systemd", "compose", "llama-swap"),
        ),
        Option("--batch", "FILE", "resolve many requests, one JSON object a line; - reads standard input"),
        Option("--json", None, "print JSON"),
        Option("--ctx", "TIER", "only this context tier", ("fast", "long", "huge")),
        Option("--spec", "SPECULATOR", "only this speculator", ("mtp", "dflash2", "off")),
        Option("--backend", "NAME", "only this attention backend"),
        Option("--capability", "X.Y", "only this compute capability"),
        Option("--measured", None, "only cells that somebody measured"),
        Option("--unmeasured", None, "only cells that nobody measured"),
        Option("--all", None, "also the cells without an arm; with figures: all that fit"),
        Option("--arm", "ARM", "only figures of this arm; with explain: why it is not taken"),
        Option("--want", "FLAG=VALUE", "why this flag does not have this value"),
        Option("--metric", "METRIC", "only this metric, such as decode_tok_s"),
        Option("--hardware", "GPU", "only this hardware: a part of its name, or a compute capability"),
        Option("--context", "TOKENS|TIER", "this context: tokens such as 25k; with figures also a tier"),
        Option("--use", "USE", "what it is for: chat, agent, rag or batch"),
        Option("--streams", "N", "requests at once; with measure also several numbers: 1,4"),
        Option("--vision", None, "images are sent as well"),
        Option("--prefer", "WHAT", "speed, context or quality"),
        Option("--knob", "KNOB", "only figures that speak of this knob"),
        Option("--find", "WORDS", "only figures in which all these words occur"),
        Option("--stale", None, "only figures whose engine, plugins or launch have changed since"),
        Option("--compare", "A B", "what differs between these two figures"),
        Option("--plot", "FILE", "draw the figures that fit over their context, arm by arm: .svg or .png"),
        Option("--origins", None, "list the numbered rules and where each is implemented"),
        Option(
            "--never", "RULE", "does RULE (a guard, an arm, a row, or a condition such as '{ctx: huge}') never hold?"
        ),
        Option("--always", "RULE", "does RULE hold in every request?"),
        Option("--implies", "A B", "does B hold wherever A holds?"),
        Option("--disjoint", "A B", "do A and B never hold together?"),
        Option("--sarif", None, "print the findings as SARIF 2.1.0"),
        Option("--equivalent", "REV", "what the rules at this git revision refuse, accept or say otherwise"),
        Option("--apply", "N", "when the launch is refused, take the Nth suggestion instead"),
        Option("--list", None, "list what was accepted and what failed on this machine"),
        Option(
            "--switch",
            None,
            "take the place of the server that runs; go back to it when this one does not become ready",
        ),
        Option("--log", "FILE", "keep the engine's log here; default: a new file in the state folder"),
        Option("--timeout", "SECONDS", "give up when the server is not ready by then; default: 1800"),
        Option("--once", None, "stop again, cleanly, as soon as the server was ready"),
        Option("--ask", "TEXT", "once it is ready, ask this and print the answer"),
        Option(
            "--solve",
            "WHAT",
            "the largest that fits: max_model_len, max_num_seqs or num_speculative_tokens",
            ("max_model_len", "max_num_seqs", "num_speculative_tokens"),
        ),
        Option("--formulas", None, "each number with its formula, and with the values in it"),
        Option("--from-log", "FILE", "read the log of a boot, and compare it with the prediction"),
        Option("--fix", None, "mend what can be mended safely, and say what was done"),
        Option("--html", "FILE", "write the matrix as one page for a browser; KNOB=value words choose its knobs"),
        Option("--url", "URL", "the server at this address; default: where the launch listens"),
        Option("--contexts", "TOKENS,...", "prompt lengths in tokens after the template, such as 1k,8k"),
        Option("--repeats", "N", "observations of each pair of context and streams; default: 5"),
        Option("--answer", "TOKENS", "tokens of each answer that decode times; default: 256"),
        Option("--tasks", "TASK,...", "what decode asks: summary (default), copy, quote, qa, edit, code"),
        Option("--seed", "N", "of the generated texts; default: 1"),
        Option("--text", "FILE,...", "measure perplexity on this text"),
        Option("--questions", "FILE", 'ask these: JSON lines of {"question": ..., "answer": ...}'),
        Option("--resume", "FILE", "keep what is measured here as it comes, and take up what is there"),
        Option("--ledger", "FILE", "append the numbers that are sound to this ledger; with figures: read this one"),
        Option(
            "--into",
            "ARM",
            "write the numbers that are sound beside this arm in profiles.yaml; with figures: what fits of the ledger",
        ),
        Option("--matrix", "FILE", "boot and measure the arms of this file in turn, and compare them"),
        Option("--quiet", None, "only what needs attention: no notes, no summary"),
        Option("--verbose", None, "everything: details, positions, all settings"),
        Option("--help", None, "show this help"),
    )
}
SHORT = {"-h": "--help", "-q": "--quiet", "-v": "--verbose"}


@dataclass(slots=True)
class Line:
    """A command line that was read. `assignments` are (name, text, origin); `args` the words after `--`, None without one."""

    options: dict[str, str] = field(default_factory=dict)
    words: list[tuple[str, int]] = field(default_factory=list)
    assignments: list[tuple[str, str, str]] = field(default_factory=list)
    args: list[str] | None = None

    def given(self, name: str) -> bool:
        return name in self.options

    def get(self, name: str) -> str | None:
        return self.options.get(name)


def read(words: Sequence[str]) -> Line:
    """Read the words. Raises UsageError for what no command could mean."""
    line = Line()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            line.args = list(words[at:])
            break
        if word.startswith("-") and word != "-":
            name, eq, value = word.partition("=")
            option = _option(name, at)
            if option.name in line.options:
                raise UsageError(f"{option.name} is given twice (argument {at})", "give it once")
            if option.value is None:
                if eq:
                    raise UsageError(f"{option.name} takes no value (argument {at})", f"write just {option.name}")
                line.options[option.name] = ""
                continue
            if not eq:
                if at == len(words) or words[at] == "--" or (words[at].startswith("-") and words[at] != "-"):
                    raise UsageError(
                        f"{option.name} needs a value (argument {at})", f"write {option.name} {option.value}"
                    )
                value = words[at]
                at += 1
            line.options[option.name] = _checked(option, value)
        elif "=" in word and " " not in word.partition("=")[0]:
            knob, _, text = word.partition("=")
            if not knob.replace("_", "").isalnum() or not knob.isascii():
                raise UsageError(
                    f"argument {at} starts with `=` or is no KNOB=value", "write KNOB=value, such as CTX=long"
                )
            line.assignments.append((knob, text, f"argument {at}"))
        else:
            line.words.append((word, at))
    if line.given("--quiet") and line.given("--verbose"):
        raise UsageError("--quiet and --verbose exclude each other", "give one of the two")
    return line


def _option(name: str, at: int) -> Option:
    full = SHORT.get(name, name)
    if full in OPTIONS:
        return OPTIONS[full]
    near = nearest(name, list(OPTIONS)) if name.startswith("--") else None
    shown = name if len(name) <= 40 and name.isprintable() else name[:30].encode("ascii", "replace").decode() + "..."
    fix = "put flags of the engine after `--`; see `launch.py --help` for the options"
    raise UsageError(f"there is no option {shown} (argument {at})", f"did you mean {near}? {fix}" if near else fix)


def _checked(option: Option, value: str) -> str:
    if value == "" or "\0" in value:
        raise UsageError(f"{option.name} needs a value", f"write {option.name} {option.value}")
    if option.allowed and value not in option.allowed:
        near = nearest(value, option.allowed)
        raise UsageError(
            f"{option.name} is none of {', '.join(option.allowed)}",
            f"did you mean {near}?" if near else f"write {option.name} {option.allowed[0]}, for example",
        )
    return value
