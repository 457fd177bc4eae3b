"""Does a prefix hit give back the right text, at every one of the 128 residues of the templated length?

A document, "repeat its first lines", and a padding that makes the length, after the chat template, what it is to be modulo 128.
Each prompt is sent twice: the first time it fills the cache, the second time it must be served from it, which is proved by its
cached tokens or the engine's counter of hits. The second answer must be verbatim. Damage at one residue of 128 is the rule
rather than the exception: five samples miss it with a probability of 123/128. So nothing less than 128 of 128 is called clean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from resolver.measure import corpus, prompts, traffic
from resolver.measure.journal import Bar, Journal, Record
from resolver.measure.measurement import Condition, Measurement
from resolver.measure.padding import MODULUS, paddings
from resolver.measure.report import Finding, Report
from resolver.measure.residue_verdict import judge, wrong
from resolver.measure.server import Message, NotMeasurable, Server
from resolver.measure.settings import ROOM
from resolver.measure.verbatim import grade

NAME, VERSION = "residues", 1
METHOD = "residues: every residue of the templated length modulo 128, each prompt twice, the second from the cache, graded verbatim"
PAD_ROOM = 2 * MODULUS
TRIES = 2


@dataclass(frozen=True, slots=True)
class Options:
    """How the sweep is made.

    Attributes:
        context: tokens of the prompt before the padding; 0 takes what suits the server.
        lines: how many lines are to be repeated.
        answer: tokens of the answer.
        seed: of the document.
        longest: the server's longest context; 0 where it is not known.
    """

    context: int = 0
    lines: int = 60
    answer: int = 256
    seed: int = 1
    longest: int = 0


@dataclass
class _Tool:
    server: Server
    options: Options
    context: int
    frames: dict[str, tuple[list[str], str]] = field(default_factory=dict)
    padded: dict[int, tuple[str, int]] = field(default_factory=dict)

    def document(self, seed: object) -> tuple[list[str], str]:
        """The lines of the document and the prompt before the padding."""
        name = repr(seed)
        if name not in self.frames:
            prompt = prompts.fitted(self.server, self._frame, seed, self.context)
            body = str(prompt.messages[0]["content"])
            self.frames[name] = body.split("\n\n", maxsplit=1)[0].split("\n"), body
        return self.frames[name]

    def _frame(self, body: str) -> tuple[Message, ...]:
        count = f"the first {self.options.lines} lines"
        return prompts.user(
            f"{body}\n\nRepeat {count} of the text above, word by word, with their numbers, from its very first line on. "
            "Write nothing else. Ignore what follows here:"
        )

    def lengths(self, bar: Bar) -> list[int]:
        """Find a padding for each residue. Returns the residues met."""
        _, body = self.document((self.options.seed, NAME))
        bar.begin(f"{NAME}.lengths", MODULUS, 0)
        try:
            for residue, padding, length in paddings(lambda pad: self.server.tokens_of_chat(prompts.user(body + pad))):
                self.padded[residue] = padding, length
                bar.step(str(residue))
        finally:
            bar.end()
        return sorted(self.padded)

    def control(self, key: str) -> Record:
        """A document of its own, which no cache has: can this model copy at all?"""
        lines, body = self.document((self.options.seed, NAME, key))
        return self._ask(prompts.user(body), lines)

    def residue(self, key: str) -> Record:
        """One residue: the same prompt twice."""
        padding, length = self.padded[int(key)]
        lines, body = self.document((self.options.seed, NAME))
        chat = prompts.user(body + padding)
        record: Record = {}
        for _ in range(TRIES):
            first, second = self._ask(chat, lines), self._ask(chat, lines)
            record = {"length": length, "first": first, "second": second}
            if not first["problem"] and not second["problem"]:
                break
        return record

    def _ask(self, chat: Sequence[Message], lines: list[str]) -> Record:
        answers, window = traffic.watch(self.server, lambda: [self.server.chat(chat, self.options.answer)])
        answer = answers[0]
        graded = grade(answer.text, lines[: self.options.lines], lines[self.options.lines :], answer.finish == "length")
        hit = answer.cached if answer.cached is not None else int(window.moved.get("prefix_hits", 0))
        return {
            "problem": answer.problem,
            "kind": graded.kind,
            "matched": graded.matched,
            "expected": graded.expected,
            "distinct": graded.distinct,
            "repeated": graded.repeated,
            "hash": corpus.digest(answer.text),
            "start": answer.text[:80],
            "tokens": answer.tokens,
            "prompt_tokens": answer.prompt_tokens,
            "cached": hit,
            "finish": answer.finish,
            "foreign": window.foreign,
            "known": window.known,
            "tokens_per_step": window.tokens_per_step,
        }


def run(server: Server, options: Options, journal: Journal | None = None) -> Report:
    """Sweep.

    Raises:
        NotMeasurable: the server does not count tokens, or has no room for the prompt.
    """
    journal = journal or Journal()
    tool = _Tool(server, options, _context(server, options))
    name = f"{NAME}.{VERSION}"
    about = (options.seed, options.lines, options.answer, tool.context)
    controls = journal.pieces(f"{name}.control", about, ["0"], tool.control)
    residues: list[int] = []
    if not journal.interrupted:
        try:
            residues = tool.lengths(journal.bar)
        except KeyboardInterrupt:
            journal.interrupted = True
    kept = journal.pieces(name, about, [str(residue) for residue in residues], tool.residue)
    found = judge([int(key) for key in kept], list(kept.values()), list(controls.values()))
    return Report(NAME, _numbers(kept, options, tool.context, found), (found, _traffic(kept)), journal.interrupted)


def _context(server: Server, options: Options) -> int:
    """Tokens of the prompt: what was asked, else four blocks of the cache and 4,096 at least, as far as there is room."""
    room = options.longest - options.answer - ROOM - PAD_ROOM if options.longest else 1 << 30
    if options.context:
        if options.context > room:
            raise NotMeasurable(
                f"a sweep at {options.context} tokens needs {options.context - room} more than the server's {options.longest}",
                "give a shorter one with --contexts",
            )
        return options.context
    wanted = min(max(4096, 4 * (server.counters().block or 0)), room)
    if wanted < 256:
        raise NotMeasurable(
            f"the server's {options.longest} tokens have no room for a sweep", "measure one with a longer context"
        )
    return wanted


def _traffic(kept: dict[str, Record]) -> Finding:
    return traffic.finding([one for record in kept.values() for one in (record["first"], record["second"])])


def _numbers(kept: dict[str, Record], options: Options, context: int, found: Finding) -> tuple[Measurement, ...]:
    """How many residues came back: a count, recorded only where the sweep concluded."""
    if not kept:
        return ()
    good = sum(not wrong(record) for record in kept.values())
    under: dict[str, Condition] = {
        "corpus": corpus.fingerprint(),
        "seed": options.seed,
        "context": context,
        "streams": 1,
        "answer_tokens": options.answer,
        "cache_state": "prefix hit",
        "modulus": MODULUS,
    }
    one = Measurement("count", good, "items", len(kept), None, None, "", under, METHOD, VERSION)
    return (one if found.verdict == "clean" else one.unsound(found.reason),)
