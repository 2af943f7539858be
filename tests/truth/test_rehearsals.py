"""Rehearsals of incidents: made for real, recognised by the command line, gone after the remedy, and undone.

`tests/truth/incidents/driver.py` runs all of them, three times.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from loadcell import parts
from loadcell.plan.load import load_plan
from loadcell.plan.ready import ready_plans
from truth.incidents.plan_rehearsals import REHEARSALS, SCRIPTS, printed

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
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in subprocess.run(["losetup", "--all"], capture_output=True, text=True).stdout


def test_an_unknown_incident_lists_the_others(tmp_path: Path) -> None:
    done = rehearsed("open-file", directory=tmp_path)
    assert done.returncode == 2
    assert "the incident is open-file: use one of" in done.stderr
    assert "open-files" in done.stderr


def rehearsed(*words: str, directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(SCRIPTS / "host.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=directory, timeout=100)
