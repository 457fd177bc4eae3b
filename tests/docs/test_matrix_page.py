"""The matrix page in a browser shows what `resolve` prints, needs no network, and can be used with a keyboard and on a phone."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from resolver.cli import ask as asking
from resolver.cli import dispatch, suggesting
from resolver.compile import open_resolver
from resolver.views.html.choices import Choices, choices
from tests.docs.browser import ask, chromium, opened, wait

ROOT = Path(__file__).resolve().parents[2]
FEW = ["ATTENTION_BACKEND=TRITON_ATTN", "ATTENTION_BACKEND=CUSTOM", "PREFIX_CACHE=0", "VISION=1", "KV_OFFLOAD_GB=16"]
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}


def written(folder: Path, words: list[str]) -> tuple[Path, Choices]:
    chromium()
    file = folder / "matrix.html"
    done = subprocess.run(
        [sys.executable, "launch.py", "matrix", "--html", str(file), *words],
        check=False,
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stderr
    assert "launches are resolved" in done.stderr
    named = [(name, value) for name, _, value in (word.partition("=") for word in words)]
    return file, choices(open_resolver(), named)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Choices]:
    return written(tmp_path_factory.mktemp("matrix"), FEW)


def numbers(wanted: Choices, choice: random.Random | None, machine: int = 0, profile: int = 0) -> tuple[int, ...]:
    """The plain choice of a machine and profile, or a random one."""
    if choice is None:
        return (machine, profile, *(0 for _ in wanted.knobs))
    sizes = [len(wanted.machines), len(wanted.profiles), *(len(knob.values) for knob in wanted.knobs)]
    return tuple(choice.randrange(size) for size in sizes)


def words_of(wanted: Choices, choice: tuple[int, ...]) -> list[str]:
    machine, profile, *values = choice
    given = [f"{knob.variable}={knob.values[value]}" for knob, value in zip(wanted.knobs, values, strict=True) if value]
    return ["resolve", "--machine", wanted.machines[machine], "--profile", wanted.profiles[profile], *given]


def anywhere(text: str) -> str:
    """The text as the page has it: for the launcher's folder, which it does not name."""
    return text.replace(f"cd {ROOT} && ", "").replace(f"{ROOT}/", "")


def printed(words: list[str], capsys: pytest.CaptureFixture[str], suggestions: bool = True) -> tuple[int, str]:
    """What `resolve` prints: standard error, then standard output. The page has suggestions where no knob is chosen."""
    with pytest.MonkeyPatch.context() as patch:
        if not suggestions:
            patch.setattr(suggesting, "show", lambda *_: None)
        status = dispatch.main(words)
    out, err = capsys.readouterr()
    return status, anywhere(err + out)


@pytest.fixture(autouse=True)
def _as_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line in this process, as it is in the process that writes the page; rules are read once."""
    resolver = open_resolver()
    monkeypatch.setattr(asking, "open_resolver", lambda: resolver)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["launch.py"])
    for name in set(os.environ) - set(ENVIRONMENT):
        if name in resolver.table.by_variable:
            monkeypatch.delenv(name)


def compare(
    shown: list[dict[str, Any]],
    asked: list[tuple[int, ...]],
    wanted: Choices,
    capsys: pytest.CaptureFixture[str],
) -> int:
    """Hold what the page showed against `resolve`; returns how many were refused."""
    refused = 0
    for choice, found in zip(asked, shown, strict=True):
        words = words_of(wanted, choice)
        status, text = printed(words, capsys, suggestions=not any(choice[2:]))
        assert found["printed"].rstrip("\n") == text.rstrip("\n"), words
        assert found["verdict"].startswith("Refused" if status else "Accepted")
        assert shlex.split(found["typed"])[-len(words) :] == words
        assert bool(found["command"]) is not bool(status)
        assert found["command"] in text
        shown_words = " ".join(found["visible"]).split()
        assert shown_words == text.removesuffix(found["command"]).split(), words
        refused += status != 0
    return refused


def test_every_profile_on_every_machine(small: tuple[Path, Choices], capsys: pytest.CaptureFixture[str]) -> None:
    file, wanted = small
    asked = [
        numbers(wanted, None, machine, profile)
        for machine in range(len(wanted.machines))
        for profile in range(len(wanted.profiles))
    ]
    with opened(file) as page:
        shown = ask(page, asked)
    assert 0 < compare(shown, asked, wanted, capsys) < len(asked)


def test_random_choices(small: tuple[Path, Choices], capsys: pytest.CaptureFixture[str]) -> None:
    file, wanted = small
    asked = [numbers(wanted, random.Random(seed)) for seed in range(300)]
    with opened(file) as page:
        shown = ask(page, asked)
    assert 0 < compare(shown, asked, wanted, capsys) < len(asked)


def test_the_command_line_itself_prints_it(small: tuple[Path, Choices]) -> None:
    file, wanted = small
    asked = [numbers(wanted, None, machine, profile) for machine, profile in ((0, 0), (4, 2), (6, 7), (2, 11))]
    with opened(file) as page:
        shown = ask(page, asked)
    for choice, found in zip(asked, shown, strict=True):
        typed = shlex.split(found["typed"])
        done = subprocess.run(typed, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == found["verdict"].startswith("Refused"), choice
        assert anywhere(done.stderr + done.stdout).rstrip("\n") == found["printed"].rstrip("\n")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_random_choices_of_the_standard_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, wanted = written(tmp_path, [])
    assert file.stat().st_size < 8_000_000
    asked = [numbers(wanted, random.Random(seed)) for seed in range(300)]
    with opened(file) as page:
        shown = ask(page, asked)
    assert 0 < compare(shown, asked, wanted, capsys) < len(asked)


def test_the_keyboard_reaches_and_changes_everything(small: tuple[Path, Choices]) -> None:
    file, wanted = small
    with opened(file) as page:
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.name"))
        needed = ["machine", "ctx", "spec", "profile", "reset", *(f"knob-{knob.variable}" for knob in wanted.knobs)]
        assert [name for name in needed if name not in reached] == []
        page.focus("input[name=ctx]:checked")
        page.keyboard.press("ArrowRight")
        wait(page, "document.body.dataset.shown.startsWith('0,1,')")
        assert page.evaluate("document.getElementById('profile').value") == "mtp-long"
        page.focus("#machine")
        page.keyboard.press("ArrowDown")
        wait(page, "document.body.dataset.shown.startsWith('1,')")


def test_every_control_has_a_label(small: tuple[Path, Choices]) -> None:
    with opened(small[0]) as page:
        bare = page.evaluate(
            "[...document.querySelectorAll('select, input')].filter(x => !x.labels.length).map(x => x.id)"
        )
        assert bare == []
        assert page.evaluate("document.documentElement.lang") == "en"


def test_a_refusal_offers_changes_that_are_accepted(small: tuple[Path, Choices]) -> None:
    file, wanted = small
    machine, profile = wanted.machines.index("rtx-3090-stock"), wanted.profiles.index("mtp-huge")
    with opened(file) as page:
        assert ask(page, [numbers(wanted, None, machine, profile)])[0]["verdict"].startswith("Refused")
        page.click("#near button:has-text('ATTENTION_BACKEND=TRITON_ATTN')")
        wait(page, "document.getElementById('verdict').textContent.startsWith('Accepted')")
        assert "mtp-huge-triton-int4" in page.inner_text("#verdict")


def test_the_command_is_copied(small: tuple[Path, Choices]) -> None:
    with opened(small[0], permissions=["clipboard-read", "clipboard-write"]) as page:
        page.evaluate("document.getElementById('machine').value = 'rtx-3090'")
        page.evaluate("document.getElementById('machine').dispatchEvent(new Event('change', {bubbles: true}))")
        wait(page, "!document.getElementById('command-part').hidden")
        page.click("#copy")
        wait(page, "document.getElementById('copied').textContent === 'copied'")
        assert page.evaluate("navigator.clipboard.readText()") == page.evaluate(
            "document.getElementById('command').textContent"
        )


def test_the_address_keeps_the_choice(small: tuple[Path, Choices]) -> None:
    file, wanted = small
    with opened(file) as page:
        ask(page, [(2, 4, *(1 for _ in wanted.knobs))])
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        wait(page, "document.body.dataset.shown !== undefined")
        assert page.evaluate("document.body.dataset.shown") == ",".join(["2", "4", *("1" for _ in wanted.knobs)])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_on_a_phone_in_both_schemes(small: tuple[Path, Choices], scheme: Any) -> None:
    with opened(small[0], viewport={"width": 360, "height": 740}, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        back, text = page.evaluate("['backgroundColor', 'color'].map(x => getComputedStyle(document.body)[x])")
        light_back = sum(map(int, back[4:-1].split(","))) > sum(map(int, text[4:-1].split(",")))
        assert light_back is (scheme == "light")
        for kind in ("refuse", "warn", "note", "good", "dim"):
            assert contrast(page, kind) >= 4.5, kind


def contrast(page: Any, kind: str) -> float:
    """The contrast of a style's text on the page, by WCAG 2."""
    colors = page.evaluate(
        """(kind) => { const p = document.createElement('p'); p.className = kind; document.body.append(p);
        const found = [getComputedStyle(p).color, getComputedStyle(document.body).backgroundColor]; p.remove(); return found; }""",
        kind,
    )
    bright = sorted(_luminance([int(x) for x in color[4:-1].split(",")]) for color in colors)
    return (bright[1] + 0.05) / (bright[0] + 0.05)


def _luminance(rgb: list[int]) -> float:
    parts = [x / 255 / 12.92 if x / 255 <= 0.03928 else ((x / 255 + 0.055) / 1.055) ** 2.4 for x in rgb]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
