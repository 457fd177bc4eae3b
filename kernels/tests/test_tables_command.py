# SPDX-License-Identifier: Apache-2.0
"""From what the tuner writes to the rows that ship."""

from __future__ import annotations

from typing import Any

from splitverify.tables import merged, rows_from


def line(q: int, us: float, tile: int, length: int = 4096, segments: int = 33) -> dict[str, Any]:
    case = dict(num_heads=24, num_kv_heads=4, head_size=256, fmt="fp8", layout="inline", q=[q], lens=[length], window=0)
    config = dict(tile=tile, rows=64, rows2=0, warps=4, stages=2, segments=segments, decode="native", int8_qk=False)
    return dict(gpu="a GPU", case=case, best=[dict(us=us, config=config), dict(us=us + 1, config=dict(config, tile=16))])


def test_rows_come_sorted_with_programs_instead_of_segments() -> None:
    rows = rows_from([line(8, 20.0, 64), line(4, 10.0, 32), line(8, 90.0, 128, 131072, 66)], 132)
    assert [(r["max_rows"], r["max_length"]) for r in rows] == [(24, 4096), (48, 4096), (48, 131072)]
    assert [r["config"]["programs_per_sm"] for r in rows] == [1.0, 1.0, 2.0]
    assert [r["config"]["tile"] for r in rows] == [32, 64, 128]
    assert all("segments" not in r["config"] and "us" not in r for r in rows)


def test_the_fastest_of_several_files_stays_and_nothing_tried_gives_no_row() -> None:
    empty = dict(line(16, 1.0, 16), best=[])
    rows = rows_from([line(8, 20.0, 64), line(8, 19.0, 32), empty], 132)
    assert [r["config"]["tile"] for r in rows] == [32]


def test_fewer_rows_take_a_faster_config_of_more_rows_but_not_the_other_way() -> None:
    rows = rows_from([line(4, 30.0, 32), line(8, 20.0, 64), line(16, 25.0, 128)], 132)
    assert [r["config"]["tile"] for r in rows] == [64, 64, 128]


def test_a_windowed_row_serves_any_number_of_query_tokens_that_a_server_may_ask_for() -> None:
    windowed = [line(q, 15.0 + q, 32, 16384) for q in (8, 16)]
    for entry in windowed:
        entry["case"]["window"] = 2048
    rows = rows_from(windowed, 132)
    assert [(r["max_rows"], r["max_length"]) for r in rows] == [(48, 2112), (96, 2112)]


def test_raw_keys_enter_a_table_only_where_asked_for() -> None:
    entry = line(8, 20.0, 64)
    entry["best"][0]["config"] = dict(entry["best"][0]["config"], turned=True, raw_keys=True)
    assert [r["config"]["tile"] for r in rows_from([entry], 132)] == [16]
    assert [r["config"]["tile"] for r in rows_from([entry], 132, raw_keys=True)] == [64]
    assert rows_from([dict(entry, best=entry["best"][:1])], 132) == []


def test_rows_that_were_not_tuned_again_stay() -> None:
    old = rows_from([line(q, 20.0, 64) for q in (1, 8)] + [line(16, 30.0, 64, 131072)], 132)
    rows = merged(old, rows_from([line(8, 40.0, 32), line(4, 40.0, 16)], 132))
    assert [(r["max_rows"], r["max_length"], r["config"]["tile"]) for r in rows] == [
        (6, 4096, 64), (24, 4096, 16), (48, 4096, 32), (96, 131072, 64)]
