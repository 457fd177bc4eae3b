"""Command line: `python -m tools.engine_data env|make|compare`."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path

from tools.engine_data import compare, convert, environment, parsers, variables, wheels, write

VERSIONS = ("0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0")
WITH_ATTENTION = ("0.31.0", "0.33.0")


def prepare(env: Path, cache: Path, version: str, keep: bool) -> wheels.Wheel:
    """Makes the environment and the Python files of one version ready; downloads only what is missing."""
    environment.create(env)
    target = environment.source(env, version)
    wheel = wheels.unpacked(target)
    if wheel is None:
        path = wheels.fetch(version, cache)
        wheel = wheels.unpack(path, target)
        if not keep:
            path.unlink()
    return wheel


def make(env: Path, version: str, wheel: wheels.Wheel, out: Path, today: str) -> Path:
    """Dumps one version and writes its file; returns the path. Takes about 15 s, with the attention table 40 s."""
    variables.verify(env, version)
    dump = environment.call(env, version, "dump_parser", None)
    matrix = environment.call(env, version, "dump_matrix", None, device=None) if version in WITH_ATTENTION else None
    source = {"made_by": "tools/engine_data", "made_on": today, "sha256": wheel.sha256, "wheel": wheel.name}
    path = out / f"vllm-{version}.json"
    path.write_text(
        write.text(convert.document(dump, matrix, source, parsers.names(environment.source(env, version)))),
        encoding="utf-8",
    )
    return path


def parser() -> argparse.ArgumentParser:
    """The command's own options."""
    top = argparse.ArgumentParser(
        prog="python -m tools.engine_data", description="Engine data from vLLM's real wheels."
    )
    commands = top.add_subparsers(dest="command", required=True)
    for name, text in (("env", "make the parser environment"), ("make", "make the environment, then the data files")):
        sub = commands.add_parser(name, help=text)
        sub.add_argument("versions", nargs="*", metavar="VERSION", help=f"default: {' '.join(VERSIONS)}")
        sub.add_argument(
            "--env", type=Path, required=True, help="folder of the parser environment (about 2 GB with all versions)"
        )
        sub.add_argument(
            "--wheels", type=Path, help="folder for downloaded wheels, default ENV/wheels (about 320 MB each)"
        )
        sub.add_argument("--keep-wheels", action="store_true", help="do not delete a wheel once it is unpacked")
        if name == "make":
            sub.add_argument(
                "--out", type=Path, default=environment.ROOT / "rules/engines", help="default: rules/engines"
            )
            sub.add_argument("--today", default=datetime.date.today().isoformat(), help="the date to write, YYYY-MM-DD")
    sub = commands.add_parser("compare", help="compare the data files with reference dumps of the same versions")
    sub.add_argument("reference", type=Path, help="folder with flags-VERSION.json, envs.json, backend_matrix-X.Y.json")
    sub.add_argument("--engines", type=Path, default=environment.ROOT / "rules/engines")
    return top


def main(argv: list[str] | None = None) -> int:
    """Runs one command; 0 when it worked, 1 when a comparison found a difference or a step failed."""
    args = parser().parse_args(argv)
    if args.command == "compare":
        found = compare.folder(args.engines, args.reference)
        print("\n".join(found) or "no difference")
        return 1 if found else 0
    for version in args.versions or VERSIONS:
        start = time.monotonic()
        try:
            wheel = prepare(args.env, args.wheels or args.env / "wheels", version, args.keep_wheels)
            line = f"{version}: {wheel.name}"
            if args.command == "make":
                path = make(args.env, version, wheel, args.out, args.today)
                line += f" -> {path} ({len(json.loads(path.read_text(encoding='utf-8'))['flags'])} flags)"
        except (
            environment.ParserEnvironmentError,
            variables.NoReaderError,
            parsers.NoTableError,
            FileNotFoundError,
        ) as error:
            print(f"{version}: {error}", file=sys.stderr)
            return 1
        print(f"{line}, {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
