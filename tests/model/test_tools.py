"""Tools as data: units of their throughput, and what distinguishes two measurements."""

from __future__ import annotations

from typing import Any

import pytest

from loadcell.ingest.readers import names as reader_names
from loadcell.model.tools import KINDS, kind_of, quantity
from loadcell.workloads.tool_runner.registry import TOOLS


@pytest.mark.parametrize(
    ("name", "arguments", "unit"),
    [
        ("sysbench", ["oltp_read_only", "--threads=4", "run"], "transaction"),
        ("sysbench", ["fileio", "--file-test-mode=rndrd", "run"], "operation"),
        ("netperf", ["-t", "TCP_RR"], "transaction"), ("netperf", ["-tTCP_CRR"], "transaction"),
        ("netperf", ["-t", "TCP_STREAM"], "MiB"),
        ("pgbench", [], "transaction"), ("benchmarksql", [], "transaction"), ("wrk", [], "request"),
        ("redis-benchmark", [], "request"), ("dd", [], "MiB"), ("fio", ["--name=memory"], "operation"),
        ("jstat", [], "operation"), (None, [], "operation"),
    ],
)  # fmt: skip
def test_the_unit_of_a_tool_depends_on_its_test(name: str | None, arguments: list[str], unit: str) -> None:
    assert kind_of(name).counted(arguments) == unit


def test_every_tool_that_is_called_is_known_and_its_output_has_a_reader() -> None:
    assert TOOLS.keys() <= KINDS.keys() <= set(reader_names())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"sysbench": "memory --threads=4 run"}, ("sysbench", "memory")),
        ({"sysbench": ["oltp_read_only", "run"]}, ("sysbench",)),
        ({"netperf": "-H ${host} -t TCP_CRR"}, ("netperf", "TCP_CRR")),
        ({"pgbench": {"clients": 1}, "fio": None}, ("pgbench",)),
        ({"command": "./bench", "read_as": "fio"}, ("read_as",)),
        ({"command": "./bench"}, ()),
    ],
)
def test_what_recorded_options_measure(options: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert quantity(options) == expected
