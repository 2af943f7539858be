"""Profiles of the slowest tests."""

from __future__ import annotations

from loadcell.store.layout import FLAMES, FOLDED
from suites import Suite


def test_the_slowest_tests_are_profiled_in_calls_that_do_not_count(suite: Suite) -> None:
    suite.write("""
        import time

        def spin(seconds):
            end = time.process_time() + seconds
            while time.process_time() < end:
                pass

        def test_slow(tmp_path):
            (tmp_path / "file").mkdir()
            spin(0.05)

        def test_function(benchmark):
            benchmark(spin, 0.03)

        def test_fast():
            pass
    """)
    ended = suite.measure("--loadcell-profile", "2")
    assert ended.status == 0, ended.output
    stored = suite.last
    assert len(stored.trials) == 18
    profiled = {trial.levels["test"].rpartition("::")[2]: trial for trial in stored.unscored}
    assert set(profiled) == {"test_slow", "test_function"}
    for name, trial in profiled.items():
        assert trial.role == "profile"
        assert trial.profile is not None
        assert trial.profile.samples > 20
        directory = stored.directory(trial.name)
        assert (directory / FLAMES).is_file()
        stacks = (directory / FOLDED).read_text().splitlines()
        assert any(line.rpartition(" ")[0].endswith("test_suite.spin") for line in stacks)
        outermost = {line.partition(";")[0].partition(" ")[0] for line in stacks}
        assert outermost <= {"test_suite.spin" if name == "test_function" else f"test_suite.{name}"}
    report = (stored.path / "report.md").read_text()
    assert "the slowest tests were called again" in report
    assert "test\\_suite.spin" in report or "test_suite.spin" in report
