"""Errors of an interrupted server in trials with faults are explained by the fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fake_runs import Shape, write_run
from loadcell.report.brief import of_run
from loadcell.report.render import markdown
from loadcell.store.read import read_run

FAULT = {
    "action": "kill", "subject": "redis", "state": "undone",
    "applied": {"requested_s": 1.0, "began_s": 1.0, "ended_s": 1.1},
    "undone": {"requested_s": 2.0, "began_s": 2.0, "ended_s": 2.1},
}  # fmt: skip
ADVICE = "check that the server runs, and its host and port"


def page(home: Path, code: str, lang: str, *, fault: bool) -> str:
    path = write_run(home / "run", Shape(factors={}, repeats=1, monitors=False, intervals=False))
    [file] = path.glob("trials/*/trial.json")
    record = json.loads(file.read_text())
    record["totals"]["transactions"]["failed"] = 4
    error = {"operation": "transaction", "code": code, "count": 4, "message": "", "examples": []}
    record["errors"] = [{**error, "advice": ADVICE}]
    record["faults"] = [FAULT] if fault else []
    file.write_text(json.dumps(record))
    return " ".join(markdown.render(of_run(read_run(path), lang)).split())


@pytest.mark.parametrize(
    ("lang", "text"),
    [("en", "expected during the plan's fault `kill redis`"), ("zh", "故障 `kill redis` 的预期结果")],
)
def test_the_fault_is_named_instead_of_a_remedy(tmp_path: Path, lang: str, text: str) -> None:
    assert text in page(tmp_path, "connection", lang, fault=True)
    assert ADVICE not in page(tmp_path / "more", "connection", "en", fault=True)


@pytest.mark.parametrize(("code", "fault"), [("connection", False), ("23505", True)])
def test_other_errors_keep_their_remedy(tmp_path: Path, code: str, fault: bool) -> None:
    assert ADVICE in page(tmp_path, code, "en", fault=fault)
