"""Commands called from tests: as a separate process, within this one, or for the plan they stand for."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click import testing

from in_time import in_time
from loadcell.cli import main
from loadcell.plan.nodes import plain
from loadcell.plan.source import compose

LOADCELL = str(Path(sys.executable).parent / "loadcell")


class CliRunner(testing.CliRunner):
    """Calls commands within this process, and ends those that hang."""

    def invoke(self, *words: Any, **how: Any) -> testing.Result:
        with in_time():
            return super().invoke(*words, **how)


def command(
    home: Path, *words: str, before: Callable[[], None] | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command as a separate process, which calls `before` first."""
    return subprocess.run(
        [LOADCELL, *words], cwd=home, capture_output=True, text=True, check=False, timeout=120,
        stdin=subprocess.DEVNULL, env={**os.environ, **env}, preexec_fn=before,
    )  # fmt: skip


def called(home: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The same within this process: of a short run, most is the start of Python and what is imported."""
    with contextlib.chdir(home):
        done = CliRunner(env={"COLUMNS": "80", **env}).invoke(main, words, prog_name="loadcell")
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def planned(*words: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """The plan that a command line stands for."""
    result = CliRunner().invoke(main, [*words, "--save-plan", "-"], env=env)
    assert result.exit_code == 0, result.output
    document = plain(compose(result.stdout, "plan", []))  # type: ignore[arg-type]
    assert isinstance(document, dict)
    return document


def refused(*words: str) -> str:
    """Message about a wrong command line, on one line."""
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, result.output
    return " ".join(result.output.split())
