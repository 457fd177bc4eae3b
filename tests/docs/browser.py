"""A headless Chromium for the matrix page, where there is one."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str:
    """The path of a Chromium; without one, or without playwright, the test is left out and says so."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(
            f"there is no Chromium on PATH (looked for {', '.join(NAMES)}): the page is not tested in a browser"
        )
    try:
        import playwright  # noqa: F401
    except ImportError:
        pytest.skip("playwright is not installed (pip install playwright): the page is not tested in a browser")
    return found


@contextmanager
def opened(page_file: Path, **context: Any) -> Iterator[Any]:
    """The page in a browser without a network; afterwards nothing must have been complained about or asked for."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    complaints: list[str] = []
    requests: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            page = browser.new_context(offline=True, **context).new_page()
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda request: requests.append(request.url))
            page.goto(page_file.as_uri())
            wait(page, "document.body.dataset.shown !== undefined")
            yield page
        finally:
            browser.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def wait(page: Any, condition: str) -> None:
    """Wait until a condition holds. Playwright's own waiting needs `eval` in the page, which its policy forbids."""
    for _ in range(1000):
        if page.evaluate(condition):
            return
        time.sleep(0.02)
    raise AssertionError(f"the page never came to {condition}")


ASK = """
async (wanted) => {
  const out = [];
  for (const [machine, profile, ...values] of wanted) {
    document.getElementById("machine").selectedIndex = machine;
    document.getElementById("profile").selectedIndex = profile;
    data.knobs.forEach((knob, i) => { document.getElementById("knob-" + knob.name).selectedIndex = values[i]; });
    document.getElementById("profile").dispatchEvent(new Event("change", { bubbles: true }));
    const want = [machine, profile, ...values].join(",");
    for (let i = 0; document.body.dataset.shown !== want; i++) {
      if (i > 2000) throw new Error("the page never showed " + want);
      await new Promise((done) => setTimeout(done, 2));
    }
    const text = (id) => document.getElementById(id).textContent;
    const visible = [...document.querySelectorAll("#shown p, #shown dt, #shown dd")].map((node) => node.textContent);
    out.push({ printed: text("printed"), verdict: text("verdict"), command: text("command"), typed: text("typed"), visible });
  }
  return out;
}
"""


def ask(page: Any, wanted: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """What the page shows for each choice: the numbers of machine, profile, and of each knob's value."""
    shown: list[dict[str, Any]] = page.evaluate(ASK, [list(one) for one in wanted])
    return shown
