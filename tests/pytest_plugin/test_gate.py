"""A session compared with a baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.store.find import keep_baseline
from suites import Suite

#: A test that spins for a time in a file, so that two states of a suite differ only there.
SUITE = """
    import time

    def test_spin():
        end = time.process_time() + float(open("seconds").read())
        while time.process_time() < end:
            pass

    def test_other():
        end = time.process_time() + 0.003
        while time.process_time() < end:
            pass
"""


def _seconds(suite: Suite, seconds: float) -> None:
    (suite.directory / "seconds").write_text(str(seconds))


@pytest.fixture
def with_baseline(suite: Suite) -> Suite:
    """A suite with a baseline of three runs."""
    suite.write(SUITE)
    _seconds(suite, 0.003)
    ended = suite.measure("--loadcell-runs", "3")
    assert ended.status == 0, ended.output
    assert "Run 3 of 3, in a new process." in ended.output
    runs = [run.path for run in suite.runs]
    assert len(runs) == 3
    assert len({run.run.executions[0].pid for run in suite.runs}) == 3
    keep_baseline("main", runs, suite.results)
    return suite


def test_a_slower_test_fails_the_session_with_the_table(with_baseline: Suite) -> None:
    suite = with_baseline
    _seconds(suite, 0.3)
    ended = suite.measure("--loadcell-compare", "main", "--loadcell-fail", "50%")
    assert ended.status == 1, ended.output
    assert "The session fails: tests are slower than main, by 50% or more." in ended.output
    assert "slower" in ended.output
    assert "test_spin" in ended.output
    assert len(suite.runs) == 6


def test_without_a_limit_the_comparison_is_only_printed(with_baseline: Suite) -> None:
    _seconds(with_baseline, 0.3)
    ended = with_baseline.measure("--loadcell-compare", "main", "--loadcell-runs", "1")
    assert ended.status == 0, ended.output
    assert "test_spin" in ended.output


def test_a_comparison_without_a_verdict_fails(suite: Suite) -> None:
    suite.write(SUITE)
    _seconds(suite, 0.003)
    assert suite.measure().status == 0
    run: Path = suite.last.path
    ended = suite.measure("--loadcell-compare", run.name, "--loadcell-fail", "5%", "--loadcell-runs", "1")
    assert ended.status == 1, ended.output
    assert "has no verdict" in ended.output


def test_a_further_run_that_measures_nothing_is_reported(suite: Suite) -> None:
    suite.write("""
        import os

        def test_one():
            assert "LOADCELL_PYTEST_RUN" not in os.environ, "in the second process"

        if "LOADCELL_PYTEST_RUN" in os.environ:
            raise ValueError("no second process")
    """)
    ended = suite.measure("--loadcell-runs", "2")
    assert ended.status == 1, ended.output
    assert "Run 2 measured nothing" in ended.output
    assert "no second process" in ended.output
