"""SQL over runs: the views, in place; nothing but reading; and no text from outside that becomes SQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from execution.live import loadcell
from fake_runs import Shape, write_run
from loadcell.store.layout import StoreError
from loadcell.store.query import query


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs; the second one's directory has a name that is SQL."""
    home = tmp_path_factory.mktemp("it's; DROP VIEW trials --")
    shape = Shape(seconds=3, warmup_s=1)
    return [
        write_run(home / "20260101T000000Z-aa11", shape),
        write_run(home / "20260102T000000Z-bb'22", shape),
    ]


def test_a_row_a_trial_with_its_values_and_factors(runs: list[Path]) -> None:
    answer = query(
        runs,
        'SELECT run, trial, status, "factor.load.clients", throughput_per_s, response_p99_ms '
        "FROM trials ORDER BY run, number",
    )
    assert len(answer.rows) == 8
    run, trial, status, clients, throughput, p99 = answer.rows[0]
    assert (run, status) == ("20260101T000000Z-aa11", "ok")
    assert f"clients={clients}" in trial
    assert throughput > 0
    assert p99 > 0


def test_intervals_of_many_runs_agree_with_the_trials(runs: list[Path]) -> None:
    answer = query(
        runs,
        """
        SELECT run, trial, sum(succeeded) FROM intervals
        WHERE phase = 'measure' AND operation = 'transaction' GROUP BY ALL ORDER BY ALL
        """,
    )
    assert len(answer.rows) == 8
    assert all(total > 0 for *_, total in answer.rows)


def test_samples_of_all_monitors_are_one_view(runs: list[Path]) -> None:
    answer = query(
        runs[:1],
        "SELECT monitor, count(*), count(cpu_busy_percent), count(pid) FROM samples GROUP BY 1 ORDER BY 1",
    )
    (host, n_host, busy, host_pids), (target, n_target, target_busy, pids) = answer.rows
    assert (host, target) == ("host", "target")
    assert n_host == busy > 0 == host_pids
    assert n_target == pids > 0 == target_busy


def test_events_keep_their_own_fields_as_json(runs: list[Path]) -> None:
    answer = query(
        runs, "SELECT DISTINCT event, detail->>'phase' FROM events WHERE event = 'phase' ORDER BY 2"
    )
    assert ("phase", "up") in answer.rows


def test_a_cut_file_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    run = write_run(tmp_path / "20260101T000000Z-cc33", Shape(seconds=3, warmup_s=1))
    before = query([run], "SELECT count(*) FROM intervals").rows[0][0]
    file = next((run / "trials").glob("*/intervals.csv"))
    file.write_bytes(file.read_bytes()[:-5])
    assert query([run], "SELECT count(*) FROM intervals").rows[0][0] == before - 1


def test_a_run_without_any_finished_trial_has_empty_views(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Shape(unwritten=frozenset(range(1, 5))))
    for view in ("trials", "intervals", "samples", "events"):
        assert query([run], f"SELECT count(*) FROM {view}").rows == [(0,)]
    assert query([run], "SELECT treatment, throughput_per_s FROM trials").rows == []


@pytest.mark.parametrize(
    "sql",
    [
        "COPY trials TO '{home}/out.csv'",
        "EXPLAIN ANALYZE COPY trials TO '{home}/out.csv'",
        "CREATE TABLE t AS FROM trials",
        "DROP VIEW intervals",
        "INSERT INTO trials SELECT * FROM trials",
        "ATTACH '{home}/out.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "EXPORT DATABASE '{home}/out'",
        "SELECT 1; SELECT 2",
        "",
    ],
)
def test_anything_but_one_select_is_refused(runs: list[Path], tmp_path: Path, sql: str) -> None:
    with pytest.raises(StoreError, match="a query must be one SELECT"):
        query(runs, sql.format(home=tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('{run}/plan.yaml')",
        "FROM '{run}/run.json'",
        "FROM glob('/etc/*')",
    ],
)
def test_a_select_reads_nothing_but_the_views(runs: list[Path], sql: str) -> None:
    with pytest.raises(StoreError, match="file system operations are disabled"):
        query(runs[:1], sql.format(run=str(runs[0]).replace("'", "''")))


def test_a_mistake_in_sql_comes_with_what_there_is(runs: list[Path]) -> None:
    with pytest.raises(StoreError, match="intervalls") as caught:
        query(runs, "SELECT * FROM intervalls")
    assert "trials, intervals, samples, events" in caught.value.advice


@pytest.mark.parametrize("sql", ["SELECT host.cpu FROM trials", "SELECT max(host.cpu), name FROM trials"])
def test_a_metric_with_a_dot_is_to_be_quoted(runs: list[Path], sql: str) -> None:
    with pytest.raises(StoreError, match="host") as caught:
        query(runs, sql)
    assert caught.value.advice == 'a name with a dot needs double quotes in SQL: "host.cpu"'


def test_a_command_says_nothing_but_its_answer(runs: list[Path]) -> None:
    asked = loadcell(runs[0].parent, "query", "SELECT count(*) AS n FROM trials", runs[0].name)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.split() == ["n", "4"]
