"""The ledger: it only grows, a cut line loses nothing and hides nothing, and what is not sound stays out."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from resolver.compile import product_root
from resolver.measure import ledger
from resolver.measure.measurement import Measurement
from resolver.measure.provenance import Provenance
from resolver.serving.errors import LaunchError

ON = Provenance(
    "2026-12-01T10:00:00Z", arm="mtp-long-flashinfer-fp8", engine="0.31.0", plugins={"splitverify": "0.1.0"}
)


def speed(value: float = 68.1, context: int = 112000, **more: object) -> Measurement:
    parts = {"n": 5, "conditions": {"context": context, "streams": 1}, "method": "decode", **more}
    return Measurement("decode_tok_s", value, "tok/s", **parts)  # type: ignore[arg-type]


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "figures.jsonl"
    first = ledger.append(path, [speed(), speed(70.5, 60000, low=70.0, high=71.0, spread="min-max")], ON)
    second = ledger.append(path, [speed(71)], ON)
    found = ledger.read(path)
    assert found.damaged == ()
    assert list(found.records) == [*first, *second]
    assert [record.line for record in found.records] == [1, 2, 3]
    assert found.records[1].measurement == speed(70.5, 60000, low=70.0, high=71.0, spread="min-max")
    assert found.records[0].provenance == ON


def test_a_missing_file_is_empty_and_nothing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "figures.jsonl"
    assert ledger.read(path) == ledger.Ledger(path)
    assert ledger.append(path, [], ON) == []
    assert not path.exists()


def test_equal_measurements_are_two_records(tmp_path: Path) -> None:
    path = tmp_path / "figures.jsonl"
    ledger.append(path, [speed(), speed()], ON)
    ledger.append(path, [speed()], ON)
    ids = [record.id for record in ledger.read(path).records]
    assert len(set(ids)) == 3
    assert ids[1:] == [f"{ids[0]}-2", f"{ids[0]}-3"]
    assert ids[0].startswith("mtp-long-flashinfer-fp8-decode_tok_s-112k-20261201-")


def test_what_is_not_sound_is_refused_and_nothing_of_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "figures.jsonl"
    with pytest.raises(LaunchError) as caught:
        ledger.append(path, [speed(), speed().unsound("others used the server")], ON)
    assert "decode_tok_s is not sound (others used the server)" in caught.value.message
    assert not path.exists()


def test_a_line_cut_anywhere_is_told_of_and_costs_no_other(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    kept = ledger.append(whole, [speed(1)], ON)
    ledger.append(whole, [speed(2)], ON)
    content = whole.read_bytes()
    start = content.index(b"\n") + 1
    path = tmp_path / "cut.jsonl"
    for end in range(start + 1, len(content) - 1):
        path.write_bytes(content[:end])
        found = ledger.read(path)
        assert list(found.records) == kept
        (damage,) = found.damaged
        assert damage.line == 2
        assert "cut" in damage.reason
        if end % 97 == 0:
            (new,) = ledger.append(path, [speed(3)], ON)
            assert path.read_bytes().startswith(content[:end] + b"\n"), "the cut line must stay as it is"
            again = ledger.read(path)
            assert [record.measurement.value for record in again.records] == [1, 3]
            assert new.line == 3
            assert [d.line for d in again.damaged] == [2]
    path.write_bytes(content[:-1])  # only the line's end is missing: nothing of the record is
    assert [record.measurement.value for record in ledger.read(path).records] == [1, 2]
    assert ledger.read(path).damaged == ()


def test_every_kind_of_bad_line_has_its_reason_and_place(tmp_path: Path) -> None:
    path = tmp_path / "figures.jsonl"
    (record,) = ledger.append(path, [speed()], ON)
    good = record.as_json()
    bad = {
        "no JSON": "{nonsense",
        "no record": "[1, 2]",
        "no record of": json.dumps({"schema": 1, "id": "x"}),
        "schema 2": json.dumps({**good, "id": "x", "schema": 2}),
        "no id": json.dumps({**good, "id": ""}),
        "there already, on line 1": json.dumps(good),
        "not sound": json.dumps({**good, "id": "x", "measurement": {**good["measurement"], "sound": False}}),
        "no field unit": json.dumps(
            {**good, "id": "x", "measurement": {k: v for k, v in good["measurement"].items() if k != "unit"}}
        ),
        "no time": json.dumps({**good, "id": "x", "provenance": {}}),
        "field engine of a provenance": json.dumps({**good, "id": "x", "provenance": {"at": "2026", "engine": 31}}),
    }
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n".join([*bad.values(), "", ""]))
    found = ledger.read(path)
    assert [r.id for r in found.records] == [record.id]
    assert [damage.line for damage in found.damaged] == list(range(2, 2 + len(bad)))
    for said, damage in zip(bad, found.damaged, strict=True):
        assert said in damage.reason
    assert next(found.complaints()).startswith(f"{path}:2:1: ")


def test_a_disk_that_fills_up_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "figures.jsonl"
    ledger.append(path, [speed(1)], ON)
    before, real = path.read_bytes(), os.write

    def short(handle: int, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data[:-50])

    monkeypatch.setattr(ledger.os, "write", short)
    with pytest.raises(LaunchError) as caught:
        ledger.append(path, [speed(2)], ON)
    assert "No space left" in caught.value.message
    assert path.read_bytes() == before


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "figures.jsonl"
    threads = [
        threading.Thread(target=lambda k=k: [ledger.append(path, [speed(k * 100 + i)], ON) for i in range(8)])  # type: ignore[misc]
        for k in range(1, 5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = ledger.read(path)
    assert found.damaged == ()
    assert {r.measurement.value for r in found.records} == {k * 100 + i for k in range(1, 5) for i in range(8)}


def test_a_writer_that_is_killed_leaves_whole_records_or_a_line_that_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "figures.jsonl"
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.measure.test_ledger import ON, speed; from resolver.measure import ledger\n"
        "for i in range(100000):\n"
        "    ledger.append(Path(sys.argv[1]), [speed(i)], ON); print(i, flush=True)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], cwd=product_root(), stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    told = [int(writer.stdout.readline()) for _ in range(5)]
    writer.kill()
    told += [int(line) for line in writer.stdout.read().split("\n")[:-1]]
    writer.wait()
    values = [record.measurement.value for record in ledger.read(path).records]
    assert values[: len(told)] == told, "what the writer was told is on the disk"
    ledger.append(path, [speed(-1)], ON)
    assert ledger.read(path).records[-1].measurement.value == -1


def test_a_ledger_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    for action in (lambda p: ledger.append(p, [speed()], ON), ledger.read):
        with pytest.raises(LaunchError) as caught:
            action(tmp_path)  # a folder
        assert str(tmp_path) in caught.value.message
        assert "--ledger" in caught.value.fix


def test_a_ledger_that_waits_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(LaunchError, match="cannot be read"):
        ledger.read(path)


def test_the_default_place_is_the_state_folder(tmp_path: Path) -> None:
    assert ledger.default_path({"LAUNCH_STATE_DIR": str(tmp_path)}) == tmp_path / "figures.jsonl"


ODD = ("NaN", "-Infinity", "1e999", "9" * 400, "-" + "9" * 400, "9" * 19, "1e308", "null", "true", '""', '"x"', "[]")
ODD += ("{}", '{"a": {"b": [1]}}', "[" * 5000 + "]" * 5000, r'"\ud800"', r'"\u0000"', "-1", "0", "5e-324", "[null]")


def leaves(data: object, way: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The ways to everything in an object, itself left out."""
    found = []
    for name, value in data.items() if isinstance(data, dict) else ():
        found += [(*way, name), *leaves(value, (*way, name))]
    return found


def changed(data: dict[str, object], way: tuple[str, ...], text: str) -> bytes:
    """The object as JSON with this text in the place of one of its values."""
    if len(way) == 1:
        parts = [f"{json.dumps(k)}: {text if k == way[0] else json.dumps(v)}" for k, v in data.items()]
    else:
        parts = [
            f"{json.dumps(k)}: {changed(v, way[1:], text).decode() if k == way[0] else json.dumps(v)}"  # type: ignore[arg-type]
            for k, v in data.items()
        ]
    return ("{" + ", ".join(parts) + "}").encode()


def test_one_odd_value_anywhere_breaks_no_command(tmp_path: Path) -> None:
    from resolver.compile import open_resolver
    from resolver.views import figures as view
    from resolver.views import figures_compare, figures_ledger, figures_plot
    from resolver.views.evidence import load_evidence
    from resolver.views.figures_stale import now

    resolver = open_resolver()
    evidence, today = load_evidence(resolver.root), now(resolver, {})
    conditions = {"context": 8000, "streams": 1, "seed": 1, "cache_state": "cold", "share": 0.5, "task": "copy"}
    full = Provenance(
        **{  # type: ignore[arg-type]
            **dict.fromkeys(("gpus", "vram_mib", "power_cap_w"), 1),
            **dict.fromkeys(("profile", "hardware", "capability", "gpu", "platform", "driver", "model"), "x"),
            **dict.fromkeys(("args", "overlays", "argv"), ("x",)),
            **{"at": ON.at, "arm": ON.arm, "engine": "0.31.0", "plugins": {"splitverify": "0.1.0"}},
            **{"setup": {"ctx": "long", "streams": 1, "knobs": {"CTX": "long"}}, "clocks": {"sm": 1}},
            **{"facts": {"gpu.count": 1}, "environment": {"A": "b"}, "prefix_caching": True},
        }
    )
    path = tmp_path / "figures.jsonl"
    (good,) = ledger.append(path, [speed(conditions=conditions, low=1, high=2, spread="iqr", notes=("n",))], full)
    whole = good.as_json()
    second = {**whole, "id": "second"}
    told = 0
    for way in leaves(second):
        for text in ODD:
            found = ledger.parse(path, json.dumps(whole).encode() + b"\n" + changed(second, way, text) + b"\n")
            assert found.records[0].id == good.id, (way, text[:20])
            assert len(found.records) + len(found.damaged) == 2
            assert all(len(complaint) < 400 for complaint in found.complaints())
            told += len(found.damaged)
            try:
                both = figures_ledger.with_ledger(evidence, found)
                mine = [figure for figure in both.figures.values() if figure.source == figures_ledger.SOURCE]
                assert len(list(view.rows(both, mine, today.judge))) == len(found.records)
                for figure in mine:
                    json.dumps(view.as_json(both, {}, figure, today.judge(figure)), allow_nan=False)
                    figures_compare.lines(figures_compare.compare(both, mine[0], figure))
                figures_plot.series(resolver.rules, mine)
                view.select(resolver.rules, both, view.Wanted(arm=ON.arm))
                view.select(resolver.rules, both, view.Wanted(context="8000", text="x"))
            except Exception as error:
                raise AssertionError((way, text[:20])) from error
    assert told > 500
