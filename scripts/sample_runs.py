"""Runs that sample reports and pictures are made of: measured once on this machine, then kept."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "docs" / "_build" / "runs"
LOADCELL = [str(Path(sys.executable).parent / "loadcell")]
TUTORIAL = ROOT / "docs" / "tutorial" / "first-report.md"


def quickstart() -> Path:
    """The built-in plan of five numbers of clients."""
    return _run("quickstart")


def commit() -> Path:
    """The plan of the first tutorial, with longer trials."""
    plan = RUNS / "commit.yaml"
    match = re.search(r"```yaml\n# commit\.yaml\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    if match is None:
        raise SystemExit(f"{TUTORIAL} has no commit.yaml")
    RUNS.mkdir(parents=True, exist_ok=True)
    plan.write_text(match[1], encoding="utf-8")
    return _run(plan.name, "--set", "load.duration=3s", "--no-report")


def _run(plan: str, *options: str) -> Path:
    """Directory of the newest run of a plan below `RUNS`; it is run if there is none."""
    results = RUNS / "results" / plan.removesuffix(".yaml")
    if not list(results.glob("*/run.json")):
        RUNS.mkdir(parents=True, exist_ok=True)
        subprocess.run([*LOADCELL, "run", plan, *options], cwd=RUNS, check=True)
    return max(results.glob("*/run.json")).parent
