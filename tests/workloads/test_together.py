"""Workloads side by side: their data once, and only such conditions verified as every writer keeps."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from loadcell.model.load_result import GroupResult, LoadResult, MeasuredWindow, OperationResult
from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.workloads.composite import CompositeWorkload

CUSTOM = "\\set a random(1, 10)\nUPDATE pgbench_accounts SET abalance = 0 WHERE aid = :a;\n"
LOOK = "SELECT count(*) FROM pgbench_branches;\n"


def composite_of(directory: Path, *, target: str = "postgres", **groups: str) -> CompositeWorkload:
    """Workloads of a plan with these groups, beside the scripts custom.sql and look.sql."""
    (directory / "custom.sql").write_text(CUSTOM)
    (directory / "look.sql").write_text(LOOK)
    path = directory / "plan.yaml"
    lines = "".join(f"  {name}: {{{workload}, share: 1}}\n" for name, workload in groups.items())
    path.write_text(f"target: {{{target}: {{}}}}\nworkloads:\n{lines}load: {{clients: 8}}\n")
    return CompositeWorkload.of(load_plan(path, installed()).base, installed())


def asked(composite: CompositeWorkload) -> dict[str, list[str]]:
    """Names of the checks, and what they hold the data against, on a server where all is well."""

    def ask(question: str) -> list[tuple[Any, ...]]:
        return [(0, 0)] if "pgbench" in question else []

    return {name: [item.says for item in conditions] for name, conditions in composite.verify(ask).items()}


BALANCES = ["sum(branches) = sum(tellers)", "sum(accounts) = sum(history)", "sum(tellers) = sum(history)"]


def test_equal_data_are_loaded_once_and_others_beside_them(tmp_path: Path) -> None:
    composite = composite_of(
        tmp_path,
        a="pgbench: {scale: 2}",
        b="pgbench: {scale: 2, scripts: [select-only]}",
        c="sysbench: {tables: 3}",
    )
    data = composite.data()
    assert data is not None
    assert list(data) == ["pgbench", "sysbench"]
    assert data["pgbench"]["scale"] == 2
    assert list(composite.loading()) == ["pgbench", "sysbench"]


def test_one_group_alone_has_the_data_of_its_workload(tmp_path: Path) -> None:
    alone = composite_of(tmp_path, a="sysbench: {tables: 3}")
    [(_, workload)] = alone.members
    assert alone.data() == workload.data()


def test_data_change_when_any_group_changes_them(tmp_path: Path) -> None:
    reads, writes = "pgbench: {scripts: [select-only]}", "pgbench: {}"
    assert not composite_of(tmp_path, a=reads, b=reads).changes_data
    assert composite_of(tmp_path, a=reads, b=writes).changes_data


def test_readers_beside_it_leave_a_writers_conditions_as_they_are(tmp_path: Path) -> None:
    assert asked(composite_of(tmp_path, a="pgbench: {}", b="pgbench: {scripts: [look.sql]}")) == {
        "pgbench-balances": BALANCES
    }


def test_of_two_writers_what_both_keep_is_verified(tmp_path: Path) -> None:
    conditions = asked(composite_of(tmp_path, a="pgbench: {}", b="pgbench: {scripts: [simple-update]}"))
    assert conditions == {"pgbench-balances": BALANCES[:2]}


def test_beside_a_writer_of_whom_nothing_is_known_nothing_is_verified(tmp_path: Path) -> None:
    conditions = asked(composite_of(tmp_path, a="pgbench: {}", b="pgbench: {scripts: [custom.sql]}"))
    assert conditions == {"pgbench-balances": []}


def test_whoever_has_no_data_may_write_anybodys(tmp_path: Path) -> None:
    conditions = asked(
        composite_of(tmp_path, a="tpcc: {}", b="pgbench: {scripts: [custom.sql], init_steps: ''}")
    )
    assert conditions["tpcc-consistency"] == []


def test_a_writer_of_other_tables_is_of_no_concern(tmp_path: Path) -> None:
    assert asked(composite_of(tmp_path, a="pgbench: {}", b="sysbench: {}")) == {"pgbench-balances": BALANCES}


def test_metrics_are_those_of_each_group_and_of_all(tmp_path: Path) -> None:
    composite = composite_of(tmp_path, a="tpcc: {}", b="tpcc: {}", c="sysbench: {}")

    def group(name: str, orders: int) -> GroupResult:
        operations = (
            OperationResult("transaction", succeeded=2 * orders, failed=50),
            OperationResult("new_order", succeeded=orders, failed=30),
        )
        return GroupResult(name, operations)

    groups = (group("a", 30), group("b", 12), group("c", 500))
    window = MeasuredWindow(start_mono_ns=0, start_utc_ns=0, duration_ns=60 * 10**9)
    result = LoadResult(outcome="completed", window=window, groups=groups)
    assert composite.figures_of_groups(result) == {
        "a": {"tpmC": 30.0, "tpmTotal": 60.0},
        "b": {"tpmC": 12.0, "tpmTotal": 24.0},
        "c": {},
    }
    assert composite.figures(result) == {"tpmC": 42.0, "tpmTotal": 84.0}


def test_what_a_reader_must_know_is_reported_once(tmp_path: Path) -> None:
    assert composite_of(tmp_path, a="tpcc: {}", b="tpcc: {}").notes() == ["tpcc.unaudited", "tpcc.no-waits"]


def test_throughput_counts_what_every_workload_counts_or_operations() -> None:
    def counting(*units: str) -> str:
        return CompositeWorkload([(None, SimpleNamespace(unit=unit)) for unit in units]).unit  # type: ignore[misc]

    assert counting("transaction") == "transaction"
    assert counting("request", "request") == "request"
    assert counting("request", "transaction") == "operation"


def test_prefixes_of_keys_are_those_of_all_groups_once(tmp_path: Path) -> None:
    composite = composite_of(
        tmp_path,
        target="redis",
        a="kv: {key_prefix: 'a:'}",
        b="kv: {key_prefix: 'a:', mix: {get: 1}}",
        c="ycsb: {workload: c}",
    )
    assert composite.key_prefixes() == ("a:", "user", "_indices")
    assert composite_of(tmp_path, a="sysbench: {}").key_prefixes() == ()


def test_names_of_tables_are_those_of_all_groups_once(tmp_path: Path) -> None:
    several = composite_of(tmp_path, a="sysbench: {tables: 2}", b="sysbench: {tables: 2}", c="tpcc: {}")
    names = several.table_names()
    assert names[:2] == ("sbtest1", "sbtest2")
    assert {name[:6] for name in names[2:]} == {"bmsql_"}
    assert len(names) == 2 + 10
