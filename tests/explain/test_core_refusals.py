"""What the views lean on: `refused` is quick and says what the diagnostics say; a misspelt knob is kept, and shown by nobody."""

from __future__ import annotations

from tests.explain.requests import ask, random_request, resolutions, resolver


def test_refused_is_what_the_diagnostics_say() -> None:
    seen = {True: 0, False: 0}
    for resolution in resolutions(400, seed=1):
        said = any(d.severity in ("refuse", "error") for d in resolution.diagnostics)
        assert resolution.refused == said, random_request
        seen[said] += 1
    assert min(seen.values()) > 20, "the sample holds too few of one kind to say anything"


def test_refusals_alone_are_the_same_refusals() -> None:
    from resolver.diagnose import diagnose

    for resolution in resolutions(200, seed=2):
        quick = [d for d in diagnose(resolution, refusals_only=True) if d.severity == "refuse"]
        assert quick == [d for d in resolution.diagnostics if d.severity == "refuse"]


def test_a_misspelt_knob_is_kept_and_not_shown() -> None:
    resolution = ask("mtp-fast", "VLLM_APIKEY=the-secret", "SPEK=off")
    assert resolution.request.unknown == (("VLLM_APIKEY", "the-secret", "argument 1"), ("SPEK", "off", "argument 2"))
    assert "the-secret" not in str([d.as_json() for d in resolution.diagnostics])
    assert resolver().rules
