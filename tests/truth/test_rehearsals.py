"""Rehearsals of incidents: made for real, recognised by the command line, gone after the remedy, and undone.

`tests/truth/incidents/driver.py` runs all of them, three times.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from loadcell import parts
from loadcell.plan.load import load_plan
from loadcell.plan.ready import ready_plans
from truth.incidents.driver import made, table
from truth.incidents.plan_rehearsals import REHEARSALS, SCRIPTS, printed
from truth.incidents.rehearsal import Outcome, Rehearsal

needs_root = pytest.mark.skipif(os.getuid() != 0 and "CI" not in os.environ, reason="needs root")
#: Those that take some seconds.
QUICK = ("open-files", "port-exhaustion", "read-only-remount")


@needs_root
@pytest.mark.parametrize("incident", QUICK)
def test_an_incident_is_recognised_and_gone_after_its_remedy(incident: str, tmp_path: Path) -> None:
    [rehearsal] = [item for item in REHEARSALS if item.incident == incident]
    outcome = rehearsal.run(random.Random(incident), tmp_path)
    assert (outcome.is_seen, outcome.is_gone) == (True, True), outcome.size
    assert [file.name for file in tmp_path.iterdir()] == ["doctor.json"]


@pytest.mark.parametrize("topic", ["jvm", "host"])
def test_the_levels_of_a_plan_are_the_rehearsals_of_its_script(topic: str) -> None:
    plan = load_plan(ready_plans()[f"incident-{topic}"], parts.installed())
    names = {row["incident"] for row in printed(f"{topic}.py", "--list")}
    assert {level.label for level in plan.factors[0].levels} == names


@needs_root
def test_the_time_limit_undoes_what_was_made(tmp_path: Path) -> None:
    done = rehearsed("full-file-system", "--limit", "1.5", directory=tmp_path)
    assert done.returncode == 1
    assert "full-file-system cannot be made here: it took too long" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"doctor.json"}
    assert str(tmp_path) not in subprocess.run(["losetup", "--all"], capture_output=True, text=True).stdout


def test_an_incident_that_is_not_judged_again_is_not_gone(tmp_path: Path) -> None:
    """A log without errors has no share of them that could rise."""
    lines = {
        "before": "".join(log_line(number, is_error=number >= 500) for number in range(1000)),
        "after": "".join(log_line(number, is_error=False) for number in range(1000)),
    }
    for name, text in lines.items():
        (tmp_path / f"{name}.log").write_text(text)
    script = tmp_path / "script.py"
    script.write_text(_LOGS.format(home=str(SCRIPTS)))
    command = [sys.executable, "-B", str(script), "error-growth"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, cwd=tmp_path, timeout=100)
    row = json.loads(done.stdout)
    assert (row["is_recognised"], row["is_gone"]) == (True, False)
    assert [result["is_examined"] for result in row["results"]] == [True, False]
    assert "error" in row["results"][1]["reason"]
    printed_lines = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=100)
    assert {"gone: 0", "not examined: 1", "others: 1"} <= set(printed_lines.stdout.splitlines())


def log_line(number: int, *, is_error: bool) -> str:
    level, text = ("ERROR", "cannot read the data") if is_error else ("INFO", "answered a request")
    return f"2026-03-01T10:{number // 60:02}:{number % 60:02}.000Z [main] {level} {text}\n"


_LOGS = """
import sys
from pathlib import Path
sys.path.insert(0, {home!r})
from rehearsal import Examination, Rehearsal, main
def steps(chance, directory):
    for name in ("before.log", "after.log"):
        yield Examination(("--log", str(Path(name).resolve())), "500 errors")
main({{"error-growth": Rehearsal("errors", "no errors", steps)}})
"""


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome("1 MiB", True, True, 3.0), (True, True)),
        (Outcome("1 MiB", True, True, 61.0), (False, True)),
        (Outcome("1 MiB", True, False, 3.0, 2, "too few values"), (True, False)),
        (OSError("no JDK"), (False, False)),
    ],
)
def test_a_rehearsal_has_a_result_in_any_case(
    outcome: Outcome | OSError, expected: tuple[bool, bool], tmp_path: Path
) -> None:
    def run(chance: random.Random, directory: Path) -> Outcome:
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    row = made(Rehearsal("heap-dumps", "a flag", "without it", run), random.Random(1), tmp_path)
    assert (row["seen"], row["gone"]) == expected
    assert row.get("failed", "") == (str(outcome) if isinstance(outcome, OSError) else "")


def test_the_table_counts_failed_rehearsals() -> None:
    base = {"kind": "real", "incident": "heap-dumps"}
    rows = [
        {**base, "number": 0, "seen": True, "gone": True, "delay_s": 2.0, "repeated": 1, "not_judged": ""},
        {**base, "number": 1, "seen": True, "gone": False, "delay_s": 4.5, "not_judged": "too few"},
        {**base, "number": 2, "seen": False, "gone": False, "failed": "no JDK"},
    ]
    [line] = [line for line in table(rows).splitlines() if line.startswith("| `heap-dumps`")]
    cells = [cell.strip() for cell in line.split("|")]
    assert cells[3:7] == ["2 of 3", "4.5 s", "1 of 3", "1, 1, 1"]


def test_an_unknown_incident_lists_the_others(tmp_path: Path) -> None:
    done = rehearsed("open-file", directory=tmp_path)
    assert done.returncode == 2
    assert "the incident is open-file: use one of" in done.stderr
    assert "open-files" in done.stderr


def rehearsed(*words: str, directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(SCRIPTS / "host.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=directory, timeout=100)
