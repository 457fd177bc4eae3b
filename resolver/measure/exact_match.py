"""How many of the user's own questions are answered rightly? Greedy, thinking off, many at once; with Wilson's interval."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from resolver.measure import prompts, user_files
from resolver.measure.journal import Journal, Record
from resolver.measure.measurement import Condition, Measurement
from resolver.measure.report import Finding, Report
from resolver.measure.server import Server
from resolver.measure.statistics import share_interval
from resolver.measure.together import several
from resolver.measure.user_files import Question

NAME, VERSION = "exact-match", 1
METHOD = "exact-match: greedy, thinking off; the text after `####`, else the last number or line, compared as a number or as words"
NUMBER = re.compile(r"[-+]?\$?\d[\d,]*(?:\.\d+)?")
ASK = "\n\nEnd with a line that has `####` and the answer alone."


@dataclass(frozen=True, slots=True)
class Options:
    """Which questions, how many of them, so many at once, and tokens of an answer."""

    file: Path | None = None
    most: int = 200
    workers: int = 32
    answer: int = 768


def final(answer: str, wanted: str) -> str:
    """What an answer says in the end: after its last `####`, else its last number where one is wanted, else its last line."""
    text = answer.strip()
    if "####" in text:
        after = text.rpartition("####")[2].strip()
        if after:
            text = after.splitlines()[0]
    elif number(wanted) is not None:
        found = NUMBER.findall(text)
        return found[-1] if found else ""
    return text.splitlines()[-1].strip() if text else ""


def number(text: str) -> float | None:
    """A text as a number, with currency and thousands' commas; None where it is none."""
    plain = text.strip().rstrip(".%").replace(",", "").replace("$", "").strip()
    try:
        return float(plain) if re.fullmatch(r"[-+]?\d+(\.\d+)?", plain) else None
    except ValueError:
        return None


def same(answer: str, wanted: str) -> bool:
    """Whether two final answers are the same: as numbers, else as words without case, punctuation and articles."""
    first, second = number(answer), number(wanted)
    if second is not None:
        if first is None and (found := NUMBER.findall(answer)):
            first = number(found[-1])
        return first is not None and abs(first - second) <= 1e-9 * max(1.0, abs(second))
    return _words(answer) == _words(wanted)


def _words(text: str) -> list[str]:
    plain = text.casefold().translate(str.maketrans("", "", string.punctuation))
    return [word for word in plain.split() if word not in ("a", "an", "the")]


def run(server: Server, options: Options, journal: Journal | None = None) -> Report:
    """Ask.

    Raises:
        UsageError: the file cannot be read.
    """
    journal = journal or Journal()
    if options.file is None:
        return Report(NAME, (), (Finding("questions", "inconclusive", "no questions were given"),))
    asked = user_files.questions(options.file)[: options.most]
    name = user_files.name_of(options.file, repr(asked))
    batches = {str(at): asked[at : at + options.workers] for at in range(0, len(asked), options.workers)}
    kept = journal.pieces(
        f"{NAME}.{VERSION}",
        (name, options.workers, options.answer),
        list(batches),
        lambda key: _batch(server, batches[key], options),
    )
    answers = [one for record in kept.values() for one in record["answers"]]
    numbers, finding = _judged(answers, name, options, len(asked))
    return Report(NAME, numbers, (finding,), journal.interrupted)


def _batch(server: Server, questions: Sequence[Question], options: Options) -> Record:
    def call(question: Question) -> Callable[[], Record]:
        def ask() -> Record:
            answer = server.chat(prompts.user(question.text + ASK), options.answer)
            said = final(answer.text, question.answer)
            return {
                "problem": answer.problem,
                "right": not answer.problem and same(said, question.answer),
                "said": said[:60],
                "cut": answer.finish == "length",
            }

        return ask

    found = dict(several([call(question) for question in questions], options.workers))
    return {"answers": [found[at] for at in range(len(questions))]}


def _judged(answers: list[Record], name: str, options: Options, total: int) -> tuple[tuple[Measurement, ...], Finding]:
    if not answers:
        return (), Finding("questions", "inconclusive", "nothing was asked")
    failed = [one["problem"] for one in answers if one["problem"]]
    right, n = sum(one["right"] for one in answers), len(answers)
    low, high = share_interval(right, n)
    cut = sum(one["cut"] for one in answers)
    under: dict[str, Condition] = {
        "questions": name,
        "streams": options.workers,
        "answer_tokens": options.answer,
        "sampling": "greedy",
        "thinking": False,
    }
    metric = "gsm8k_pct" if "gsm8k" in name.partition(":")[0].casefold() else "pct"
    notes = (f"{cut} answers were cut at {options.answer} tokens and are graded as they stand",) if cut else ()
    one = Measurement(
        metric, 100 * right / n, "%", n, 100 * low, 100 * high, "95 % interval", under, METHOD, VERSION, True, notes
    )
    details = {"asked": n, "of": total, "right": right, "failed": len(failed), "cut": cut}
    if failed:
        why = f"{len(failed)} of {n} questions were not answered: {failed[0]}"
        return (one.unsound(why),), Finding("questions", "broken", why, details)
    if n < total:
        return (one,), Finding("questions", "inconclusive", f"{n} of {total} questions were asked", details)
    return (one,), Finding("questions", "clean", f"all {n} were answered, {right} rightly", details)
