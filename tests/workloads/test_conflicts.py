"""`errors == 0` beside transactions that conflict with each other is remarked on, with what to retry."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell import parts
from loadcell.plan.load import load_text
from loadcell.plan.remarks import EXPECT_CONFLICTS, remarks

SYSBENCH = "sysbench: {script: oltp_read_write, tables: 1, table_size: 10000"
RETRIES = 'retry_sqlstates: ["40001", "40P01", "23505"]'


def conflicts(
    work: str, target: str = "postgres: {}", clients: int = 16, expect: str = "errors == 0"
) -> list[tuple[str, list[str]]]:
    """Paths of the remarks on conflicts, with the errors that they name."""
    plan = f"""
title: t
target: {{{target}}}
workload: {{{work}}}
load: {{clients: {clients}, duration: 10s}}
expect: ["{expect}"]
"""
    remarked = remarks(load_text(plan, Path("plan"), parts.installed(), env={}), parts.installed())
    return [
        (remark.path, remark.message.arguments["codes"])
        for remark in remarked
        if remark.message.code == EXPECT_CONFLICTS.code
    ]


@pytest.mark.parametrize("expect", ["errors == 0", "errors < 1", "error_rate == 0%"])
def test_conflicts_of_a_mixed_script_are_remarked_on(expect: str) -> None:
    path = "workload.sysbench.retry_sqlstates"
    assert conflicts(SYSBENCH + "}", expect=expect) == [(path, ["23505"])]
    assert conflicts(SYSBENCH + ", retry_sqlstates: []}", expect=expect) == [(path, ["40P01", "23505"])]


def test_conflicts_are_not_remarked_on_where_all_are_retried_or_allowed() -> None:
    assert conflicts(f"{SYSBENCH}, {RETRIES}}}") == []
    for expect in ("errors < 100", "error_rate < 0.1%", "throughput > 0/s"):
        assert conflicts(SYSBENCH + "}", expect=expect) == []


def test_conflicts_are_not_remarked_on_where_there_are_hardly_any() -> None:
    assert conflicts(SYSBENCH + "}", clients=1) == []
    assert conflicts(SYSBENCH.replace("10000", "100000000") + "}", clients=2) == []
    assert conflicts(SYSBENCH.replace("oltp_read_write", "oltp_read_only") + "}") == []
    assert conflicts(SYSBENCH.replace("oltp_read_write", "oltp_update_index") + "}") == []


def test_a_draw_from_few_rows_conflicts_more_often() -> None:
    few = SYSBENCH.replace("10000", "100000000")
    assert conflicts(few + "}", clients=5) == []
    assert len(conflicts(few + ", distribution: special}", clients=5)) == 1


def test_other_databases_have_other_conflicts() -> None:
    assert conflicts(SYSBENCH + "}", target="mysql: {}") == []
    assert conflicts(SYSBENCH + ", retry_sqlstates: []}", target="mysql: {}")[0][1] == ["40001"]
    assert conflicts("tpcc: {warehouses: 2}") == []
    assert conflicts("tpcc: {warehouses: 2, retry_sqlstates: []}")[0][1] == ["40P01"]


def test_retries_may_be_off_altogether() -> None:
    plan = parts.installed()
    text = f"""
target: {{postgres: {{}}}}
workload: {{{SYSBENCH}, {RETRIES}}}}}
load: {{clients: 16, duration: 10s, max_retries: 0}}
expect: [errors == 0]
"""
    codes = [
        remark.message.arguments["codes"]
        for remark in remarks(load_text(text, Path("plan"), plan, env={}), plan)
        if remark.message.code == EXPECT_CONFLICTS.code
    ]
    assert codes == [["40P01", "23505"]]
