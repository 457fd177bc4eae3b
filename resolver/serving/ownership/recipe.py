"""How is a launch kept so that it can be started again, word for word, by another process? Without any secret in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from resolver.masking import hide_in_word, mask, mask_text, secret_flag
from resolver.serving import addresses, secrets
from resolver.serving.client import Client
from resolver.serving.errors import LaunchError
from resolver.serving.ready import Target
from resolver.serving.supervise_guard import Order
from resolver.serving.supervise_plan import Plan

if TYPE_CHECKING:
    from resolver.resolution import Resolution

FAMILIES = (
    "VLLM_",
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "TORCH",
    "PYTORCH_",
    "TRITON_",
    "OMP_",
    "MKL_",
    "HF_",
    "GLOO_",
    "UCX_",
)
"""Beginnings of the caller's variables that an engine or what it is made of reads; those that name a secret are never kept."""


@dataclass(frozen=True)
class Recipe:
    """One launch, as it was started.

    Attributes:
        name: the profile, or `launch`.
        command: how a person starts it again.
        configuration: its hash (measure.configuration).
        engine: the vLLM version and overlays that it was resolved for.
        home: the product's folder, which relative paths in its words are looked up from.
        argv: its words; None where one of them is a secret, and it cannot be started again from here.
        set, unset: variables that the launch sets and takes away.
        inherited: the caller's own variables that the engine reads.
        keyed: whether it asks for an API key.
        host, port, model, root, tools: where and how to ask it; `root` is the model's path.
        keep_regions: as in an order.
    """

    name: str
    command: str
    configuration: str
    engine: str
    home: str
    argv: tuple[str, ...] | None
    set: Mapping[str, str]
    unset: tuple[str, ...]
    inherited: Mapping[str, str]
    keyed: bool
    host: str
    port: int
    model: str
    root: str | None
    tools: bool
    keep_regions: bool

    @property
    def url(self) -> str:
        """Where it is reached from this machine."""
        return addresses.url(self.host, self.port)

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "set": dict(self.set), "inherited": dict(self.inherited)}

    @classmethod
    def from_json(cls, data: Any) -> Recipe | None:
        """What `as_json` wrote; None for what is no such thing, as another version of this program may have written it."""
        if not isinstance(data, Mapping) or set(data) != {entry.name for entry in fields(cls)}:
            return None
        argv, unset = data["argv"], data["unset"]
        right = (
            all(
                isinstance(data[name], str)
                for name in ("name", "command", "configuration", "engine", "home", "host", "model")
            )
            and isinstance(data["port"], int)
            and (argv is None or (isinstance(argv, list) and all(isinstance(word, str) for word in argv)))
            and isinstance(unset, list)
            and all(isinstance(name, str) for name in unset)
            and all(isinstance(data[name], dict) for name in ("set", "inherited"))
            and all(isinstance(text, str) for name in ("set", "inherited") for text in data[name].values())
        )
        return cls(**{**data, "argv": None if argv is None else tuple(argv), "unset": tuple(unset)}) if right else None


def of(resolution: Resolution, plan: Plan) -> Recipe:
    """The recipe of a launch that was planned."""
    from resolver.measure.configuration import configuration_hash
    from resolver.measure.setup import telling_variables

    argv, rendered = plan.order.argv, resolution.rendered
    hidden = mask(argv) != argv or any(hide_in_word(word) != word for word in argv)
    ask, given = plan.target, dict(rendered.set_variables)
    removed = {*given, *rendered.unset_variables, secrets.VARIABLE}
    return Recipe(
        resolution.request.profile or "launch",
        command(resolution),
        configuration_hash(argv, telling_variables(resolution)),
        resolution.engine.name,
        str(plan.order.root),
        None if hidden else tuple(argv),
        given,
        tuple(rendered.unset_variables),
        {
            name: text
            for name, text in sorted(resolution.request.environ.items())
            if _kept(name, resolution.engine.variables) and name not in removed and hide_in_word(text) == text
        },
        bool(plan.order.environ.get(secrets.VARIABLE)) or ask.client.key is not None,
        ask.client.host,
        ask.client.port,
        ask.model,
        ask.root,
        ask.tools,
        plan.order.keep_regions,
    )


def _kept(name: str, read: frozenset[str]) -> bool:
    return (name in read or name.startswith(FAMILIES)) and not _secret(name)


def _secret(name: str) -> bool:
    return secret_flag("--" + name.lower().replace("_", "-"))


def command(resolution: Resolution) -> str:
    """The launch as it is typed: the profile, the knobs that somebody gave, and engine flags, keys hidden."""
    request, rules = resolution.request, resolution.rules
    words = ["launch.py", "serve", *(("--profile", request.profile) if request.profile else ())]
    for name, given in request.knobs.items():
        knob = rules.knobs[name]
        if knob.secret or given.origin.startswith("profile "):
            continue
        words.append(f"{knob.env}={mask_text(given.text) if knob.type == 'words' else given.text}")
    if request.args:
        words += ["--", *mask(request.args)]
    return " ".join(map(quote, words))


def plan(recipe: Recipe, environ: Mapping[str, str]) -> Plan:
    """The launch again, in another caller's environment.

    Args:
        recipe: the launch.
        environ: the caller's environment: it gives all that no recipe keeps, such as the API key.

    Raises:
        LaunchError: its words or its key are not there.
    """
    if recipe.argv is None:
        raise LaunchError(
            f"{recipe.name} was started with a key among its engine flags, which is kept nowhere",
            f"put the key into {secrets.FILE} or {secrets.VARIABLE}, and start it by hand: {recipe.command}",
        )
    root = Path(recipe.home)
    base = {name: text for name, text in environ.items() if not name.startswith(FAMILIES) or _secret(name)}
    given = {**base, **recipe.inherited}
    given = {name: text for name, text in given.items() if name not in recipe.unset} | dict(recipe.set)
    front = os.path.dirname(os.path.abspath(root / recipe.argv[0]))
    given["PATH"] = f"{front}:{given['PATH']}" if given.get("PATH") else front
    if recipe.keyed:
        given = secrets.with_key(given, root / secrets.FILE, True)
    else:
        given.pop(secrets.VARIABLE, None)  # whoever reached it without a key does so again
    key = given.get(secrets.VARIABLE)
    client = Client(recipe.host, recipe.port, secrets.Secret(key) if key else None)
    return Plan(
        Order(list(recipe.argv), given, root, recipe.keep_regions),
        Target(client, recipe.model, recipe.root, recipe.tools),
    )
