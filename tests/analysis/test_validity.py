"""Doubts about a trial: recorded, or visible in its values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from loadcell.analysis.finding import Subject
from loadcell.analysis.trials import Check, Trial
from loadcell.analysis.validity import doubts, findings
from loadcell.model.latency import contradiction
from loadcell.model.message import Message

#: Response times of Berkeley DB JE behind HTTP, as Apache Bench printed them: operation and threads, then
#: least, p90, p99, greatest, mean and median in ms.
BERKELEYDB = [
    ("set 5", 6, 122, 316, 1461, 85, 73), ("set 10", 6, 128, 352, 1708, 87, 75), ("set 20", 6, 125, 365,
    3354, 88, 75),
    ("get 5", 9, 32, 29, 1030, 24, 24), ("get 10", 8, 26, 29, 1038, 23, 24), ("get 20", 8, 27, 29, 1218, 22,
    21),
    ("mget 5", 8, 28, 34, 4529, 34, 26), ("mget 10", 6, 28, 31, 4804, 32, 25), ("mget 20", 6, 27, 33, 1073,
    25, 23),
]  # fmt: skip


def trial(**more: Any) -> Trial:
    return Trial(1, "001-a-r1", "a", 1, 1, "ok", **more)


def test_a_p90_above_p99_cannot_be() -> None:
    wrong = {}
    for name, least, p90, p99, most, mean, median in BERKELEYDB:
        figures = {
            "min_ms": least,
            "p50_ms": median,
            "p90_ms": p90,
            "p99_ms": p99,
            "max_ms": most,
            "mean_ms": mean,
        }
        if result := contradiction(figures):
            wrong[name] = result
    assert wrong == {"get 5": {"p90_ms": 32, "p99_ms": 29}}


@pytest.mark.parametrize(
    ("figures", "impossible"),
    [
        ({}, {}),
        ({"p50_ms": 5.0}, {}),
        ({"min_ms": 5.0, "p50_ms": 5.0, "max_ms": 5.0, "mean_ms": 5.0}, {}),
        ({"p50_ms": None, "p99_ms": 3.0}, {}),
        ({"p50_ms": 4.0, "p95_ms": None, "p99_ms": 3.0}, {"p50_ms": 4.0, "p99_ms": 3.0}),
        ({"min_ms": 5.0, "mean_ms": 4.0}, {"mean_ms": 4.0, "min_ms": 5.0}),
        ({"max_ms": 5.0, "mean_ms": 6.0}, {"mean_ms": 6.0, "max_ms": 5.0}),
    ],
)
def test_what_can_be_and_what_cannot(figures: dict[str, float | None], impossible: dict[str, float]) -> None:
    assert contradiction(figures) == impossible


def test_a_record_of_another_tool_is_doubted_by_its_values_alone() -> None:
    result = doubts(trial(response={"p90_ms": 32.0, "p99_ms": 29.0}))
    assert [(doubt.name, doubt.broken) for doubt in result] == [("percentiles", True)]


def test_each_check_is_reported_once_with_what_to_do_and_how_bad_it_is() -> None:
    checks = (
        Check("swap", "noticed", {}), Check("littles-law", "broken", {}), Check("steal", "ok", {}),
        Check("own-check", "noticed", {}), Check("throttled", "unknown", {}),
    )  # fmt: skip
    by_name = {
        finding.message.code + "/" + finding.severity: finding for finding in findings([trial(checks=checks)])
    }
    assert len(by_name) == 3
    assert "found.check.unknown/caution" in by_name
    swap, law = list(findings([trial(checks=checks)]))[:2]
    assert (swap.severity, law.severity) == ("caution", "problem")
    assert swap.document()["params"]["advice"] == {"key": "advice.swap", "params": {}}
    assert swap.evidence == ("001-a-r1",)


def test_processes_that_had_no_part_are_named_by_what_they_used_at_most() -> None:
    def of(**cores: float) -> Check:
        named = {name.replace("_", " (") + ")": used for name, used in cores.items()}
        return Check("other-processes", "noticed", {"cores": named, "limit": 0.1})

    checks = [of(rustc_12=0.9, cron_1=0.02), of(rustc_13=0.4, gzip_14=1.0)]
    findings_of_trial = list(findings([replace(trial(), checks=(check,)) for check in checks]))
    [item] = [item.message.arguments["check"] for item in findings_of_trial if item.subject is Subject.CHECKS]
    assert item == Message("check-name.other-processes.named", {"names": ("gzip", "rustc")})
