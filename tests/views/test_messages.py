"""Every message follows docs/messages.md: the texts of the rules, and the literals of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver.compile import open_resolver
from resolver.engine import load_engine, versions
from resolver.resolve import Resolver

REPO = Path(__file__).resolve().parents[2]
CALLS = {
    "Diagnostic": (2, (3,)),
    "UsageError": (0, (1,)),
    "LaunchError": (0, (1,)),
    "BadLine": (0, (1,)),
    "_Bad": (0, (1,)),
    "fail": (1, (2, 3)),
}
VERBS = frozenset(
    {
        "add",
        "ask",
        "change",
        "check",
        "choose",
        "close",
        "compute",
        "copy",
        "correct",
        "enlarge",
        "end",
        "export",
        "find",
        "free",
        "give",
        "install",
        "keep",
        "leave",
        "let",
        "lower",
        "make",
        "measure",
        "move",
        "name",
        "pass",
        "pick",
        "provide",
        "put",
        "quote",
        "raise",
        "read",
        "remove",
        "rename",
        "repack",
        "restart",
        "restore",
        "run",
        "save",
        "see",
        "serve",
        "set",
        "shorten",
        "size",
        "split",
        "start",
        "stop",
        "stream",
        "take",
        "turn",
        "unset",
        "update",
        "use",
        "wait",
        "watch",
        "write",
    }
)
BANNED = re.compile(
    r"\b(please|sorry|oops|invalid|obviously|simply|unfortunately|should|NoneType|traceback)\b|!", re.IGNORECASE
)
NAMES = (
    "FlashAttention",
    "FlashInfer",
    "KVarN",
    "Triton",
    "NVML",
    "WSL",
    "CUDA",
    "JSON",
    "YAML",
    "UTF-8",
    "FLASH_ATTN",
    "CUSTOM",
)
OWN_FILES = frozenset({"api_key", "pyvenv", "tokenizer_config", "engine_data", "runai_streamer", "expandable_segments"})
_HOLE = re.compile(r"\{[^{}]*\}")


def problems_of_a_message(text: str, knobs: frozenset[str], own: frozenset[str]) -> list[str]:
    """What is wrong with the first part of a message; `own` are names that only the program knows."""
    found = []
    if text != text.strip() or "  " in text or "\n" in text:
        found.append("has stray white space")
    if text.endswith((".", "!", ";", ",")):
        found.append("ends with punctuation")
    if re.search(r"[a-z)]\. [A-Z]", text):
        found.append("is more than one sentence")
    if BANNED.search(text):
        found.append(f"has the word {BANNED.search(text)[0]}")  # type: ignore[index]
    first = re.split(r"[ =:,]", text, maxsplit=1)[0]
    if first[:1].isupper() and first not in knobs and not first.startswith(NAMES):
        found.append("starts in upper case")
    if len(text) > 300:
        found.append(f"is {len(text)} characters long")
    for word in re.findall(r"(?<![\w./=-])[a-z0-9]+(?:_[a-z0-9]+)+", _HOLE.sub("X", text)):
        if word in own:
            found.append(f"says {word}, which is a name of our own")
    return found


def problems_of_a_fix(text: str, knobs: frozenset[str], own: frozenset[str]) -> list[str]:
    """What is wrong with the way out."""
    first = re.split(r"[ ,;:]", text, maxsplit=1)[0]
    found = [p for p in problems_of_a_message(text, knobs, own) if "upper case" not in p]
    if not text.startswith("did you mean ") and first not in VERBS and not text.startswith("{"):
        found.append(f"does not start with a verb: {first!r}")
    return found


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


@pytest.fixture(scope="module")
def knobs(resolver: Resolver) -> frozenset[str]:
    return frozenset(resolver.table.by_variable)


@pytest.fixture(scope="module")
def own(resolver: Resolver) -> frozenset[str]:
    """Settings, knobs and facts by the names that the rules use, less what is the engine's word as well."""
    engine = load_engine(REPO, versions(REPO)[-1])
    theirs = {c for info in engine.flags.values() for c in map(str, info["choices"] or ())}
    rules = resolver.rules
    return frozenset({*rules.settings, *rules.knobs, *rules.facts}) - theirs - OWN_FILES


def test_every_guard(resolver: Resolver, knobs: frozenset[str], own: frozenset[str]) -> None:
    wrong = []
    for guard in resolver.rules.guards.values():
        wrong += [
            f"{guard.position} {guard.id}: the reason {p}" for p in problems_of_a_message(guard.reason, knobs, own)
        ]
        if guard.fix:
            wrong += [f"{guard.position} {guard.id}: the fix {p}" for p in problems_of_a_fix(guard.fix, knobs, own)]
        if guard.severity == "refuse" and not (guard.fix or guard.instead):
            wrong.append(f"{guard.position} {guard.id}: no way out")
    assert len(resolver.rules.guards) > 50
    assert wrong == []


def test_every_refusal_and_warning_names_what_the_user_can_change(resolver: Resolver, knobs: frozenset[str]) -> None:
    """A knob, a flag, a file, or a value of one, in the reason or the fix."""
    wrong = []
    for guard in resolver.rules.guards.values():
        text = f"{guard.reason} {guard.fix or ''} {' '.join(resolver.rules.knobs[k].env for way in guard.instead for k in way)}"
        named = any(re.search(rf"\b{re.escape(knob)}\b", text) for knob in knobs) or re.search(
            r"--[a-z]|\{|/dev/|`", text
        )
        if guard.severity != "note" and not named and not guard.fix:
            wrong.append(f"{guard.position} {guard.id}")
    assert wrong == []


def test_holes_have_values(resolver: Resolver) -> None:
    """A {name} that nothing defines would be printed as it stands."""
    wrong = []
    for guard in resolver.rules.guards.values():
        for hole in _HOLE.findall(f"{guard.reason} {guard.fix or ''}"):
            if resolver.scope.meaning(hole[1:-1]) is None:
                wrong.append(f"{guard.position} {guard.id}: {hole}")
    assert wrong == []


def literals(node: ast.expr | None) -> Iterator[str]:
    """Every text an argument may be; what is computed stands as {}."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from literals(value)


def messages(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, `message` or `fix`, and text of every diagnostic that a module makes from literals."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name not in CALLS:
            continue
        message, fixes = CALLS[name]
        for kind, places in (("message", (message,)), ("fix", fixes)):
            given = [k.value for k in node.keywords if k.arg == kind] or [
                node.args[p] for p in places if p < len(node.args)
            ]
            for argument in given:
                for text in literals(argument):
                    yield node.lineno, kind, text


def test_every_literal_of_the_code(knobs: frozenset[str], own: frozenset[str]) -> None:
    wrong, count = [], 0
    for path in sorted((REPO / "resolver").rglob("*.py")):
        for line, kind, text in messages(path):
            count += 1
            check = problems_of_a_message if kind == "message" else problems_of_a_fix
            wrong += [f"{path.relative_to(REPO)}:{line}: the {kind} {text!r} {p}" for p in check(text, knobs, own)]
    assert count > 100
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Bad value.", "ends with punctuation"),
        ("Bad value", "upper case"),
        ("it fails. Try again", "more than one sentence"),
        ("please set CTX", "please"),
        ("two  spaces", "white space"),
        ("max_num_seqs is too large", "max_num_seqs"),
        ("x" * 301, "301 characters"),
    ],
)
def test_the_check_finds_bad_messages(text: str, said: str, knobs: frozenset[str], own: frozenset[str]) -> None:
    assert any(said in p for p in problems_of_a_message(text, knobs, own))


def test_the_check_finds_bad_fixes(knobs: frozenset[str], own: frozenset[str]) -> None:
    assert problems_of_a_fix("the knob is wrong", knobs, own)
    assert problems_of_a_fix("set CTX=long.", knobs, own)
    assert not problems_of_a_fix("set CTX=long, or unset SPEC", knobs, own)
    assert not problems_of_a_fix("did you mean CTX?", knobs, own)
