"""What the fuzzing suite tries: knobs in three states, machines, engines and engine flags, from plausible to wild.

To have a machine tried, add its file to rules/machines/: shipped machines are taken from there.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from resolver.engine import overlays, versions
from resolver.machines import names
from resolver.model import Knob
from tests.matrix.asked import Asked, product

_RULES = product().rules
_ROOT = product().root
OVERLAYS = overlays(_ROOT)
ENGINES = [None, *versions(_ROOT), *(f"0.31.0+{o}" for o in OVERLAYS)]
SHIPPED = names(_ROOT)
CAPABILITIES = ["7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0", "12.1"]
PLUGINS = ["fa2_fp8kv", "pth_flash_attn", "something_else"]

WILD = [
    "\0", "a\0b", "\ud800", "\udcff", "x\udfff", "\ufeff8", " ", "\t", "\n", "8\n", " 8", "8 ", "\u00a08", "٣", "½", "é", "e\u0301",
    "0x10", "0b1", "1_000", "_8", "1__0", "+8", "--8", "-0", "00", "08192", "007", "1e3", "1E400", "nan", "inf", "-inf", "NaN",
    "9" * 18, "9" * 19, "9" * 400, "1." + "0" * 40, ".", "..", "0.", ".5", "1.5K", "1.5k", "64k", "64K", "1T", "4GiB", "auto", "AUTO", " auto ",
    "None", "none", "null", "true", "True", "YES", "off", "Off", "OFF", "''", '""', "'", '"', "`id`", "$(id)", "${HOME}", "$HOME", "a;b", "a|b",
    "*", "?", "~", "../../etc", "/", "//", "\\", "{", "}", "{}", "[]", "[", "[[1,2,3]]", '{"a":1}', "{spec}", "{0}", "{max_len}", "%s", "%(x)s",
    "--", "-", "-x", "--port", "=", "a=b", "#", "<", "> 7", "given", "unset", "empty", "unknown", "\u202e", "\u2028", "\x1b[31m", "\x7f", "😀" * 3,
]  # fmt: skip
_text = st.text(st.characters(codec=None), max_size=12)
wild_texts = st.one_of(st.sampled_from(WILD), _text, st.just("x" * 5000))

_NUMBERS = [
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "15",
    "16",
    "32",
    "64",
    "128",
    "4096",
    "8192",
    "32768",
    "65536",
    "131072",
    "262144",
    "1000000",
]
_LENGTHS = [*_NUMBERS, "64k", "64K", "128k", "200k", "1.5k", "auto", "08192", "-1"]
_BYTES = ["1", "1048576", "2147483648", "5261334938", "5583457484", "17179869184"]
_DECIMALS = ["0", "0.1", "0.15", "0.5", "0.9", "0.93", "0.95", "1", "1.0", "2", "8", "32", "0.930", ".5"]
_JSONS = [
    "[[1,3,7],[4,512,3]]",
    "[[1, 4, 7]]",
    "[]",
    "{}",
    "null",
    "3",
    '"a"',
    "[[1,3,7],[4,512,3]] ",
    "[[1,1,15],[2,64,1]]",
]
_PATHS = [
    "models/Qwen3.8-27B-W4A16-AutoRound",
    "models/Qwen3.8-27B-DFlash2",
    "models/custom-drafter",
    "/srv/m o d e l",
    "x",
    "/",
    "",
    "é",
]
_SPECIAL: dict[str, list[str]] = {
    "kv_mem": _BYTES,
    "port": ["1", "80", "8000", "18020", "65535"],
    "host": ["127.0.0.1", "0.0.0.0", "localhost", "::1", "::", "127.9.9.9", "example.org"],
    "draft_method": ["dflash", "eagle3", "mtp"],
    "vllm_spec_decode_attn": ["0", "1", "off", "on"],
    "int8_layers": ["mlp", "mlp|linear_attn", ".*"],
    "pytorch_cuda_alloc_conf": ["expandable_segments:True", "expandable_segments:False", "max_split_size_mb:128"],
    "cuda_home": ["/usr/local/cuda-13", "/nowhere"],
    "engine_venv": ["venv", "/opt/venv", "other venv"],
    "tool_parser": ["qwen3_coder", "hermes"],
}


def plausible(knob: Knob) -> list[str]:
    """Texts that a user might well give."""
    if knob.name in _SPECIAL:
        return _SPECIAL[knob.name]
    by_type = {
        "int": [n for n in _NUMBERS if (knob.maximum or 10**9) >= int(n) >= (knob.minimum or 0)],
        "decimal": [d for d in _DECIMALS if knob.maximum is None or float(d) <= knob.maximum],
        "tokens": _LENGTHS,
        "switch": ["0", "1", "on", "off", "true", "no"],
        "zero_one": ["0", "1"],
        "json": _JSONS,
        "path": _PATHS,
        "secret": ["k1"],
    }
    own = [knob.default] if knob.default is not None else []
    return [*knob.allowed] or [*own, *by_type.get(knob.type, ["0", "1", "text", "a b"])]


def edges(knob: Knob) -> list[str]:
    """Texts just inside and outside what is allowed."""
    bounds = [b for b in (knob.minimum, knob.maximum) if b is not None]
    out = [str(b + d) for b in bounds for d in (-1, 0, 1)]
    out += (
        [f"0{b}" for b in bounds]
        + [a.upper() for a in knob.allowed]
        + [a.lower() for a in knob.allowed]
        + [f" {a}" for a in knob.allowed[:1]]
    )
    return [*out, "", "0", "1"]


def texts(knob: Knob) -> st.SearchStrategy[str]:
    """Mostly plausible, so that launches happen."""
    if knob.type == "words":
        return flag_words.map(" ".join)
    good = st.sampled_from(plausible(knob))
    return st.integers(0, 19).flatmap(
        lambda n: good if n < 15 else st.just("") if n < 17 else st.sampled_from(edges(knob)) if n < 19 else wild_texts
    )


# engine flags

_FLAGS = product().engine(None).flags
_BY_TYPE: dict[str, list[str]] = {
    "int": ["1", "2", "4", "8192"],
    "optional_int": ["1", "64", "None"],
    "float": ["0.5", "0.9", "1"],
    "human_int": ["1", "64k", "8192", "4G"],
    "optional_human_int": ["1", "64k", "8192", "None"],
    "human_int_or_auto": ["auto", "4096", "64k"],
    "json": ["{}", '{"a":1}', "null"],
    "optional_json": ["{}", '{"a":1}'],
    "dataclass": ['{"mode":3}', "{}", '{"cudagraph_mode":"NONE"}'],
    "optional_dataclass": ["{}", '{"kv_connector":"X"}'],
}
_COMMON = [
    "tensor_parallel_size", "pipeline_parallel_size", "kv_cache_dtype", "max_model_len", "max_num_seqs", "enable_prefix_caching", "attention_backend",
    "kv_offloading_size", "kv_transfer_config", "prefix_cache_retention_interval", "speculative_config", "compilation_config", "block_size", "dtype",
    "enforce_eager", "host", "api_key", "gpu_memory_utilization", "mamba_cache_mode", "mamba_ssm_cache_dtype", "max_num_batched_tokens", "config",
]  # fmt: skip
_LOOSE = [
    "--", "-", "-O3", "-O", "-O2", "-tp=2", "-tp", "2", "-t", "-q=awq", "-cc.mode=3", "--compilation-config.mode", "3", "--help", "--version", "-h",
    "--model", "--model=x", "--max-num", "--max_num_seqs=4", "--no-enable-prefix-caching", "--bogus", "--bogus=1", "-1", "-1.5", "stray", "",
    "--kv-cache-dtype-skip-layers", "--hf-token", "--no-headless", "--enable-prefix-caching=true", "--x.y", "-x.y=1", "--a.b+", "--speculative-config.method=mtp",
    "'{\"a\": 1}'", '{"a": "b c"}', "'", '"', "--host", "\0", "\ud800", "--kv-cache-memory=4G", "--Max-Num-Seqs", "--tp", "@file", "--=", "---", "--.=", "-.5",
]  # fmt: skip


@st.composite
def _flag(draw: st.DrawFn) -> list[str]:
    dest = draw(st.one_of(st.sampled_from([d for d in _COMMON if d in _FLAGS]), st.sampled_from(sorted(_FLAGS))))
    info = _FLAGS[dest]
    spellings = [*info["spellings"], *info["negative"]]
    if not spellings:
        return []
    name = draw(st.sampled_from(spellings))
    how = draw(st.integers(0, 9))
    if how == 0:
        name = name.replace("-", "_").replace("__", "--", 1)
    elif how == 1:
        name = name[: draw(st.integers(2, max(2, len(name))))]
    if info["nargs"] == 0:
        return [name]
    values = [str(c) for c in info["choices"] or ()] or _BY_TYPE.get(str(info["type"]), ["x", "1", "a-b"])
    value = draw(
        st.one_of(
            st.sampled_from(values),
            st.sampled_from(values),
            st.sampled_from(values),
            wild_texts.filter(lambda t: len(t) < 200),
        )
    )
    return [f"{name}={value}"] if draw(st.booleans()) else [name, value]


flag_words = st.lists(st.one_of(_flag(), _flag(), _flag(), st.sampled_from(_LOOSE).map(lambda w: [w])), max_size=4).map(
    lambda groups: [word for group in groups for word in group]
)


# machines and engines


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A machine file's data that its schema allows; any fact may be missing."""

    def maybe(strategy: st.SearchStrategy[Any]) -> Any:
        return draw(st.one_of(st.none(), strategy, strategy))

    size = st.one_of(st.sampled_from([0, 1, 1288494285, 3758096384, 68719476736]), st.integers(0, 2**70))
    facts = {
        "device": maybe(st.sampled_from(["cuda", "cuda", "cuda", "cpu"])),
        "gpu": {
            "name": maybe(st.sampled_from(["NVIDIA GeForce RTX 3090", "x {spec}"])),
            "capability": maybe(st.sampled_from(CAPABILITIES)),
            "count": maybe(st.sampled_from([0, 1, 2, 4, 8])),
            "vram_mib": maybe(st.sampled_from([1, 20480, 24576, 81920, 10**30])),
            "vram_free_mib": maybe(st.sampled_from([0, 1, 24000])),
            "driver": maybe(st.sampled_from(["580.65.06", "570", "x"])),
        },
        "wsl": maybe(st.booleans()),
        "container": maybe(st.booleans()),
        "shm_free_bytes": maybe(size),
        "nvcc_major": maybe(st.sampled_from([0, 11, 12, 13])),
        "cuda13_home": maybe(st.just("/venv/nvidia/cu13")),
        "api_key_file": maybe(st.booleans()),
        "installed": maybe(st.lists(st.sampled_from(PLUGINS), unique=True, max_size=3)),
    }
    info = st.fixed_dictionaries(
        {"kind": st.sampled_from(["file", "dir", "absent", None]), "bytes": st.one_of(st.none(), size)}
    )
    paths = [p for p in _PATHS if p and not p.endswith("/")] + [
        "models/Qwen3.8-27B-DFlash2-W4A16",
        "models/Qwen3.8-27B-DFlash2-W4A16/model.safetensors",
    ]
    files = draw(st.dictionaries(st.sampled_from(paths), info, max_size=4))
    return {"machine": {"title": "t", "source": "s"}, "facts": facts, "files": files}


machines = st.one_of(st.sampled_from(SHIPPED), st.sampled_from(SHIPPED), documents(), st.none())
_KNOBS = list(_RULES.knobs.values())
_OTHER_VARIABLES = [
    "HOME",
    "PATH",
    "LANG",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_LOGGING_LEVEL",
    "CG_MODE",
    "CUDA_VISIBLE_DEVICES",
    "lower",
    "max_len",
]


@st.composite
def given_knobs(draw: st.DrawFn, max_size: int = 6) -> dict[str, str]:
    """Texts by variable; the rest stay unset. The tier and the speculator, on which most hangs, are given more often."""
    chosen = draw(st.lists(st.sampled_from(_KNOBS), unique_by=lambda k: k.name, max_size=max_size))
    for name in ("ctx", "spec"):
        if name in _RULES.knobs and draw(st.booleans()):
            chosen.append(_RULES.knobs[name])
    return {knob.env: draw(texts(knob)) for knob in chosen}


@st.composite
def asked(draw: st.DrawFn, wild_names: bool = True) -> Asked:
    """A whole request."""
    layers: tuple[dict[str, str], dict[str, str], dict[str, str]] = ({}, {}, {})
    for variable, text in draw(given_knobs()).items():
        layers[draw(st.sampled_from([0, 0, 1, 1, 2]))][variable] = text
    given, environ, env_file = layers
    for name in draw(st.lists(st.sampled_from(_OTHER_VARIABLES), max_size=2, unique=True)):
        environ[name] = draw(st.sampled_from(["1", "x", "", "a b"]))
    profile = draw(st.sampled_from([None, *_RULES.profiles]))
    pairs = list(given.items())
    if wild_names and draw(st.integers(0, 19)) == 0:
        pairs.append((draw(wild_texts), draw(wild_texts)))
    if wild_names and draw(st.integers(0, 39)) == 0:
        profile = draw(wild_texts)
    args = draw(st.one_of(st.just([]), st.just([]), flag_words))
    return Asked(profile, pairs, environ, env_file, args, draw(machines), draw(st.sampled_from(ENGINES)))


def plain(value: Any) -> str:
    """Any JSON-like value in one line, for keys."""
    return json.dumps(value, sort_keys=True, default=str)
