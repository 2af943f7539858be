"""Plans that `loadcell init` drafts, checked by `loadcell check`, and runs of them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lines import called, command
from loadcell.model.trial_record import TrialRecord
from loadcell.plan.nodes import plain
from loadcell.plan.source import compose
from loadcell.store.read import read_run

#: Stands for a secret that nobody has set.
ANY_SECRET = "any-secret"


def init(home: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Call `loadcell init` in a directory."""
    return called(home, "init", *words, **env)


def drafted(home: Path, *words: str, variables: tuple[str, ...] = (), **env: str) -> dict[str, Any]:
    """The plan that `loadcell init` prints, after `loadcell check` has accepted it."""
    result = init(home, *words, **env)
    assert result.returncode == 0, result.stderr
    path = home / "drafted.yaml"
    path.write_text(result.stdout, encoding="utf-8")
    checked = called(home, "check", str(path), **dict.fromkeys(variables, ANY_SECRET), **env)
    assert checked.returncode == 0, checked.stderr
    return document(result.stdout)


def document(plan: str) -> dict[str, Any]:
    """A plan as plain values."""
    read = plain(compose(plan, "plan", []))  # type: ignore[arg-type]
    assert isinstance(read, dict)
    return read


def refused(home: Path, *words: str, **env: str) -> str:
    """Message about a source that no plan can be drafted from, on one line."""
    result = init(home, *words, **env)
    assert (result.returncode, result.stdout) == (2, ""), result.stdout
    assert "Traceback" not in result.stderr
    return " ".join(result.stderr.split())


def run(home: Path, *sets: str, plan: str = "drafted.yaml", **env: str) -> tuple[TrialRecord, ...]:
    """Trials of a short run of the plan that was drafted last."""
    short = {"load.duration": "1s", "load.warmup": "0s", "repeats": "1", "factors": "{}"}
    changes: Mapping[str, str] = {**short, **dict(item.split("=", 1) for item in sets)}
    words = [word for path, value in changes.items() for word in ("--set", f"{path}={value}")]
    result = command(home, "run", plan, *words, "--out", "result", "-q", "--no-report", **env)
    assert result.returncode in (0, 3), result.stderr + result.stdout
    return read_run(home / "result").trials
