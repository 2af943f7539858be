"""TPC-C's options, and what follows from them: data, metrics, notes, terminals that fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.load import LoadedPlan, load_plan
from loadcell.plan.problems import PlanError
from loadcell.plan.remarks import remarks
from loadcell.workloads.tpcc import Tpcc, TpccOptions, check_consistency


def workload(**options: Any) -> Tpcc:
    return Tpcc(TpccOptions(**options))


def plan(home: Path, text: str) -> LoadedPlan:
    path = home / "plan.yaml"
    path.write_text("target: {postgres: {server: local}}\n" + text)
    return load_plan(path, installed(), env={})


def test_defaults_are_benchmarksqls_and_the_specifications() -> None:
    options = TpccOptions()
    weights = (
        options.new_order_weight,
        options.payment_weight,
        options.order_status_weight,
        options.delivery_weight,
        options.stock_level_weight,
    )
    assert weights == (45, 43, 4, 4, 4)
    assert (options.warehouses, options.terminal_warehouse_fixed, options.limit_txns_per_min) == (1, True, 0)
    assert (options.keying_time, options.think_time, options.protocol) == (False, False, "prepared")


def test_the_data_depend_on_warehouses_alone_and_how_they_are_loaded_is_no_part_of_them() -> None:
    ten = workload(warehouses=10, load_workers=10)
    assert ten.data() == workload(warehouses=10, load_workers=100, think_time=True).data()
    assert ten.data() != workload(warehouses=20).data()
    assert ten.loading() == ten.engine()
    loading = {name: ten.loading()["tpcc"][name] for name in ("warehouses", "load_workers")}
    assert loading == {"warehouses": 10, "load_workers": 10}
    assert ten.changes_data


def test_the_engine_gets_everything() -> None:
    [(name, section)] = workload(warehouses=3).engine().items()
    assert name == "tpcc"
    assert set(section) == set(TpccOptions.model_fields)


def test_metrics_are_what_was_completed_per_minute() -> None:
    succeeded = {"transaction": 1_000, "new_order": 450}
    assert workload().figures(succeeded, 30.0) == {"tpmC": 900.0, "tpmTotal": 2_000.0}
    assert workload().figures({}, 30.0) == {}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("tpcc.unaudited", "tpcc.no-waits")),
        ({"keying_time": True}, ("tpcc.unaudited", "tpcc.keying")),
        ({"think_time": True}, ("tpcc.unaudited", "tpcc.thinking")),
        (
            {"keying_time": True, "think_time": True, "limit_txns_per_min": 5},
            ("tpcc.unaudited", "tpcc.keying-and-thinking", "tpcc.limited"),
        ),
    ],
)
def test_the_report_gets_what_the_metrics_are_not(options: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert workload(**options).notes() == expected


@pytest.mark.parametrize(
    ("options", "path", "part"),
    [
        ({"payment_weight": 44}, "", "add up to 101"),
        ({"new_order_weight": 0}, "", "add up to 55"),
        ({"payment_weight": -1}, "payment_weight", "greater than or equal to 0"),
        ({"warehouses": 0}, "warehouses", "greater than or equal to 1"),
        ({"warehouses": 50_001}, "warehouses", "less than or equal to 50000"),
        ({"limit_txns_per_min": -1}, "limit_txns_per_min", "greater than or equal to 0"),
        ({"load_workers": 0}, "load_workers", "greater than or equal to 1"),
        ({"retry_sqlstates": ["4001"]}, "retry_sqlstates.0", "match pattern"),
        ({"terminals": 3}, "terminals", "Extra inputs"),
    ],
)
def test_what_cannot_work_is_a_mistake_at_its_place(options: dict[str, Any], path: str, part: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TpccOptions(**options)
    [error] = caught.value.errors()
    assert ".".join(map(str, error["loc"])) == path
    assert part in error["msg"]


def test_more_terminals_than_ten_a_warehouse_are_a_mistake_of_the_plan(tmp_path: Path) -> None:
    text = "workload: {tpcc: {warehouses: 2}}\nload: {clients: 20}\n"
    plan(tmp_path, text)
    with pytest.raises(PlanError) as caught:
        plan(tmp_path, text.replace("20", "21"))
    [problem] = caught.value.problems
    assert (problem.path, problem.mark.line) == ("load.clients", 3)
    assert "21 clients need as many terminals, but the limit is 20 (warehouses: 2," in problem.finding
    assert "up to 20, or more warehouses" in str(problem.allowed)


def test_also_where_a_factor_makes_them_too_many(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as caught:
        plan(tmp_path, "workload: {tpcc: {}}\nfactors: {load.clients: [5, 10, 15]}\n")
    [problem] = caught.value.problems
    assert problem.path == "load.clients"
    assert problem.mark.line == 3
    assert "the limit is 10 (warehouses: 1, 10 terminals each)" in problem.finding


def test_waiting_terminals_in_a_short_trial_are_remarked_upon(tmp_path: Path) -> None:
    text = "workload: {tpcc: {think_time: true}}\nload: {clients: 5, duration: 30s}\n"
    messages = remarks(plan(tmp_path, text), installed())
    assert [remark.path for remark in messages] == ["load.duration"]
    assert remarks(plan(tmp_path, text.replace("30s", "10min")), installed()) == []


def test_metrics_can_be_expected_and_factors_can_vary_anything(tmp_path: Path) -> None:
    loaded = plan(
        tmp_path,
        "workload: {tpcc: {}}\nload: {clients: 5}\nfactors: {workload.tpcc.warehouses: [1, 2]}\n"
        "expect: [tpmC > 1000, tpmTotal >= 2000]\n",
    )
    assert [item.metric for item in loaded.expect] == ["tpmC", "tpmTotal"]
    assert loaded.expect[0].judge({"tpmC": 1_500.0}).verdict == "met"
    assert loaded.expect[0].judge({"throughput": 1_500.0}).verdict == "unknown"
    assert loaded.treatment_count == 2


def test_conditions_say_what_is_wrong_and_where_first() -> None:
    asked: list[str] = []

    def ask(sql: str) -> list[tuple[Any, ...]]:
        asked.append(sql)
        return [(3, 1, 7, 3100, 3101, None)] if "no_o_id <> last_o_id" in sql else []

    conditions = check_consistency(ask)
    assert [item.wrong for item in conditions] == [0, 3, 0, 0]
    assert conditions[1].example == (
        "warehouse 1 district 7: d_next_o_id - 1 is 3100, max(o_id) 3101, max(no_o_id) None"
    )
    assert len(asked) == 4


def test_only_its_stock_levels_may_have_parallel_workers() -> None:
    operations = {"stock_level": 7, "new_order": 90, "transaction": 200}
    assert workload().parallel_statements(operations, 5_000) == 7
