"""Requests with a key planted wherever a key may come from, and a search for it in all that could be shown."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from resolver.masking import mask
from resolver.resolution import Resolution
from resolver.views.explain_parts import text_of
from resolver.views.formats import argv_lines, env_lines, shell_line
from resolver.views.result import as_json
from tests.matrix import strategies
from tests.matrix.asked import Asked

PLANTED = "PLANTEDb9e7c4d1"
KEY = f"sk-{PLANTED}"
KEYS = st.sampled_from(
    [
        KEY,
        f"-{PLANTED}",
        f"--{PLANTED}",
        f"{{{PLANTED}",
        f"'{PLANTED}",
        f"{PLANTED}=x",
        f"a.{PLANTED}",
        f"é{PLANTED}",
        f'{{"k":"{PLANTED}"}}',
    ]
)
SPELLINGS = [
    "--api-key",
    "--api_key",
    "--api-ke",
    "--ap",
    "--api",
    "--apikey",
    "--api-keyy",
    "--API-KEY",
    "-api-key",
    "--hf-token",
    "--hf_token",
    "--hf-to",
    "--api-key.x",
]


@st.composite
def spelled(draw: st.DrawFn) -> list[str]:
    """Words that carry the key."""
    name, key = draw(st.sampled_from(SPELLINGS)), draw(KEYS)
    how = draw(st.integers(0, 5))
    if how == 0:
        return [f"{name}={key}"]
    if how == 1:
        return [name, key, key]
    if how == 2:
        return [name, "", key]
    if how == 3:
        return [f"{name}=", key]
    return [name, key]


@st.composite
def planted(draw: st.DrawFn) -> Asked:
    """A request with the key in at least one place."""
    base = draw(strategies.asked(wild_names=False))
    given = [(n, t) for n, t in base.given if n not in ("VLLM_API_KEY", "EXTRA_ARGS")]
    environ = {k: v for k, v in base.environ.items() if k not in ("VLLM_API_KEY", "EXTRA_ARGS")}
    env_file = {k: v for k, v in base.env_file.items() if k not in ("VLLM_API_KEY", "EXTRA_ARGS")}
    args = list(base.args)
    places = draw(
        st.sets(st.sampled_from(["environ", "file", "given", "args", "extra", "extra-quoted", "other"]), min_size=1)
    )
    if "environ" in places:
        environ["VLLM_API_KEY"] = draw(KEYS)
    if "file" in places:
        env_file["VLLM_API_KEY"] = draw(KEYS)
    if "given" in places:
        given.append((draw(st.sampled_from(["VLLM_API_KEY", "vllm_api_key", "VLLM_APIKEY"])), KEY))
    if "args" in places:
        args += draw(spelled())
    words = [*draw(strategies.flag_words), *draw(spelled())]
    if "extra" in places:
        environ["EXTRA_ARGS"] = " ".join(words)
    if "extra-quoted" in places:
        quote = draw(st.sampled_from(["'", '"']))
        given.append(
            (
                "EXTRA_ARGS",
                " ".join([*words[:-2], f"--api-key {quote}{KEY}{quote}", f"--api-key={quote}a {PLANTED}{quote}"]),
            )
        )
    if "other" in places:
        environ["AWS_SECRET_ACCESS_KEY"] = KEY
    return Asked(base.profile, given, environ, env_file, args, base.machine, base.engine)


def shown(r: Resolution) -> dict[str, Any]:
    """Everything that a view, a log or a failing test might print."""
    return {
        "diagnostics": [json.dumps(d.as_json(), ensure_ascii=False) for d in r.diagnostics],
        "diagnostics as text": [str(d) + str(d.fix) + "".join(map(str, d.causes)) for d in r.diagnostics],
        "masked argv": mask(r.argv),
        "JSON result": json.dumps(as_json(r, []), ensure_ascii=False),
        "settings of explain": {name: text_of(r, name) for name in (*r.rules.settings, *r.rules.knobs)},
        "command lines": [argv_lines(r), shell_line(r), env_lines(r)],
        "set variables": dict(r.rendered.set_variables),
        "repr of the diagnostics": repr(r.diagnostics),
        "repr of the resolution": repr(r),
        "repr of the request": repr(r.request),
        "repr of what was rendered": repr(r.rendered),
        "repr of the passed-through flags": repr(r.passthrough),
        "repr of the readings": repr(r.readings),
        "repr of the machine": repr(r.machine),
        "kept knob texts": repr([k for k in r.resolver.table.kept.items() if PLANTED in str(k)]),
    }


def hidden(r: Resolution) -> None:
    """Law 9: the key is in none of it."""
    for where, what in shown(r).items():
        assert PLANTED not in repr(what), f"the key is in: {where}: {_around(repr(what))}"


def _around(text: str) -> str:
    at = text.find(PLANTED)
    return text[max(0, at - 150) : at + 60]
