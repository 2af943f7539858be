"""Metrics of any command: by a pattern, a path into JSON, a column of CSV; and the message where there is
none.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from loadcell.ingest import extract
from loadcell.report.texts import Texts

PRINTED = """\
starting
1s: tps = 10.5
2s: tps = 1,234.5
done: p99 is 0.012 s, none failed
"""
JSON = """\
note: reading the configuration
{"jobs": [{"read": {"iops": 12.5, "clat_ns": {"percentile": {"99.000000": 2500000}}}}, {"read": {"iops": 7}}],
 "ok": true, "name": "x", "text": "3,5"}
done
"""
CSV = """\
round one
time, tps, "p99, ms"
1, 10, 1.5
2, 30, 2.5
3, 20, 0.5
total 60
"""


def taken(text: str, **source: Any) -> float:
    return extract.value(extract.FigureSource(**source), text)


def test_a_pattern_gives_its_first_group_and_the_last_match() -> None:
    assert taken(PRINTED, pattern=r"tps = ([\d.,]+)") == 1234.5
    assert taken(PRINTED, pattern=r"^(\d)s:") == 2
    assert taken(PRINTED, pattern=r"p99 is ([\d.]+) s", times=1000.0) == 12


@pytest.mark.parametrize(
    ("take", "value"),
    [("first", 10), ("last", 20), ("min", 10), ("max", 30), ("mean", 20), ("median", 20), ("sum", 60)],
)
def test_of_several_values_the_plan_says_which(take: str, value: float) -> None:
    assert taken(CSV, csv="tps", take=take) == value


def test_a_path_leads_into_json_whatever_stands_round_it() -> None:
    assert taken(JSON, json="jobs[0].read.iops") == 12.5
    assert taken(JSON, json="jobs[-1].read.iops") == 7
    assert taken(JSON, json="jobs[*].read.iops", take="sum") == 19.5
    assert taken(JSON, json='jobs[0].read.clat_ns.percentile["99.000000"]', times=1e-6) == 2.5
    assert taken(JSON, json="text") == 3.5, "a decimal comma"


def test_json_may_stand_one_document_a_line() -> None:
    assert taken('{"tps": 1}\nnoise {"tps": 9}\n{"tps": 5}\n', json="tps") == 5
    assert taken('[1] starting\n{"tps": 5}\n', json="tps") == 5


def test_what_is_within_cut_json_is_not_taken_for_the_whole() -> None:
    with pytest.raises(extract.NoFigureError):
        taken('{"jobs": [\n  {"tps": 1},\n  {"tps": 2},\n', json="tps")


def test_a_column_is_found_by_its_name_whatever_parts_the_cells() -> None:
    assert taken(CSV, csv="p99, ms", take="max") == 2.5
    assert taken("a;tps\n1;5,5\n", csv="tps") == 5.5
    assert taken("a\ttps\n1\t7\n", csv="tps") == 7


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"pattern": "qps = (\\d+)"}, "the pattern 'qps = (\\\\d+)' matched nothing in the output"),
        ({"pattern": "(done)"}, "the pattern '(done)' matched 'done', which is not a number"),
        ({"json": "jobs[2].read.iops"}, "the path 'jobs[2].read.iops' matched nothing in the output"),
        ({"json": "ok"}, "the path 'ok' matched nothing in the output"),
        ({"csv": "qps"}, "the column 'qps' matched nothing in the output"),
    ],
)
def test_a_value_that_is_not_there_is_never_guessed(source: dict[str, Any], text: str) -> None:
    with pytest.raises(extract.NoFigureError) as caught:
        taken(PRINTED + JSON, **source)
    assert str(caught.value) == text
    assert re.match("输出中找不到|模式|路径|列", Texts("zh").message(caught.value.message))


@pytest.mark.parametrize("path", ["", "a..b", "a[x]", "[", "a]"])
def test_what_is_no_path_is_reported_before_anything_runs(path: str) -> None:
    with pytest.raises(extract.NoFigureError, match="path"):
        extract.path_of(path)


def test_a_command_without_a_throughput_is_measured_by_its_time() -> None:
    plain = extract.measured({}, 0.5)
    assert (plain.throughput_per_s, plain.succeeded, plain.duration_s) == (2, 1, 0.5)
    named = extract.measured({"throughput": 9, "failed": 2, "latency.p99": 3.5, "depth": 4}, 0.5)
    assert (named.throughput_per_s, named.succeeded, named.failed) == (9, None, 2)
    assert (dict(named.response), dict(named.figures)) == ({"p99_ms": 3.5}, {"depth": 4})
