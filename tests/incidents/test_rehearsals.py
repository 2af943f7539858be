"""Plans that create an incident: it is recognised where it was created, and nowhere else."""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from execution.live import loadcell
from loadcell.systems.gluster.storage import unmet
from truth.incidents.gluster_rehearsals import metrics

FULL_GC = "full-gc-spiral"
BATCH_ROWS = "workload.tool.env.BATCH_ROWS"


def rehearsed(home: Path, plan: str, factor: str, *settings: str) -> dict[str, set[str]]:
    """Critical incidents of a run of a plan by level of a factor; empty for a level without any."""
    words = [word for setting in settings for word in ("--set", setting)]
    done = loadcell(home, "run", plan, *words, "--out", "run", "--no-report")
    assert done.returncode in (0, 3), done.stderr
    level_of = {}
    for path in (home / "run" / "trials").glob("*/trial.json"):
        record = json.loads(path.read_text())
        level_of[record["name"]] = str(record["levels"][factor])
    incidents: dict[str, set[str]] = defaultdict(set)
    examined = json.loads(loadcell(home, "doctor", "run", "--json").stdout)
    for subject in examined["subjects"]:
        critical = {item["incident"] for item in subject["diagnoses"] if item["level"] == "critical"}
        incidents[level_of.get(subject["source"], "")] |= critical
    return incidents


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_a_spiral_of_full_gcs_is_recognised_and_removed(tmp_path: Path) -> None:
    incidents = rehearsed(tmp_path, "incident-full-gc", "retention", "repeats=1", "monitors=[]")
    assert FULL_GC in incidents["leak"]
    assert incidents["leak-larger-heap"] == incidents["last-60000"] == set()


@pytest.mark.skipif(
    not all(map(shutil.which, ("javac", "mvn", "mariadbd"))), reason="needs a JDK, Maven and MariaDB"
)
def test_a_batch_that_does_not_fit_is_recognised_and_removed(tmp_path: Path) -> None:
    incidents = rehearsed(
        tmp_path, "incident-batch", BATCH_ROWS, f'factors={{{BATCH_ROWS}: ["50000", "5000"]}}', "monitors=[]"
    )
    assert FULL_GC in incidents["50000"]
    assert incidents["5000"] == set()
    assert incidents[""] == {"oversized-batch"}


@pytest.mark.skipif(unmet() is not None and "CI" not in os.environ, reason="needs root, GlusterFS and FUSE")
@pytest.mark.parametrize(("incident", "share"), [("none", 0), ("lost-names", 1), ("split-brain", 1)])
def test_a_damaged_volume_is_recognised_and_repaired(incident: str, share: float, tmp_path: Path) -> None:
    result = metrics(incident, 2, tmp_path)
    assert (result["recognised"], result["others"], result["gone"], result["intact"]) == (share, 0, 1, 1)
    assert not (tmp_path / "volume").exists()


def test_a_rehearsal_without_a_jdk_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    words = ("--set", "repeats=1", "--set", "monitors=[]", "--out", "run", "--no-report")
    assert loadcell(tmp_path, "run", "incident-full-gc", *words).returncode == 3
    reasons = {
        json.loads(path.read_text())["reason"] for path in (tmp_path / "run" / "trials").glob("*/trial.json")
    }
    assert reasons == {
        "sh ended with status 127: javac is missing: set JAVA_HOME to a JDK of version 11 or later, or "
        "install one (Debian: default-jdk-headless)"
    }
