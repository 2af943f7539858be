"""sysbench's options: its own names and defaults, and what follows from them."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from loadcell.workloads.sysbench import Script, Sysbench, SysbenchOptions


def workload(**options: Any) -> Sysbench:
    return Sysbench(SysbenchOptions(**options))


def test_defaults_are_sysbenchs() -> None:
    options = SysbenchOptions()
    assert (options.script, options.tables, options.table_size) == ("oltp_read_write", 1, 10_000)
    assert (options.range_size, options.point_selects) == (100, 10)
    ranges = (options.simple_ranges, options.sum_ranges, options.order_ranges, options.distinct_ranges)
    assert ranges == (1, 1, 1, 1)
    assert (options.index_updates, options.non_index_updates, options.delete_inserts) == (1, 1, 1)
    assert (options.skip_trx, options.auto_inc, options.create_secondary) == (False, True, True)
    assert (options.random_points, options.number_of_ranges, options.delta) == (10, 10, 5)
    assert (options.distribution, options.protocol) == ("uniform", "prepared")
    assert options.retry_sqlstates == ("40001", "40P01")


@pytest.mark.parametrize("script", get_args(Script))
def test_only_scripts_that_write_change_the_data(script: str) -> None:
    reading = script in (
        "oltp_read_only",
        "oltp_point_select",
        "select_random_points",
        "select_random_ranges",
    )
    assert workload(script=script).changes_data != reading


def test_a_mixed_script_without_writes_changes_nothing() -> None:
    none = {"index_updates": 0, "non_index_updates": 0, "delete_inserts": 0}
    assert not workload(script="oltp_read_write", **none).changes_data
    assert workload(script="oltp_read_write", **{**none, "delete_inserts": 1}).changes_data


def test_the_data_depend_on_their_own_options_alone() -> None:
    first = workload(script="oltp_read_only", range_size=10, protocol="simple")
    assert first.data() == workload(script="oltp_write_only", point_selects=3).data()
    assert first.data() == {
        "sysbench": {
            "tables": 1,
            "table_size": 10_000,
            "auto_inc": True,
            "create_secondary": True,
            "distribution": "uniform",
        }
    }
    for change in (
        {"tables": 2},
        {"table_size": 5},
        {"auto_inc": False},
        {"create_secondary": False},
        {"distribution": "special"},
    ):
        assert workload(**change).data() != first.data()


def test_the_engine_gets_everything() -> None:
    [(name, section)] = workload(script="oltp_read_only", tables=12).engine().items()
    assert name == "sysbench"
    assert (section["script"], section["tables"], section["retry_sqlstates"]) == (
        "oltp_read_only",
        12,
        ["40001", "40P01"],
    )
    assert set(section) == {*SysbenchOptions.model_fields, "load_workers"}


@pytest.mark.parametrize(
    ("options", "path", "part"),
    [
        ({"script": "oltp_nothing"}, "script", "oltp_read_write"),
        ({"tables": 0}, "tables", "greater than or equal to 1"),
        ({"table_size": 0}, "table_size", "greater than or equal to 1"),
        ({"table_size": 3_000_000_000}, "table_size", "less than or equal to 2147483647"),
        ({"range_size": 0}, "range_size", "greater than or equal to 1"),
        ({"point_selects": -1}, "point_selects", "greater than or equal to 0"),
        ({"random_points": 0}, "random_points", "greater than or equal to 1"),
        ({"number_of_ranges": 0}, "number_of_ranges", "greater than or equal to 1"),
        ({"table_size": 2**31 - 1, "range_size": 1, "delta": 1}, "", "`delta` plus `table_size`"),
        ({"table_size": 2**31 - 1, "range_size": 2}, "", "`range_size` plus `table_size`"),
        ({"retry_sqlstates": ["4001"]}, "retry_sqlstates.0", "match pattern"),
        ({"tabels": 3}, "tabels", "Extra inputs"),
        (
            {"script": "oltp_read_only", "point_selects": 0, "range_selects": False, "skip_trx": True},
            "",
            "`oltp_read_only` has no statement to run",
        ),
    ],
)
def test_what_cannot_work_is_a_mistake_at_its_place(options: dict[str, Any], path: str, part: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SysbenchOptions(**options)
    [error] = caught.value.errors()
    assert ".".join(map(str, error["loc"])) == path
    assert part in error["msg"]


def test_what_will_disappoint_is_remarked_upon() -> None:
    assert workload().advice() == []
    assert [remark.path for remark in workload(script="select_random_points", tables=4).advice()] == [
        "tables"
    ]
    assert [remark.path for remark in workload(script="oltp_delete").advice()] == ["script"]
    assert [remark.path for remark in workload(table_size=10, range_size=100).advice()] == ["range_size"]
    assert [
        remark.path for remark in workload(script="select_random_points", create_secondary=False).advice()
    ] == ["create_secondary"]
