"""Rehearsals of the plans `incident-jvm` and `incident-host`, by their scripts and the command line."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

from .rehearsal import Outcome, Rehearsal

SCRIPTS: Final = Path(__file__).parents[3] / "plans" / "incident"
_LIMIT_S: Final = 600
#: A script undoes what it made within this time.
_UNDOING_S: Final = 30


def printed(script: str, *words: str, directory: Path | None = None) -> Any:
    """The JSON that a script prints."""
    command = [sys.executable, "-B", str(SCRIPTS / script), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_LIMIT_S, cwd=directory, check=False
    )
    assert done.returncode == 0, f"{script} {' '.join(words)}: {done.stderr}"
    return json.loads(done.stdout)


def _run(script: str, incident: str, chance: random.Random, directory: Path) -> Outcome:
    words = ("--seed", str(chance.random()), "--limit", str(_LIMIT_S - _UNDOING_S), "--json")
    row = printed(script, incident, *words, directory=directory)
    before, after = row["results"]
    return Outcome(
        row["size"],
        row["is_recognised"],
        row["is_gone"],
        before["delay_s"],
        before["tries"] + after["tries"] - 2,
        after["reason"],
    )


REHEARSALS: Final = tuple(
    Rehearsal(row["incident"], row["made"], row["remedy"], partial(_run, script, row["incident"]))
    for script in ("jvm.py", "host.py")
    for row in printed(script, "--list")
)
