"""A matrix file has the limits of the options, says where it is wrong, and holds no key."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.cli import measure_wish
from resolver.diagnostics import RulesError, UsageError
from resolver.measure import matrix_file
from resolver.measure.limits import LIMITS

ARMS = "arms:\n  a: {profile: cpu-tiny}\n  b: {profile: cpu-tiny}\n"
SECRET = "sk-do-not-show-me"
NUMBERS = (
    "0",
    "1",
    "7",
    "8",
    "63",
    "64",
    "100",
    "101",
    "512",
    "513",
    "1000",
    "1001",
    "1k",
    "20000",
    "16777215",
    "16777217",
)
NUMBERS += ("-1", "1.5", "true", "null", "4K", "k", "''", "'²'", "2147483648", "2147483649", "9" * 5000, "9" * 5000 + "k")  # fmt: skip


def load(folder: Path, text: str) -> matrix_file.Matrix:
    path = folder / "m.yaml"
    path.write_text(text)
    return matrix_file.load(path)


def refused(folder: Path, text: str) -> str:
    """What is said; it has a place and a fix."""
    with pytest.raises(RulesError) as caught:
        load(folder, text)
    first = caught.value.diagnostics[0]
    assert first.fix
    assert first.position is not None
    assert first.position.line
    assert first.position.column
    return f"{first.position}: {first.message} {first.fix}"


@pytest.mark.parametrize("key", sorted(LIMITS))
@pytest.mark.parametrize("text", NUMBERS, ids=lambda text: text[:12])
def test_a_number_is_taken_by_the_file_where_the_option_takes_it(tmp_path: Path, key: str, text: str) -> None:
    written = f"[{text}]" if key in ("contexts", "streams") else text
    try:
        wanted: int | None = measure_wish.one(key, text, 0)
    except UsageError:
        wanted = None
    if wanted is None:
        assert f":1:{len(key) + 3 + written.startswith('[')}: `{key}` takes" in refused(
            tmp_path, f"{key}: {written}\n{ARMS}"
        )
        return
    found = load(tmp_path, f"{key}: {written}\n{ARMS}")
    taken = found.rounds if key == "rounds" else getattr(found.wish, key)
    assert taken == ((wanted,) if written.startswith("[") else wanted)


@pytest.mark.parametrize(
    "arm",
    [
        f"args: [--api-key, {SECRET}]",
        f"args: ['--api-key={SECRET}']",
        f"args: [--max-num-seqs, 4, --hf-token, {SECRET}]",
        f"args: [{SECRET}]",
        f"args: ['VLLM_API_KEY={SECRET}']",
        f"knobs: {{VLLM_API_KEY: {SECRET}}}",
        f"knobs: {{EXTRA_ARGS: '--api-key {SECRET}'}}",
        f"knobs: {{MODEL: {SECRET}}}",
        f"profile: {SECRET}",
    ],
)
def test_a_key_is_refused_and_not_repeated(tmp_path: Path, arm: str) -> None:
    said = refused(tmp_path, f"arms:\n  a: {{{arm}}}\n  b: {{profile: cpu-tiny}}\n")
    assert "m.yaml:2:" in said
    assert "VLLM_API_KEY" in said
    assert "api_key.txt" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "text",
    [
        f"{SECRET}: 1\n{ARMS}",
        f"tools: [{SECRET}]\n{ARMS}",
        f"tasks: [{SECRET}]\n{ARMS}",
        f"arms: {{{SECRET}: 1, b: {{}}}}\n",
        f"arms: {{a: {{{SECRET}: 1}}, b: {{}}}}\n",
    ],
)
def test_a_key_in_a_wrong_place_is_not_shown(tmp_path: Path, text: str) -> None:
    assert SECRET not in refused(tmp_path, text)


@pytest.mark.parametrize("key", ["tools", "tasks"])
@pytest.mark.parametrize("value", ["null", "true", "1", "1.5", "[]", "{}", "[ttft]"])
def test_a_name_that_is_none_is_told_without_words_of_python(tmp_path: Path, key: str, value: str) -> None:
    said = refused(tmp_path, f"{key}: [{value}]\n{ARMS}")
    assert f"`{key}` takes names" in said
    assert not any(word in said for word in ("None", "True", "{}", "[]", "['"))
