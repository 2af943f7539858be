"""Expectations whose verdict does not depend on the target, and warm-ups longer than what they prepare."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.plan.remarks import Remark, remarks
from loadcell.report.texts import Texts
from plan.fake_parts import PARTS, read
from plan.fake_parts import PLAN as HOT

PLAN = HOT.replace("{mix: {}}", "{mix: {tables: 4}}")


def remarks_on(tmp_path: Path, expectation: str, load: str = "{clients: 1}") -> list[Remark]:
    plan = PLAN.replace("{clients: 1}", load) + f"expect: ['{expectation}']\n"
    return remarks(read(tmp_path, plan), PARTS)


@pytest.mark.parametrize(
    ("expectation", "text"),
    [
        ("latency.p99 > 50h", "is never met: latency.p99 is at most 1 min 35 s, the longest time of warm-up"),
        (
            "latency.p99 < 50h",
            "is always met: latency.p99 is at most 1 min 35 s, the longest time of warm-up",
        ),
        ("latency.p99 != 50h", "is always met"),
        ("latency.p99 == 50h", "is never met"),
        ("error_rate < 200%", "is always met: error_rate is between 0% and 100%"),
        ("error_rate <= 100%", "is always met"),
        ("error_rate > 100%", "is never met"),
        ("errors >= 0", "is always met: errors is not negative. Check the comparison and the unit"),
        ("errors < 0", "is never met"),
        ("throughput >= 0/s", "is always met"),
        ("latency.p99 > 5ms", "slow system and missed by a fast one. If the opposite is meant, write "),
        ("throughput < 100/s", "the opposite is meant, write `throughput > 100/s`"),
    ],
)
def test_an_expectation_that_is_surely_a_slip_is_remarked_on(
    tmp_path: Path, expectation: str, text: str
) -> None:
    [remark] = remarks_on(tmp_path, expectation)
    assert remark.path == "expect"
    assert remark.text.startswith(f"`{expectation}` is ")
    assert text in remark.text
    assert any("\u4e00" <= character <= "\u9fff" for character in Texts("zh").message(remark.message))


@pytest.mark.parametrize(
    "expectation", ["recovery < 5s", "effect == none", "effect >= none", "read-write.pause < 1s"]
)
def test_an_expectation_of_a_fault_where_there_is_none_is_remarked_on(
    tmp_path: Path, expectation: str
) -> None:
    single, several = "workload: {mix: {tables: 4}}", "workloads: {read-write: {mix: {tables: 4}, share: 1}}"
    plan = PLAN if "." not in expectation else PLAN.replace(single, several)
    [remark] = remarks(read(tmp_path, plan + f"expect: [{expectation}]\n"), PARTS)
    assert remark.path == "expect"
    assert remark.text.startswith(f"`{expectation}` is never met: only faults have the metric ")


@pytest.mark.parametrize(
    "expectation",
    [
        *("latency.p99 < 20ms", "latency.max <= 90s", "errors == 0", "errors <= 0", "errors > 0"),
        *("error_rate < 100%", "error_rate == 0%", "fairness >= 90%", "throughput > 100/s"),
        *("target.cpu < 400%", "retries != 0"),
    ],
)
def test_an_expectation_that_a_target_can_meet_and_miss_is_not(tmp_path: Path, expectation: str) -> None:
    assert remarks_on(tmp_path, expectation) == []


def test_each_expectation_is_remarked_on_once(tmp_path: Path) -> None:
    plan = PLAN + "expect: [errors < 0, latency.p99 > 50h]\nfactors: {load.clients: [1, 2]}\n"
    first, second = remarks(read(tmp_path, plan), PARTS)
    assert (first.others, second.others) == (1, 1)
    assert ("errors" in first.text, "latency" in second.text) == (True, True)


def test_a_long_warmup_for_a_short_measurement_is_remarked_on(tmp_path: Path) -> None:
    [remark] = remarks_on(tmp_path, "errors == 0", "{clients: 1, warmup: 1h, duration: 1s}")
    assert (remark.path, remark.text) == (
        "load.warmup",
        "the warm-up takes 1h, the measurement only 1s. Check their units, or measure longer",
    )
    for load in ("warmup: 5s, duration: 1s", "warmup: 5min, duration: 1min", "warmup: 5min, requests: 10"):
        assert remarks_on(tmp_path, "errors == 0", f"{{clients: 1, {load}}}") == []


def test_lost_writes_without_the_monitor_that_counts_them_are_remarked_on(tmp_path: Path) -> None:
    [remark] = remarks_on(tmp_path, "lost_writes == 0")
    assert (remark.path, remark.message.code) == ("monitors", "expect.not-counted")
    assert "`monitors: [writes]`" in remark.text
