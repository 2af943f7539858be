"""The composite of queries: what its options may be, and what it says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.load import load_text
from loadcell.plan.problems import PlanError
from loadcell.plan.remarks import remarks
from loadcell.systems.duckdb.workload import Duckdb, DuckdbOptions

PLAN = "target: {duckdb: {}}\nworkload: {duckdb: {rows: 5000, distinct: 10}}\nload: {clients: 1}\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rows": 1000, "distinct": 1001}, "exceeds `rows`"),
        ({"rows": 1000, "distinct": 10, "page_size": 100, "pages": 11}, "fewer `pages`"),
        ({"rows": 10}, "rows"),
        ({"updates": -1}, "updates"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        DuckdbOptions(**options)


def test_data_depend_on_rows_and_names_alone() -> None:
    updating, reading = Duckdb(DuckdbOptions(updates=5)), Duckdb(DuckdbOptions(updates=0, pages=2))
    assert updating.data() == reading.data() == {"duckdb": {"rows": 1_000_000, "distinct": 10_000}}
    assert (updating.changes_data, reading.changes_data) == (True, False)
    assert updating.calls({"update": 7, "page": 2}) == {"update": 7}
    assert reading.calls({"update": 0, "page": 2}) == {}


def test_what_cannot_be_is_reported_of_the_plan() -> None:
    with pytest.raises(PlanError, match=r"load\.timeout: a running call of DuckDB cannot be aborted"):
        load_text(PLAN.replace("1}", "1, timeout: 5s}"), Path("plan.yaml"), installed(), env={})
    with pytest.raises(PlanError, match="does not work with the target redis"):
        load_text(PLAN.replace("{duckdb: {}}", "{redis: {}}"), Path("plan.yaml"), installed(), env={})


def test_it_is_no_client_group_among_others() -> None:
    text = "target: {duckdb: {}}\nworkloads:\n  a: {duckdb: {}, share: 1}\nload: {clients: 1}\n"
    with pytest.raises(PlanError, match=r"workloads\.a: the workload duckdb generates its load itself"):
        load_text(text, Path("plan.yaml"), installed(), env={})


def test_what_has_no_effect_is_remarked_on() -> None:
    plan = load_text(
        PLAN.replace("1}", "1, threads: 2}").replace("10}", "10, updates: 0}"),
        Path("plan.yaml"),
        installed(),
        env={},
    )
    texts = {entry.path: entry.text for entry in remarks(plan, installed())}
    assert "has no effect" in texts["load.threads"]
    assert "read-only" in texts["workload.duckdb.updates"]
