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
    return _run("quickstart", "quickstart")


def commit() -> Path:
    """The plan of the first tutorial, with longer trials."""
    plan = RUNS / "commit.yaml"
    match = re.search(r"```yaml\n# commit\.yaml\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    if match is None:
        raise SystemExit(f"{TUTORIAL} has no commit.yaml")
    RUNS.mkdir(parents=True, exist_ok=True)
    plan.write_text(match[1], encoding="utf-8")
    return _run("commit", str(plan), "--set", "load.duration=3s")


def _run(name: str, *arguments: str) -> Path:
    directory = RUNS / name
    if not (directory / "run.json").exists():
        RUNS.mkdir(parents=True, exist_ok=True)
        command = [*LOADCELL, "run", *arguments, "--no-report", "--out", str(directory)]
        subprocess.run(command, cwd=RUNS, check=True)
    return directory
