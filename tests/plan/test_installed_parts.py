"""The registry of parts, `loadcell.parts`: each is imported when a plan names it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loadcell.parts import installed

KINDS = ("targets", "workloads", "monitors")
#: Prints the modules of loadcell that a command has loaded; a lazy module without a file is none.
LOADED = """
import atexit, sys
from loadcell.cli import main
loaded = lambda: [name for name, module in sys.modules.items() if "__file__" in vars(module)]
atexit.register(lambda: print(*loaded(), sep="\\n", file=sys.stderr))
main()
"""
PLAN = """\
target: {postgres: {server: local}}
workload: {sysbench: {}}
load: {clients: 1}
"""


def test_check_loads_the_parts_of_its_plan_and_no_others() -> None:
    command = [sys.executable, "-c", LOADED, "check", "quickstart"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    loaded = set(finished.stderr.split())
    used = {"systems.postgres.target", "systems.postgres.monitor", "workloads.sysbench"}
    used |= {"monitors.host", "monitors.target"}
    parts = {part.__module__ for kind in KINDS for part in getattr(installed(), kind).values()}
    assert loaded & parts == {f"loadcell.{module}" for module in used}


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_is_the_same_by_its_name_and_in_the_list(kind: str) -> None:
    parts = getattr(installed(), kind)
    assert all(parts[name] is part and part.name == name for name, part in parts.items())
    assert not [name for name in ("messages", "composite", "../host", "") if name in parts]


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_has_the_name_of_its_module(kind: str) -> None:
    """But for `store`, whose package is named by what it measures: stores in loadcell's own process."""
    for name in {*getattr(installed(), kind)} - {"store"}:
        table = getattr(installed.__wrapped__(), kind)
        assert table[name].name == name
        assert "_all" not in vars(table), f"{name}: all {kind} were imported"


def test_an_expectation_may_name_a_metric_of_a_part_that_the_plan_does_not_use(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN + "expect: [tpmC > 5]\n")
    command = [sys.executable, "-m", "loadcell", "check", str(plan)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "tpmC > 5" in finished.stdout
