"""Law 10: what the analyser says agrees with brute force. A resolution that happens must be one that the sets allow, rule by rule."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from resolver.analysis.diagram import EMPTY
from resolver.analysis.model import Model
from resolver.analysis.replay import make
from resolver.analysis.terms import Base
from resolver.analysis.texts import chooser
from resolver.compile import open_resolver
from resolver.expressions import Operation
from resolver.resolution import Resolution
from resolver.resolve import Resolver
from tests.check.abstract import cells, outcomes
from tests.golden import cases


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


@pytest.fixture(scope="module")
def model(resolver: Resolver) -> Model:
    found = Model.of(resolver)
    for name in resolver.rules.settings:
        found.rows(name)
        found.values(name)
    for name in resolver.rules.guards:
        found.guard_parts(name)
    return found


def agree(model: Model, resolution: Resolution) -> int:
    """Every guard and every row; returns how many answers were exact, that is, left nothing open."""
    assignment = cells(model, resolution)
    exact = 0
    fired = {guard.id for guard in resolution.fired}
    for name in model.rules.guards:
        said = [outcomes(model, part, assignment) for part in model.guard_parts(name)]
        if name in fired:
            assert any(True in answer for answer in said), name
        else:
            assert all(False in answer for answer in said), name
        exact += all(len(answer) == 1 for answer in said)
    for name in model.rules.settings:
        row = resolution.state.rows[resolution.resolver.number[name]]
        for i, win in enumerate(model.rows(name)[0]):
            answer = outcomes(model, win, assignment)
            assert (i == row) in answer, (name, i)
            exact += len(answer) == 1
    assert (resolution.setting("arm") is None) in outcomes(model, model.no_arm, assignment)
    return exact


def random_cases(model: Model, count: int, seed: int) -> Iterator[Resolution]:
    """Requests with a few variables in random cells; what cannot be, such as a plugin without its overlay, is left out."""
    chance = random.Random(seed)
    made = 0
    while made < count:
        some = chance.sample(range(len(model.domains)), chance.randint(0, 14))
        assignment = {n: chance.randrange(len(model.domains[n].cells)) for n in some}
        if not model.space.contains(model.universe, model.whole(assignment)):
            continue
        made += 1
        yield make(model, assignment, chooser(chance)).resolve(model.resolver)


def recorded(resolver: Resolver, every: int) -> Iterator[Resolution]:
    """Each n-th of the recorded runs, on the machine and engine that they name."""
    found = [c for path in sorted(cases.DATA.glob("*.jsonl.xz")) for c in cases.read(path)]
    for case in found[::every]:
        yield resolver.resolve(cases.request(resolver, case), cases.machine(case), cases.ENGINE)


def _agree_all(model: Model) -> None:
    for resolution in random_cases(model, 20, 1):
        agree(model, resolution)


def test_recorded_runs_agree(resolver: Resolver, model: Model) -> None:
    exact = [agree(model, resolution) for resolution in recorded(resolver, 9)]
    rules = len(model.rules.guards) + sum(len(s.rows) for s in model.rules.settings.values())
    share = sum(exact) / len(exact) / rules
    print(f"{len(exact)} recorded runs agree; {share:.1%} of the answers are exact")
    assert len(exact) >= 250
    assert share > 0.95


def test_random_requests_agree(model: Model) -> None:
    for resolution in random_cases(model, 250, 3):
        agree(model, resolution)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_recorded_and_many_random_requests_agree(resolver: Resolver, model: Model) -> None:
    seen = sum(1 for r in recorded(resolver, 1) if agree(model, r) or True)
    seen += sum(1 for r in random_cases(model, 6000, 11) if agree(model, r) or True)
    assert seen > 8000


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_cell_of_the_matrix_agrees(model: Model) -> None:
    """All of CTX, SPEC, backend, both plugins' knobs, prefix caching, drafts, capability and installed plugins, one by one."""
    keys = [("knob", "ctx"), ("knob", "spec"), ("knob", "backend"), ("knob", "pth_fa"), ("knob", "fa2_fp8kv")]
    keys += [("fact", "gpu.capability"), ("fact", "device"), ("member", "installed", "pth_flash_attn")]
    numbers = [model.index[key] for key in keys]
    count = 0
    chance = random.Random(1)
    wins = model.rows("arm")[0]
    wanted = {n for win in wins for n in model.space.support(win)}
    engine = model.index[("engine",)]
    engines = range(len(model.engines))
    seen: set[int] = set()
    others = [n for n in range(len(model.domains)) if n not in numbers and model.domains[n].key[0] != "engine"]
    choices: dict[int, Sequence[int]] = {n: range(len(model.domains[n].cells)) for n in numbers}
    capability = model.index["fact", "gpu.capability"]
    gaps = [i for i, cell in enumerate(model.domains[capability].cells) if cell.shape == "gap"]
    choices[capability] = [i for i in choices[capability] if i not in gaps[1:]]  # one capability between the named ones
    for combination in product(*(choices[n] for n in numbers)):
        assignment = dict(zip(numbers, combination, strict=True))
        for n in chance.sample(others, 2):
            assignment[n] = chance.randrange(len(model.domains[n].cells))
        if not model.space.contains(model.universe, model.whole(assignment)):
            assignment[engine] = next(  # an installed plugin is seen with the engine that has its overlay
                i for i in engines if model.space.contains(model.universe, model.whole({**assignment, engine: i}))
            )
        resolution = make(model, assignment, chooser(chance)).resolve(model.resolver)
        count += 1
        if chance.random() < 0.01:
            agree(model, resolution)
            continue
        here = cells(model, resolution, wanted)
        row = resolution.state.rows[resolution.resolver.number["arm"]]
        seen.add(row)
        assert outcomes(model, wins[row] if row >= 0 else model.no_arm, here) == {True}
    print(f"{count} cells agree")
    assert count > 100_000
    assert len(seen) > 0.9 * len(wins)


def test_a_wrong_set_is_noticed(model: Model) -> None:
    """The comparison can fail: with the rows of one setting turned round it does."""
    wins, holds = model.rows("max_num_seqs")
    model._rows["max_num_seqs"] = (wins[::-1], holds)
    try:
        with pytest.raises(AssertionError):
            _agree_all(model)
    finally:
        model._rows["max_num_seqs"] = (wins, holds)


INEXACT = {
    "arithmetic": (
        "attention_heads_shared captured_in_force draft_model_gib drafter_block gpu_used_mib gpus_needed "
        "gpus_of_a_copy gpus_shared_out gpus_there key_heads_shared max_cudagraph_capture_size pinned_pages "
        "prefix_match_unit_in_tiles request_block request_bytes request_drafter_pages request_page_bytes "
        "request_pages request_state_bytes request_token_bytes resident_block_tokens resident_page_bytes "
        "resident_pool_pages resident_requests_at_max_len resident_requests_high resident_requests_low "
        "resident_state_bytes resident_state_pages residents_at_length_in_force retention_in_blocks "
        "retention_in_counted_blocks spec_decode_attn_qmax tokens_in_flight verified_tokens_of_a_batch"
    ),
    "composed text": (
        "base_dflash2_bf16 base_dflash2_w4a16 base_model dflash2_bf16_weights dflash2_w4a16_weights "
        "draft_model engine_binary fast_model model_config model_tokenizer model_tokenizer_config "
        "resident_range served_model"
    ),
}
"""Settings that the analyser knows as free values in their ranges. Readings of texts (`host.loopback`) are free values too."""


def test_the_list_of_settings_that_cannot_be_inverted(model: Model) -> None:
    """Pinned: a new setting that the analyser only knows as a free value is added here by hand, or not made."""
    found: dict[str, set[str]] = {"arithmetic": set(), "composed text": set()}
    for name in model.rules.settings:
        for term, where in model.values(name):
            if where != EMPTY and isinstance(term, Base) and term.key[:2] == ("free", "value"):
                found["arithmetic" if isinstance(term.key[2], Operation) else "composed text"].add(name)
    assert {kind: " ".join(sorted(names)) for kind, names in found.items()} == INEXACT
