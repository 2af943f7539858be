"""Further runs of the same session, each in a new process, which has another memory layout and hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from loadcell.model.message import MessageError
from loadcell.pytest_plugin import messages

#: In a process that makes a further run, the file for the path of its run directory.
_VARIABLE = "LOADCELL_PYTEST_RUN"
#: Last characters of the output that an error shows.
_SHOWN = 2000


def is_follower() -> bool:
    """True in a process that makes a further run."""
    return _VARIABLE in os.environ


def command(config: pytest.Config) -> tuple[str, ...]:
    """The command of this session."""
    return ("pytest", *map(str, config.invocation_params.args))


def report_path(run: Path) -> None:
    """Pass the run directory on to the first process."""
    Path(os.environ[_VARIABLE]).write_text(str(run), encoding="utf-8")


def another(config: pytest.Config, number: int) -> Path:
    """Measure again in a new process, and return the run directory. Raises MessageError if it made none."""
    with tempfile.TemporaryDirectory(prefix="loadcell-") as directory:
        answer = Path(directory) / "run"
        words = [sys.executable, "-m", *command(config)]
        if config.pluginmanager.hasplugin("_cov"):
            words.append("--no-cov")
        finished = subprocess.run(
            words,
            cwd=config.invocation_params.dir,
            env={**os.environ, _VARIABLE: str(answer)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if not answer.is_file():
            output = finished.stdout[-_SHOWN:].strip()
            raise MessageError(
                messages.RUN_FAILED(number=number, status=str(finished.returncode), output=output)
            )
        return Path(answer.read_text(encoding="utf-8"))
