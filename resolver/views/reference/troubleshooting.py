"""docs/troubleshooting.md: symptoms, from the failures that `serve` knows, the findings of `doctor`, and the hazards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from resolver.views.hazards import ORDER, read_hazards
from resolver.views.reference.findings import Found, findings
from resolver.views.reference.links import Links
from resolver.views.reference.markdown import code, made_from, plain, table
from resolver.views.reference.remedies import remedy
from resolver.yaml12 import read

PAGE = "docs/troubleshooting.md"
SYMPTOMS = {
    "refuses-to-boot": "The engine does not start",
    "crashes": "The engine starts and dies",
    "hangs": "It hangs",
    "corrupts": "Answers are wrong",
    "slow": "It is slower than it should be",
    "ignored": "Something that was set has no effect",
    "insecure": "Others can reach it",
}
INTRODUCTION = """\
Find what you see, then the row. First let the product look:

```sh
python launch.py doctor --profile mtp-long
python launch.py explain --profile mtp-long --machine rtx-3090
```

`doctor` looks at this machine, `explain` says where every word of the launch comes from, and `launch.py serve` explains the death of an
engine with the tables below. A `…` stands for what it fills in on the machine.
"""


def page(links: Links) -> list[str]:
    """The page."""
    root = Path(links.resolver.root)
    failures = read(root / "rules" / "failures.yaml", "rules/failures.yaml").data["failures"]
    hazards, where = read_hazards(root)
    found = list(findings(root))
    doctor = {finding.id: finding.fix for finding in found}
    out = [
        "# Troubleshooting",
        "",
        made_from("`rules/failures.yaml`, `rules/evidence/hazards.yaml` and the checks of `doctor`"),
        "",
    ]
    out += [*INTRODUCTION.splitlines(), ""]
    out += ["- [The launcher refuses](#the-launcher-refuses)", "- [The engine's log says](#the-engines-log-says)"]
    out += [f"- [{symptom}](#{_slug(symptom)})" for symptom in SYMPTOMS.values()]
    out += ["- [What doctor finds](#what-doctor-finds)", ""]
    out += ["## The launcher refuses", ""]
    out += [
        "Every reason names its rule, the knobs behind it, and a fix; below the reasons stand the nearest launches that are accepted, and",
        f"`--apply 1` takes the first. The rules: [reference]({links.path('README.md#rules')}).",
        "",
    ]
    out += ["## The engine's log says", ""]
    out += table(("a line like", "means", "do"), (_failure(links, f) for f in failures.values()))
    assert set(SYMPTOMS) == set(ORDER)
    for severity, symptom in SYMPTOMS.items():
        rows = [h for h in hazards["hazards"] if h["severity"] == severity]
        out += [
            f"## {symptom}",
            "",
            f"More of each: [hazards.md]({links.path('hazards.md')}#{severity}).",
            "",
        ]
        out += table(
            ("what happens", "do", "evidence"),
            (
                (
                    f"[{plain(h['happens'])}]({links.path('hazards.md')}#{h['id']})",
                    remedy(links, h, where["places"][h["id"]], doctor),
                    _evidence(links, h),
                )
                for h in rows
            ),
        )
    out += ["## What doctor finds", ""]
    out += ["With `--fix` it mends what is marked so.", ""]
    out += table(("finding", "", "what follows", "do"), map(_finding, found))
    return out


def _slug(text: str) -> str:
    return text.lower().replace(" ", "-")


def _failure(links: Links, failure: dict[str, Any]) -> tuple[str, str, str]:
    means = plain(failure["means"])
    if "rule" in failure:
        means += f" ({links.to('guard', failure['rule'])} foresees it)"
    return code(_told(failure)), means, plain(failure["fix"])


def _told(failure: dict[str, Any]) -> str:
    """What the pattern finds in the log that is kept with it, to whole words."""
    log = failure["log"]
    found = re.search(failure["pattern"], log)
    assert found is not None, failure["pattern"]
    begin, end = found.span()
    while begin > 0 and re.match(r"[\w'-]", log[begin - 1]):
        begin -= 1
    while end < len(log) and re.match(r"[\w'-]", log[end]):
        end += 1
    return str(log[begin:end].split("\n")[0].strip())


def _evidence(links: Links, hazard: dict[str, Any]) -> str:
    return ", ".join(
        [
            *(links.to("figure", id) for id in hazard.get("figures", ())),
            *(f"issue {n}" for n in hazard.get("issues", ())),
        ]
    )


def _finding(found: Found) -> tuple[str, str, str, str]:
    fix = plain(found.fix) + (" (`--fix` does it)" if found.mends else "")
    return f"{code(found.id)}: {plain(found.what)}", found.severity, plain(found.why), fix
