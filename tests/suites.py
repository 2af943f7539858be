"""Suites of tests that a pytest process runs with the plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import dedent

from loadcell.store.find import runs_under
from loadcell.store.read import StoredRun, read_run

#: Short measurements, which are enough to see that values are there.
QUICK = ("--loadcell-repeats", "6", "--benchmark-max-time", "0.02", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Ended:
    """A pytest process that has ended: its exit status, and all output."""

    status: int
    output: str


def plugin_option() -> tuple[str, ...]:
    """The option that loads the plugin where the installation does not."""
    names = {entry.name for entry in entry_points(group="pytest11")}
    return () if "loadcell" in names else ("-p", "loadcell.pytest_plugin")


class Suite:
    """A directory with tests."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.results = directory / "results"

    def write(self, text: str, name: str = "test_suite.py") -> None:
        """Write a file of the suite."""
        (self.directory / name).write_text(dedent(text), encoding="utf-8")

    def run(self, *options: str, quick: bool = True, language: str = "en", **environment: str) -> Ended:
        """Run pytest in the directory."""
        words = [sys.executable, "-m", "pytest", *plugin_option(), *(QUICK if quick else ()), *options]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        ended = subprocess.run(
            words,
            cwd=self.directory,
            env={**inherited, "LOADCELL_LANG": language, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        return Ended(ended.returncode, ended.stdout)

    def measure(self, *options: str) -> Ended:
        """Measure the suite without memory and report the output where it fails."""
        return self.run("--loadcell", "--loadcell-no-memory", *options)

    @property
    def runs(self) -> list[StoredRun]:
        """All runs of the suite, the first first."""
        return [read_run(path) for path in runs_under(self.results)]

    @property
    def last(self) -> StoredRun:
        """The run that began last."""
        return self.runs[-1]
