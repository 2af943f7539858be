"""Sessions with other plugins: coverage, and tests that are coroutines."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.analysis.compare.metrics import METRICS
from loadcell.analysis.history import Options
from loadcell.model.trial_record import Status
from loadcell.report import history
from suites import Suite


def test_coverage_is_that_of_a_pass_that_is_not_timed(suite: Suite) -> None:
    pytest.importorskip("pytest_cov")
    suite.write("def value(x):\n    if x:\n        return 1\n    return 2\n", "covered.py")
    suite.write("""
        import json, sys
        from covered import value

        TRACED = []

        def test_value():
            assert value(1) == 1
            monitored = sys.version_info >= (3, 12) and sys.monitoring.get_tool(1) is not None
            TRACED.append(sys.gettrace() is not None or monitored)
            json.dump(TRACED, open("traced.json", "w"))
    """)
    suite.write("[pytest]\npythonpath = .\n", "pytest.ini")
    ended = suite.measure("--cov=covered", "--cov-report=", "--loadcell-name", "covered")
    assert ended.status == 0, ended.output
    coverage = suite.last.run.coverage
    assert coverage is not None
    assert (coverage.statements, coverage.missing, coverage.share) == (4, 1, 0.75)
    assert [(file.file, file.share) for file in coverage.files] == [("covered.py", 0.75)]
    traced = (suite.directory / "traced.json").read_text()
    assert traced == f"[true{', false' * 6}]"
    _check_pages(suite.last.path)
    gathered = history.gather("covered", suite.results, METRICS["throughput"], Options())
    document = history.document(gathered, "en")
    assert "Coverage" in document.markdown()
    assert "75%" in document.markdown()
    assert '"coverage": 0.75' in document.json()


def _check_pages(run: Path) -> None:
    assert (run / "coverage" / "index.html").is_file()
    assert '<a href="coverage/index.html">' in (run / "report.html").read_text()
    report = (run / "report.md").read_text()
    assert "The tests cover 75%: 1 of 4 statements were not executed." in report
    assert "| `covered.py` | 4 | 1 | 75% |" in report


def test_without_coverage_there_is_none(suite: Suite) -> None:
    suite.write("def test_one(): pass")
    assert suite.measure().status == 0
    assert suite.last.run.coverage is None
    assert "Coverage" not in (suite.last.path / "report.md").read_text()


def test_coroutines_are_timed(suite: Suite) -> None:
    pytest.importorskip("pytest_asyncio")
    suite.write("""
        import asyncio, pytest

        @pytest.fixture
        async def value():
            await asyncio.sleep(0.05)
            return 1

        async def test_sleeps(value):
            assert value == 1
            await asyncio.sleep(0.002)
    """)
    suite.write(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n", "pytest.ini"
    )
    ended = suite.measure()
    assert ended.status == 0, ended.output
    trials = suite.last.trials
    assert [trial.status for trial in trials] == [Status.OK] * 6
    times = [trial.totals.figures["python.call_time"] or 0.0 for trial in trials if trial.totals]
    assert min(times) >= 2
    assert min(times) < 40  # without the fixture
