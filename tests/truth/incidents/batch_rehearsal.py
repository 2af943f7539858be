"""The plan `incident-batch` with one repeat: a batch that does not fit into memory, and smaller ones."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path
from typing import Final

from .rehearsal import Outcome, Rehearsal

_BATCH: Final = "workload.tool.env.BATCH_ROWS"
_INCIDENT: Final = "oversized-batch"
_LIMIT_S: Final = 600


def _examined(rows: list[int], directory: Path) -> tuple[bool, float]:
    """True if the doctor names the batch in a run with these sizes, and how long after the end of the run."""
    levels = json.dumps([str(value) for value in rows])
    words = [
        "loadcell", "run", "incident-batch", "--set", f"factors.{_BATCH}={levels}", "--set", "repeats=1",
        "--set", 'factors.workload.tool.env.RELEASE=["yes"]', "--out", str(directory), "--quiet",
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    assert done.returncode in (0, 3), done.stderr  # 3: failed trials, as intended
    end = time.monotonic()
    examined = subprocess.run(
        ["loadcell", "doctor", str(directory), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    subjects = json.loads(examined.stdout)["subjects"]
    judged = [item for subject in subjects for item in (*subject["diagnoses"], *subject["healthy"])]
    assert any(item["incident"] == _INCIDENT for item in judged), "the batch was not examined"
    is_named = any(item["incident"] == _INCIDENT for subject in subjects for item in subject["diagnoses"])
    return is_named, time.monotonic() - end


def _batch(chance: random.Random, directory: Path) -> Outcome:
    total = chance.randint(90, 110) * 500
    is_seen, delay_s = _examined([total, total // 2, total // 10], directory / "total")
    is_named, _ = _examined([total // 10, total // 20, total // 40], directory / "tenth")
    return Outcome(f"{total} rows", is_seen, not is_named, delay_s)


REHEARSALS: Final = (
    Rehearsal(_INCIDENT, "the plan `incident-batch`, one repeat", "a tenth of the batch", _batch),
)
