"""YCSB's properties: from files, letters and plans, with YCSB's names and defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.model import Load
from loadcell.workloads.ycsb import Ycsb, YcsbOptions
from loadcell.workloads.ycsb_properties import LETTERS, Properties

WORKLOAD_E = """\
# Yahoo! Cloud System Benchmark
# Workload E: Short ranges

recordcount=1000
operationcount=1000
workload=site.ycsb.workloads.CoreWorkload

readallfields=true

readproportion=0
updateproportion=0
scanproportion=0.95
insertproportion=0.05

requestdistribution=zipfian

maxscanlength=100
scanlengthdistribution=uniform
"""


def workload(**options: Any) -> Ycsb:
    return Ycsb(YcsbOptions(**options))


def from_file(tmp_path: Path, text: str, **options: Any) -> Ycsb:
    (tmp_path / "workload").write_text(text)
    return Ycsb(
        YcsbOptions.model_validate({"properties": "workload", **options}, context={"directory": tmp_path})
    )


def test_defaults_are_ycsbs() -> None:
    section = workload().engine()["ycsb"]
    assert section["proportions"] == {
        "read": 0.95,
        "update": 0.05,
        "insert": 0,
        "scan": 0,
        "readmodifywrite": 0,
    }
    assert (section["requestdistribution"], section["fieldcount"], section["fieldlength"]) == (
        "uniform",
        10,
        100,
    )
    assert (section["maxscanlength"], section["hashed"], section["zeropadding"]) == (1000, True, 1)
    assert (section["readallfields"], section["writeallfields"]) == (True, False)
    assert (section["exponential_percentile"], section["exponential_frac"]) == (95, 0.8571428571)


def test_every_property_of_ycsb_is_an_option() -> None:
    assert Properties.model_fields.keys() <= YcsbOptions.model_json_schema()["properties"].keys()


@pytest.mark.parametrize(
    ("letter", "shares", "distribution"),
    [
        ("A", {"read": 0.5, "update": 0.5}, "zipfian"),
        ("b", {"read": 0.95, "update": 0.05}, "zipfian"),
        ("C", {"read": 1}, "zipfian"),
        ("d", {"read": 0.95, "insert": 0.05}, "latest"),
        ("E", {"scan": 0.95, "insert": 0.05}, "zipfian"),
        ("f", {"read": 0.5, "readmodifywrite": 0.5}, "zipfian"),
    ],
)
def test_letters_are_the_core_workloads(letter: str, shares: dict[str, float], distribution: str) -> None:
    options = YcsbOptions(workload=letter)
    assert {name: share for name, share in options.all().proportions().items() if share} == shares
    assert options.all().requestdistribution == distribution
    if letter == "E":
        assert (options.all().maxscanlength, options.all().scanlengthdistribution) == (100, "uniform")


def test_an_unchanged_file_says_what_its_letter_does(tmp_path: Path) -> None:
    file = from_file(tmp_path, WORKLOAD_E)
    assert file.engine() == workload(workload="e").engine()
    assert file.advice() == []
    assert file.load_settings(file.options) == {}


def test_the_plan_counts_before_the_file_and_the_file_before_the_letter(tmp_path: Path) -> None:
    options = from_file(tmp_path, "recordcount=500\nfieldcount=3\n", workload="a", fieldcount=5).options
    assert (options.all().recordcount, options.all().fieldcount) == (500, 5)
    assert options.all().requestdistribution == "zipfian"
    assert options.said["recordcount"] == 500


def test_a_file_may_say_how_hard(tmp_path: Path) -> None:
    text = "threadcount=8\ntarget=2000\nmaxexecutiontime=60\ninsertorder=ordered\nexponential.frac=0.5\n"
    made = from_file(tmp_path, text)
    assert made.load_settings(made.options) == {"clients": 8, "rate": "2000/s", "duration": "60s"}
    assert made.engine()["ycsb"]["hashed"] is False
    assert made.engine()["ycsb"]["exponential_frac"] == 0.5


def test_the_load_phase_is_over_when_all_records_are_there(tmp_path: Path) -> None:
    made = from_file(tmp_path, "recordcount=500\nthreadcount=2\n", phase="load", insertstart=100)
    assert made.load_settings(made.options) == {"requests": 400, "clients": 2}


def test_what_the_file_names_wrongly_is_remarked_on(tmp_path: Path) -> None:
    [remark] = from_file(
        tmp_path, "recrodcount=5\nredis.host=localhost\nhdrhistogram.percentiles=95\n"
    ).advice()
    assert remark.path == "properties"
    assert (
        "`recrodcount` is not a property of YCSB's core workload: did you mean recordcount?"
        in remark.message.text
    )
    assert "redis.host" not in remark.message.text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("recordcount=many\n", "`recordcount` is 'many'"),
        ("requestdistribution=zipf\n", "`requestdistribution` is 'zipf'"),
        ("workload=site.ycsb.workloads.TimeSeriesWorkload\n", "only the core one"),
        ("dataintegrity=true\n", "`verify: true`"),
        ("fieldlengthdistribution=histogram\n", "histogram"),
        ("readproportion=0\nupdateproportion=0\n", "all proportions are 0"),
        ("threadcount=0\n", "`threadcount` is 0"),
        ("a\0b", "not text"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(ValidationError) as caught:
        from_file(tmp_path, text)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"workload": "g"}, "'a', 'b'"),
        ({"properties": "/nowhere/workloada"}, "cannot read /nowhere/workloada"),
        ({"recordcount": 0}, "greater than or equal to 1"),
        ({"recordcount": 10, "insertstart": 10}, "is not below `recordcount`"),
        ({"recordcount": 10, "insertstart": 5, "insertcount": 6}, "exceeds `recordcount`"),
        ({"fieldlength": 5, "minfieldlength": 6}, "exceeds `fieldlength`"),
        ({"maxscanlength": 5, "minscanlength": 6}, "exceeds `maxscanlength`"),
        ({"fieldcount": 0}, "greater than or equal to 1"),
        ({"fieldlength": 0}, "greater than or equal to 1"),
        ({"maxscanlength": 0}, "greater than or equal to 1"),
        ({"scanlengthdistribution": "constant"}, "'uniform' or 'zipfian'"),
        ({"readproportion": -1}, "greater than or equal to 0"),
        ({"hotspotdatafraction": 2}, "less than or equal to 1"),
        ({"exponential": {"percentile": 100}}, "less than or equal to 99.999"),
        ({"exponential": {"frac": 1e-10}}, "greater than or equal to 0.000000001"),
        ({"operationcount": 10**12, "insertproportion": 1}, "give 2000000000000 inserts"),
        ({"retry_sqlstates": ["4"]}, "match pattern"),
        ({"table": "user table"}, "pattern"),
        ({"table": ""}, "pattern"),
        ({"readproportion": 0, "updateproportion": 0}, "all proportions are 0"),
        ({"readproportions": 1}, "Extra inputs"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationError) as caught:
        YcsbOptions(**options)
    assert part in str(caught.value)


def test_the_data_depend_on_the_records_alone() -> None:
    first = workload(workload="a").data()
    assert all(workload(workload=letter).data() == first for letter in LETTERS)
    assert first["ycsb"]["recordcount"] == 1000
    for change in ({"recordcount": 5}, {"fieldcount": 2}, {"insertorder": "ordered"}, {"fieldlength": 7}):
        assert workload(**change).data() != first
    empty = workload(phase="load").data()
    assert empty == workload(phase="load", recordcount=77, workload="e").data() != first


def test_only_what_writes_changes_the_data() -> None:
    assert [letter for letter in LETTERS if workload(workload=letter).changes_data] == [
        "a",
        "b",
        "d",
        "e",
        "f",
    ]
    assert workload(workload="c", phase="load").changes_data


def test_records_to_come_are_reckoned_as_ycsb_does() -> None:
    assert workload(workload="e", operationcount=10_000).engine()["ycsb"]["expected_inserts"] == 1000
    assert workload(workload="c").engine()["ycsb"]["expected_inserts"] == 0


def test_what_redis_is_asked_is_known() -> None:
    mixed = workload(workload="f").calls({"transaction": 9, "READ": 9, "UPDATE": 4, "READ-MODIFY-WRITE": 4})
    assert mixed == {"hset": 4, "zadd": 0, "zrangebyscore": 0, "hgetall": 9}
    assert "hmget" in workload(readallfields=False).calls({"READ": 1})
    scans = workload(workload="e").calls({"SCAN": 5, "INSERT": 2})
    assert scans == {"hset": 2, "zadd": 2, "zrangebyscore": 5}


def test_statements_parsed_each_time_are_postgresqls_own() -> None:
    made = workload(protocol="extended")
    assert made.misfits(Load(clients=1), installed().target_kind("mysql"))
    assert not made.misfits(Load(clients=1), installed().target_kind("postgres"))
