"""The rules as they stand at another revision of the repository, loaded with the code of this one."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from resolver.compile import all_flags
from resolver.compile.codegen import generate
from resolver.compile.helpers import HELPERS
from resolver.diagnostics import RulesError, UsageError
from resolver.engine import load_engine
from resolver.knobs import KnobTable
from resolver.load import load_rules
from resolver.names import Scope
from resolver.resolve import Resolver


def load(root: Path) -> Resolver:
    """The resolver of a folder, made without the cache. Raises RulesError."""
    flags = all_flags(root)
    rules = load_rules(root, flags)
    scope = Scope(frozenset(rules.knobs), frozenset(rules.facts), frozenset(rules.settings), flags)
    space: dict[str, Any] = dict(HELPERS)
    exec(compile(generate(rules, scope), "<rules>", "exec"), space)
    return Resolver(
        root, rules, scope, (space["settings"], space["guards"]), lambda n: load_engine(root, n), KnobTable(rules)
    )


@contextmanager
def at(root: Path, revision: str) -> Iterator[Resolver]:
    """The rules of `revision`, in a folder that is there while the context lasts.

    Raises UsageError when git has no such revision, or when its rules cannot be read by this code.
    """
    if revision.startswith("-"):
        raise UsageError(f"{revision!r} is no revision", "name a commit, a branch or a tag")
    command = ["git", "-C", str(root), "archive", "--format=tar", revision, "--", "rules", "profiles.yaml"]
    try:
        packed = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        raise UsageError("git is not there, so another revision cannot be read", "install git") from None
    if packed.returncode:
        said = packed.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(
            f"git has no rules at {revision!r}: {said[-1] if said else 'no reason given'}",
            "name a commit that has rules/",
        )
    with tempfile.TemporaryDirectory(prefix="rules-") as folder:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
            tar.extractall(folder, filter="data")
        try:
            resolver = load(Path(folder))
        except RulesError as error:
            said_first = error.diagnostics[0]
            raise UsageError(
                f"the rules at {revision!r} cannot be read by this code: {said_first}", "name a later revision"
            ) from None
        yield resolver
