"""Probes as data, compared with the options of the workload, the metrics and what baselines hold."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from loadcell.model import metrics
from loadcell.model.probes import LOWER_IS_BETTER, MEMORY, PROBES, SCORES, SYNC_SCORE, quantity, section_of
from loadcell.workloads import probe_options
from loadcell.workloads.probe import ProbeOptions


def test_they_are_the_sections_and_tests_of_the_workload() -> None:
    assert PROBES.keys() == ProbeOptions.model_fields.keys()
    for name, options in (
        ("cpu", probe_options.CpuOptions), ("memory", probe_options.MemoryOptions),
        ("latency", probe_options.LatencyOptions), ("disk", probe_options.DiskOptions),
        ("network", probe_options.NetworkOptions),
    ):  # fmt: skip
        probe, fields = PROBES[name], options.model_fields
        tests = get_args(fields[probe.option].annotation) if probe.option in fields else ()
        assert set(probe.test_names) == set(tests)
        for test in probe.tests:
            assert {test.counted_size} - {None} <= fields.keys()
            assert test.sized or test.working_set in fields


def test_scores_are_metrics_of_the_same_direction() -> None:
    declared = {key: metrics.declared()[key] for key in SCORES if key != SYNC_SCORE}
    assert {key for key, metric in declared.items() if metric.better == "lower"} == LOWER_IS_BETTER - {
        SYNC_SCORE
    }


def test_an_unknown_test_is_like_most() -> None:
    test = MEMORY.test("future")
    assert (test.name, test.scores, test.working_set, test.counted_size) == (
        "future", ("mib_per_s",), "size", "size",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"cpu": {"max_prime": 10}, "memory": None}, ("cpu", "")),
        ({"memory": {"test": "sysbench", "size": "1MiB", "block": "1KiB"}}, ("memory", "sysbench")),
        ({"memory": {"test": "copy", "size": "1MiB"}}, ("memory", "copy", "1MiB")),
        ({"disk": {"access": "read", "block": "1MiB"}}, ("disk", "read")),
        ({"network": {"test": "stream", "block": "1KiB"}}, ("network", "stream", "1KiB")),
        ({"network": {"test": "crr", "block": "1KiB"}}, ("network", "crr")),
        ({"cpu": {}, "latency": {}}, ()),
        ({"cpu": 5}, ()),
    ],
)
def test_what_recorded_options_measure(options: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert quantity(options) == expected
    assert (section_of(options) is None) == (expected == ())
