"""The small parts: corpus, counters, copies, paddings, prompts and addresses."""

from __future__ import annotations

import threading
import time

import pytest

from resolver.diagnostics import UsageError
from resolver.measure import corpus, prompts, traffic
from resolver.measure.journal import NoBar
from resolver.measure.metrics import parse
from resolver.measure.padding import paddings
from resolver.measure.progress import bar
from resolver.measure.server import NotMeasurable
from resolver.measure.server_address import from_url
from resolver.measure.together import several, together
from resolver.measure.verbatim import distinct_words, grade, most_repeated
from tests.measure.fake_server import KEY, MODEL, FakeServer, Faults, running


def test_the_corpus_is_frozen() -> None:
    """A change of the text needs a new VERSION and a new FROZEN: numbers do not compare across it."""
    assert corpus.fingerprint() == f"v{corpus.VERSION}:{corpus.FROZEN}"


def test_documents_of_two_seeds_differ_from_their_first_line_on() -> None:
    one, other = corpus.document(1, 50), corpus.document(2, 50)
    assert one[0] != other[0]
    assert len(set(one)) == 50
    assert corpus.document(1, 20) == one[:20]
    assert not set(one[1:]) & set(other[1:])


def test_a_code_document_is_python() -> None:
    compile("\n".join(corpus.document(3, 61, "code")), "corpus", "exec")


PAGE = """# HELP x
vllm:prompt_tokens_total{engine="0",model_name="a"} 10.0
vllm:prompt_tokens_total{engine="1",model_name="a"} 5.0
vllm:request_success_total{engine="0",finished_reason="stop"} 1.0
vllm:request_success_total{engine="0",finished_reason="length"} 2.0
vllm:generation_tokens_total{engine="0"} 7.0
vllm:num_requests_running{engine="0"} 1.0
vllm:num_requests_waiting{engine="0"} 2.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 3.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{position="6"} 1.0
vllm:cache_config_info{block_size="448",cache_dtype="int8 \\"x\\"",effective_attention_block_size="None"} 1.0
process_start_time_seconds 1.7e+09
vllm:prompt_tokens_created{engine="0"} 1e9
broken line
vllm:generation_tokens_total nonsense
"""


def test_counters() -> None:
    found = parse(PAGE)
    assert found.values == {"prompt_tokens": 15, "finished": 3, "generated": 7}
    assert (found.busy, found.width, found.boot, found.block, found.there) == (3, 7, 1.7e9, None, True)
    assert found.since(parse("vllm:prompt_tokens_total 4")) == {"prompt_tokens": 11}
    assert parse('vllm:cache_config_info{block_size="448"} 1').block == 448


@pytest.mark.parametrize("page", ["", "<html>", "{}", "\0\0", "vllm:prompt_tokens_total{ 3"])
def test_a_page_of_something_else_has_no_counters(page: str) -> None:
    assert not parse(page).there


LINES = corpus.document(9, 30)


def test_copies() -> None:
    wanted = LINES[:10]
    whole = "\n".join(wanted)
    assert grade(whole, wanted).verbatim
    assert grade(f"```text\n{whole}\n```", wanted).verbatim
    assert grade(whole[:300], wanted, cut=True).verbatim
    assert grade(whole[:299] + "\ufffd", wanted, cut=True).verbatim
    assert not grade(whole[:300], wanted).verbatim
    assert not grade(whole[:30], wanted, cut=True).verbatim
    assert not grade(whole + "\n" + LINES[10], wanted).verbatim
    assert grade("Here they are:\n" + whole, wanted).kind == "invented"
    found = grade(whole[:200] + "x" + whole[201:], wanted)
    assert (found.kind, found.matched, found.expected) == ("diverges", 200, len(whole))


def test_repeats() -> None:
    assert most_repeated("ab" * 100) == 81
    assert most_repeated("short") == 0
    assert distinct_words("a b c") == 1.0
    assert distinct_words("the door " * 30) == pytest.approx(2 / 60)
    assert distinct_words("lB" * 60) < 0.1
    assert distinct_words(" ".join(LINES)) > 0.2


def test_paddings_of_one_token_need_no_second_unit() -> None:
    asked = []

    def count(padding: str) -> int:
        asked.append(padding)
        return 700 + len(padding) // 2

    found = list(paddings(count))
    assert sorted(residue for residue, _, _ in found) == list(range(128))
    assert all(length % 128 == residue for residue, _, length in found)
    assert len(asked) == 128


def test_a_prompt_is_as_long_as_was_asked() -> None:
    with running(FakeServer()) as server:
        target = server.server()
        for tokens in (100, 600, 3000):
            for name in prompts.TASKS:
                found = prompts.task(target, name, ("seed", name), tokens)
                assert tokens - 40 < found.tokens <= tokens
                assert target.tokens_of_chat(found.messages) == found.tokens
        with pytest.raises(NotMeasurable, match="no room"):
            prompts.task(target, "qa", 1, 40)


def test_a_server_that_does_not_count_tokens_is_not_measured() -> None:
    with running(FakeServer(Faults(no_tokenize=True))) as server, pytest.raises(NotMeasurable, match="status 404"):
        prompts.task(server.server(), "qa", 1, 400)


def test_who_the_server_is() -> None:
    with running(FakeServer(key=KEY)) as server:
        found = server.server().identity()
        assert (found.model, found.root, found.max_model_len, found.version) == (MODEL, "/models/q", 4096, "0.31.0")
        url = f"http://127.0.0.1:{server.port}/v1/"
        with pytest.raises(NotMeasurable) as caught:
            from_url(url, None)
        assert "status 401" in caught.value.message
        assert caught.value.fix == "set VLLM_API_KEY, or write the key into api_key.txt"
        assert from_url(url, server.server().client.key).model == MODEL
        with pytest.raises(NotMeasurable, match="does not serve other"):
            from_url(url, server.server().client.key, "other").identity()
        assert KEY not in repr(from_url(url, server.server().client.key))


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:1",
        "http://u:p@127.0.0.1:1",
        "http://127.0.0.1:1/other",
        "ftp://x",
        "http://",
        "http://x:99999",
    ],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_url(url, None)
    assert "u:p" not in caught.value.message


def test_nobody_there() -> None:
    with pytest.raises(NotMeasurable, match="nobody answers"):
        from_url("127.0.0.1:9", None, MODEL).identity()


def test_together() -> None:
    seen: list[float] = []

    def call() -> int:
        seen.append(time.monotonic())
        return threading.get_ident()

    assert len(set(together([call] * 5))) == 5
    assert max(seen) - min(seen) < 1
    assert [at for at, _ in sorted(several([lambda at=at: at for at in range(20)], 3))] == list(range(20))

    def fails() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        together([fails, call])


def test_bars_are_for_terminals() -> None:
    assert isinstance(bar(), NoBar)


def test_what_the_counters_say_of_others() -> None:
    assert traffic.finding([]).verdict == "inconclusive"
    assert traffic.finding([{"foreign": ""}]).verdict == "clean"
    assert traffic.finding([{"foreign": ""}, {"foreign": "others"}]).details == {"windows": 2, "disturbed": 1}
