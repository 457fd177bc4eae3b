"""Compare one recorded run with the resolver's answer. Guards without a numbered rule are muted, and what they would add is listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from resolver.resolution import Resolution
from resolver.resolve import Resolver
from tests.golden import cases
from tests.golden.cases import Case

COMPARED = ("VLLM_", "KVARN_", "FA2_", "PYTORCH_", "FLASHINFER_")


@dataclass
class Outcome:
    """`differences`: empty when the case matches. `added`: rules of our own that would have spoken."""

    case: Case
    resolution: Resolution
    differences: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


def environment(case: Case, resolution: Resolution) -> dict[str, str]:
    """The compared part of the engine's environment, with the key that is read when the engine is started."""
    env = resolution.environment()
    if resolution.setting("api_key_source") == "api_key.txt":
        env["VLLM_API_KEY"] = case.machine["api_key_file"].rstrip("\n")
    return {k: v for k, v in env.items() if k.startswith(COMPARED) or k == "CUDA_HOME"}


def compare(resolver: Resolver, case: Case) -> Outcome:
    """Resolve the case's request on its machine and list what differs from the record."""
    resolution = resolver.resolve(cases.request(resolver, case), cases.machine(case), cases.ENGINE)
    out = Outcome(case, resolution)
    numbered = [d for d in resolution.diagnostics if d.origins]
    out.added = [f"{d.severity} {d.rule}" for d in resolution.diagnostics if not d.origins]
    ours = frozenset(origin for d in numbered for origin in d.origins)
    refuses = int(any(d.severity == "refuse" for d in numbered))
    if refuses != case.exit:
        out.differences.append(f"exit: recorded {case.exit}, ours {refuses} ({', '.join(sorted(ours))})")
        return out
    if case.exit:
        if not case.spoke <= ours:
            out.differences.append(
                f"spoke: {', '.join(sorted(case.spoke - ours))} missing among {', '.join(sorted(ours))}"
            )
        return out
    if case.spoke != ours:
        out.differences.append(f"spoke: recorded {sorted(case.spoke)}, ours {sorted(ours)}")
    _words(list(case.argv or ()), resolution.argv, out)
    _variables(case.env, environment(case, resolution), out)
    if case.resident is not None:
        _resident(case.resident, resolution, out)
    return out


def _words(recorded: list[str], ours: list[str], out: Outcome) -> None:
    for i in range(max(len(recorded), len(ours))):
        a, b = (words[i] if i < len(words) else None for words in (recorded, ours))
        if a != b:
            out.differences.append(f"argv word {i}: recorded {a!r}, ours {b!r}")
            return


def _variables(recorded: Mapping[str, str], ours: Mapping[str, str], out: Outcome) -> None:
    for name in sorted({*recorded, *ours}):
        if recorded.get(name) != ours.get(name):
            out.differences.append(f"variable {name}: recorded {recorded.get(name)!r}, ours {ours.get(name)!r}")


def _resident(recorded: Mapping[str, int], resolution: Resolution, out: Outcome) -> None:
    names = {
        "low": "resident_requests_low",
        "high": "resident_requests_high",
        "at_max_len": "resident_requests_at_max_len",
        "max_len": "max_model_len",
        "pool_pages": "resident_pool_pages",
        "block_tokens": "resident_block_tokens",
        "state_pages_per_request": "resident_state_pages",
    }
    for key, value in recorded.items():
        if resolution.setting(names[key]) != value:
            out.differences.append(f"resident {key}: recorded {value}, ours {resolution.setting(names[key])}")
