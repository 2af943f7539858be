"""Incidents of GlusterFS, made on a real volume by the script of the plan incident-gluster."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from .rehearsal import Outcome, Rehearsal

SCRIPT = Path(__file__).parents[3] / "plans" / "incident" / "gluster.py"
#: Lines of evidence that the doctor states.
_MOST_DAMAGED = 8
_LIMIT_S = 300


def metrics(incident: str, damaged: int, directory: Path) -> dict[str, float]:
    """Metrics of the script, as in the plan."""
    done = subprocess.run(
        (sys.executable, "-B", str(SCRIPT), str(_LIMIT_S)),
        env={**os.environ, "INCIDENT": incident, "DAMAGED": str(damaged)},
        cwd=directory, capture_output=True, text=True, timeout=_LIMIT_S + 30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = (line.split(": ") for line in done.stdout.splitlines())
    return {name: float(value) for name, value in rows}


def _rehearse(incident: str) -> Callable[[random.Random, Path], Outcome]:
    def run(chance: random.Random, directory: Path) -> Outcome:
        damaged = chance.randint(1, _MOST_DAMAGED)
        seen = metrics(incident, damaged, directory)
        is_seen = seen["recognised"] == 1 and seen["others"] == 0
        reason = "the doctor did not examine it" if seen["not examined"] else ""
        is_gone = seen["gone"] == seen["intact"] == 1
        return Outcome(f"{damaged} files", is_seen, is_gone, seen["delay"], int(seen["repeated"]), reason)

    return run


REHEARSALS = tuple(
    Rehearsal(f"gluster-{name}", made, remedy, _rehearse(name))
    for name, made, remedy in (
        ("doubled-names", "bricks with old files, added again", "emptied before"),
        ("lost-modes", "owner and mode lost on a pair of bricks", "`chown` and `chmod` on the mount"),
        ("lost-names", "files moved to other bricks by hand", "written again through the mount"),
        ("split-brain", "copies changed while the other brick is down", "`source-brick`"),
        (
            "negative-counter",
            "statistics cleared while files are open",
            "the process of the brick started again",
        ),
    )
)
