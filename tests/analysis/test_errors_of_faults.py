"""Errors of an interrupted server in trials with faults are explained by the fault, if it can cause them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fake_runs import Shape, write_run
from loadcell.faults.checkpoint import Checkpoint
from loadcell.faults.cpu_quota import CpuQuota
from loadcell.faults.hang import Hang
from loadcell.faults.http_5xx import HttpError
from loadcell.faults.kill import Kill
from loadcell.faults.reject import Reject
from loadcell.faults.reset import Reset
from loadcell.report.brief import of_run
from loadcell.report.render import markdown
from loadcell.store.read import read_run

ADVICE = "check that the server runs, and its host and port"


def fault(
    errors: dict[str, int] | None, action: type[Any] = Kill, *, began_s: float = 1.0, ended_s: float = 2.0
) -> dict[str, Any]:
    """The record of a fault, with the errors in its time; None if these are unknown."""
    judgement = {"unjudged": "no-timeline"} if errors is None else {"until_s": 9.0, "errors": errors}
    return {
        "action": action.name, "subject": "redis", "state": "undone",
        "applied": {"requested_s": began_s, "began_s": began_s, "ended_s": began_s},
        "undone": {"requested_s": ended_s, "began_s": ended_s, "ended_s": ended_s},
        "expected_errors": list(action.expected_errors), "judgement": judgement,
    }  # fmt: skip


def page(home: Path, code: str, lang: str, *faults: dict[str, Any]) -> str:
    path = write_run(home / "run", Shape(factors={}, repeats=1, monitors=False, intervals=False))
    [file] = path.glob("trials/*/trial.json")
    record = json.loads(file.read_text())
    record["totals"]["transactions"]["failed"] = 4
    error = {"operation": "transaction", "code": code, "count": 4, "message": "", "examples": []}
    record["errors"] = [{**error, "advice": ADVICE}]
    record["faults"] = list(faults)
    file.write_text(json.dumps(record))
    return " ".join(markdown.render(of_run(read_run(path), lang)).split())


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "Faults of the plan explain 4 failed transactions ("),
        ("zh", "计划注入的故障导致 4 个事务失败"),
        ("en", "`kill redis`: connection × 4."),
        ("zh", "`kill redis`：connection × 4。"),
    ],
)
def test_the_fault_is_named_instead_of_a_remedy(tmp_path: Path, lang: str, text: str) -> None:
    shown = page(tmp_path, "connection", lang, fault({"connection": 4}))
    assert text in shown
    assert ADVICE not in shown


@pytest.mark.parametrize("errors", [None, {"connection": 3}])
@pytest.mark.parametrize(("lang", "text"), [("en", "may have caused them"), ("zh", "可能全部或部分由")])
def test_errors_at_unknown_or_other_times_keep_their_remedy(
    tmp_path: Path, errors: dict[str, int] | None, lang: str, text: str
) -> None:
    shown = page(tmp_path, "connection", lang, fault(errors))
    assert text in shown
    assert ADVICE in shown


@pytest.mark.parametrize(
    ("code", "faults"),
    [
        ("connection", ()),
        ("connection", (fault({}),)),
        ("connection", (fault({"connection": 4}, Checkpoint),)),
        ("timeout", (fault({"timeout": 4}, CpuQuota),)),
        ("timeout", (fault({"timeout": 4}, Reject),)),
        ("23505", (fault({"23505": 4}),)),
        ("57014", (fault({"57014": 4}),)),
    ],
)
def test_other_errors_have_their_remedy_alone(
    tmp_path: Path, code: str, faults: tuple[dict[str, Any], ...]
) -> None:
    shown = page(tmp_path, code, "en", *faults)
    assert ADVICE in shown
    assert "may have caused" not in shown


def test_errors_after_a_fault_within_another_count_for_both(tmp_path: Path) -> None:
    hang = fault({}, Hang, ended_s=5.0)
    within = fault({"timeout": 4}, Checkpoint, began_s=3.0, ended_s=3.0)
    assert "`hang redis`: timeout × 4" in page(tmp_path, "timeout", "en", hang, within)
    later = fault({"timeout": 4}, Checkpoint, began_s=6.0, ended_s=6.0)
    assert ADVICE in page(tmp_path / "later", "timeout", "en", hang, later)


def test_errors_of_faults_that_are_judged_together_count_once(tmp_path: Path) -> None:
    """Two faults with one due time record the same two errors; the two others preceded them."""
    both = fault({"connection": 2}), fault({"connection": 2}, Reject)
    assert ADVICE in page(tmp_path, "connection", "en", *both)


def test_each_fault_has_its_own_codes_and_counts(tmp_path: Path) -> None:
    """Failures that no fault explains have a separate statement."""
    path = write_run(tmp_path / "run", Shape(factors={}, repeats=3, monitors=False, intervals=False))
    cases = (("reset", 80, Reset), ("http-502", 56, HttpError), ("timeout", 7, None))
    for file, (code, count, action) in zip(sorted(path.glob("trials/*/trial.json")), cases, strict=True):
        record = json.loads(file.read_text())
        record["totals"]["transactions"]["failed"] = count
        record["errors"] = [
            {
                "operation": "transaction",
                "code": code,
                "count": count,
                "message": "",
                "examples": [],
                "advice": ADVICE,
            }
        ]
        record["faults"] = [] if action is None else [fault({code: count}, action)]
        file.write_text(json.dumps(record))
    shown = " ".join(markdown.render(of_run(read_run(path), "en")).split())
    assert "explain 136 failed transactions" in shown
    assert "`reset redis`: reset × 80; `http-5xx redis`: http-502 × 56." in shown
    assert "7 transactions failed" in shown
    assert shown.count(ADVICE) == 1
