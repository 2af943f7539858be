"""DuckDB in the load's own process: how its data come to be, what loads leave, and the errors when
something is wrong.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import ValidationError

from loadcell.execution.executor import LoadError
from loadcell.model.json import document
from loadcell.model.load_result import LoadResult
from loadcell.plan.affinity import Pin
from loadcell.systems.base import TargetContext, TargetError
from loadcell.systems.duckdb.target import Duckdb, DuckdbOptions
from loadcell.systems.duckdb.workload import Duckdb as Composite
from loadcell.systems.duckdb.workload import DuckdbOptions as CompositeOptions
from systems.bench import LoadBench

MS = 1_000_000


def bench_in(work: Path) -> LoadBench[Duckdb]:
    """A bench in this directory, which it makes."""
    work.mkdir()
    return LoadBench(
        work,
        lambda context, **options: Duckdb(DuckdbOptions(**options), context),
        workload=lambda **options: Composite(
            CompositeOptions(**{"rows": 5_000, "distinct": 100, "pages": 50, **options})
        ),
        data=Composite.data,
        data_seed=1,
        load={
            "clients": 1,
            "threads": 1,
            "warmup_ns": 0,
            "duration_ns": 60_000 * MS,
            "requests": 3,
            "interval_ns": 100 * MS,
            "max_retries": 10,
        },
        made_by=Composite.made_by,
    )


@pytest.fixture
def bench(tmp_path: Path) -> LoadBench[Duckdb]:
    return bench_in(tmp_path / "work")


def succeeded(result: LoadResult, name: str) -> int:
    [operation] = [operation for operation in result.operations if operation.name == name]
    return operation.succeeded


def rows(target: Duckdb) -> list[tuple[Any, ...]]:
    return target.ask("SELECT * FROM readings ORDER BY id")


def test_data_are_made_used_again_and_put_back(bench: LoadBench[Duckdb]) -> None:
    target = bench.up()
    assert target.alive()
    first = bench.prepare(target)
    assert (first.how, first.rows) == ("loaded", 5_000)
    assert first.size_bytes
    before = rows(target)
    assert len(before) == 5_000
    assert len({row[1] for row in before}) == 100
    assert target.counters() == {"calls_update": 0}
    result = bench.run(target)
    assert result.errors == ()
    assert succeeded(result, "transaction") > 0
    assert result.lifetime is not None
    assert target.counters()["calls_update"] == result.lifetime.operations["update"]
    again = bench.prepare(target)
    assert (again.how, again.method) == ("restored", "copy")
    assert rows(target) == before
    target.destroy()
    assert not list(bench.work.iterdir())


def test_what_only_reads_leaves_the_data_as_they_are(bench: LoadBench[Duckdb]) -> None:
    target = bench.up()
    assert bench.prepare(target, updates=0).how == "loaded"
    result = bench.run(target, updates=0)
    assert [succeeded(result, name) > 0 for name in ("select_distinct", "page")] == [True, True]
    assert succeeded(result, "update") == 0
    assert bench.prepare(target, updates=0).how == "reused"


def test_the_same_data_are_made_whoever_makes_them_and_however_many_threads(tmp_path: Path) -> None:
    made = []
    for number, threads in enumerate((1, 4)):
        bench = bench_in(tmp_path / str(number))
        target = bench.up(threads=threads)
        bench.prepare(target)
        made.append(rows(target))
    assert made[0] == made[1]


def test_a_run_does_the_same_with_the_same_seed(bench: LoadBench[Duckdb]) -> None:
    target = bench.up()
    values = []
    for seed in (1, 1, 2):
        bench.prepare(target, updates=5)
        bench.run(target, seed, updates=5)
        values.append(rows(target))
    assert values[0] == values[1] != values[2]


def test_clients_that_update_the_same_rows_try_again(bench: LoadBench[Duckdb]) -> None:
    target = bench.up()
    few = {"rows": 1_000, "distinct": 10, "pages": 1, "page_size": 10, "updates": 50}
    bench.prepare(target, **few)
    result = bench.run(target, load={"clients": 4, "requests": 12, "max_retries": 1_000}, **few)
    assert result.errors == ()
    assert target.counters()["calls_update"] == 12 * 50


def test_it_works_with_as_many_threads_as_it_has_processors_or_as_the_plan_says(
    bench: LoadBench[Duckdb],
) -> None:
    assert bench.up().endpoint().config["threads"] == len(os.sched_getaffinity(0))
    assert bench.up(Pin("0-2,7")).endpoint().config["threads"] == 4
    limited = bench.up(threads=3, memory_limit="64MiB")
    bench.prepare(limited, updates=0)
    described = document(limited.describe())
    assert described["version"] == duckdb.__version__
    assert (described["settings"]["threads"], described["settings"]["memory_limit"]) == (3, "64.0 MiB")
    assert described["data"]["type"]


def test_rows_that_are_gone_fail_what_looks_for_them(bench: LoadBench[Duckdb]) -> None:
    target = bench.up()
    bench.prepare(target)
    with duckdb.connect(target.endpoint().database) as connection:
        connection.execute("DELETE FROM readings WHERE name = (SELECT min(name) FROM readings)")
    codes = {(error.operation, error.code): error.message for error in bench.run(target).errors}
    assert codes["select_distinct", "corrupt"] == "SELECT DISTINCT had 99 rows, not 100"
    assert ("transaction", "corrupt") in codes


def test_a_file_that_another_has_open_is_reported(bench: LoadBench[Duckdb]) -> None:
    target = bench.up()
    bench.prepare(target)
    with duckdb.connect(target.endpoint().database):
        with pytest.raises(LoadError, match=r"cannot open .*lock") as caught:
            bench.run(target)
        assert "no other program has the file open" in caught.value.advice


def test_memory_that_is_too_little_is_reported(bench: LoadBench[Duckdb]) -> None:
    target = bench.up(memory_limit="16MiB", threads=1)
    with pytest.raises(LoadError, match="Out of Memory") as caught:
        bench.prepare(target, rows=1_000_000, distinct=900_000, pages=1)
    assert caught.value.message.code == "duckdb.no-memory"
    assert "a larger `target.duckdb.memory_limit`" in caught.value.advice


def test_a_directory_that_is_somebody_else_s_is_not_touched(bench: LoadBench[Duckdb], tmp_path: Path) -> None:
    theirs = tmp_path / "theirs" / "duckdb"
    theirs.mkdir(parents=True)
    (theirs / "sales.duckdb").write_text("precious")
    with pytest.raises(TargetError, match="was not created by loadcell"):
        bench.up(data=str(theirs.parent))
    file = tmp_path / "file.duckdb"
    file.write_text("precious")
    with pytest.raises(TargetError, match="is not a directory"):
        bench.up(data=str(file))
    assert (theirs / "sales.duckdb").read_text() == file.read_text() == "precious"


def test_what_is_kept_is_found_again_and_what_another_version_wrote_is_made_again(
    bench: LoadBench[Duckdb], tmp_path: Path
) -> None:
    options = {"data": str(tmp_path / "kept"), "keep_data": True}
    target = bench.up(**options)
    bench.prepare(target, updates=0)
    target.destroy()
    assert bench.prepare(bench.up(**options), updates=0).how == "reused"
    marker = tmp_path / "kept" / "duckdb" / "loadcell.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "version": "0.1"}))
    assert bench.prepare(bench.up(**options), updates=0).how == "loaded"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"keep_data": True}, "needs `data`"),
        ({"threads": 0}, "threads"),
        ({"memory_limit": "1KiB"}, "memory_limit"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        DuckdbOptions(**options)


def test_a_target_that_was_not_brought_up_has_nothing(tmp_path: Path) -> None:
    target = Duckdb(DuckdbOptions(), TargetContext(tmp_path, print, str))
    assert not target.alive()
    with pytest.raises(TargetError, match="not started"):
        target.endpoint()
