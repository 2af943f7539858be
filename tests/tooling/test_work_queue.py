"""Tests in several pytest processes: each file is run once, whole, by one of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "pytest-side-by-side"
FILE = """
import os, pathlib, time
import pytest

LOG = pathlib.Path(__file__).parents[1] / "log"

def note(text):
    with LOG.open("a") as log:
        log.write(f"{pathlib.Path(__file__).stem} {text} {os.getpid()}\\n")

@pytest.fixture(scope="module")
def server():
    note("up")
    yield
    note("down")

@pytest.mark.parametrize("number", [1, 2, 3])
def test_it(server, number):
    time.sleep(0.05)
    note(number)
    assert number < 3 or "FAILS" not in globals()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text("from work_queue import pytest_runtestloop\n")
    for number in range(8):
        folder = tmp_path / f"part{number % 3}"
        folder.mkdir(exist_ok=True)
        (folder / f"test_{number}.py").write_text(FILE)
    return tmp_path


def side_by_side(home: Path, number: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, str(number), "-q", "."], cwd=home, capture_output=True, text=True,
        check=False, timeout=120, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip


def test_each_file_is_run_once_and_whole_by_one_process(home: Path) -> None:
    done = side_by_side(home, 2)
    assert done.returncode == 0, done.stdout
    notes = [line.split() for line in (home / "log").read_text().splitlines()]
    for file in {name for name, *_ in notes}:
        assert [text for name, text, _ in notes if name == file] == ["up", "1", "2", "3", "down"]
        assert len({pid for name, _, pid in notes if name == file}) == 1
    assert len({name for name, *_ in notes}) == 8
    assert len({pid for *_, pid in notes}) > 1
    assert Counter(done.stdout.split())["passed"] == 2


def test_a_failure_in_one_process_is_that_of_all(home: Path) -> None:
    (home / "part0" / "test_0.py").write_text(f"FAILS = True\n{FILE}")
    done = side_by_side(home, 2)
    assert done.returncode == 1
    assert "FAILED part0/test_0.py::test_it[3]" in done.stdout
    assert len((home / "log").read_text().splitlines()) == 8 * 5
