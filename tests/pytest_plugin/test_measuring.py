"""Real sessions with `--loadcell`: what is run, timed and recorded."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from loadcell.model.trial_record import Status
from suites import Suite

CALL_TIME = "python.call_time"


def test_every_test_is_timed_in_shuffled_repeats(suite: Suite) -> None:
    suite.write("""
        import pytest, time

        @pytest.fixture
        def slow():
            time.sleep(0.03)
            yield 1
            time.sleep(0.03)

        def test_one(slow):
            assert slow == 1

        @pytest.mark.parametrize("number", [1, 2])
        def test_two(number):
            time.sleep(0.004 * number)

        class TestThree:
            def test_method(self):
                assert not hasattr(self, "used")
                self.used = True
    """)
    ended = suite.measure("--loadcell-seed", "7", "--loadcell-label", "branch=main")
    assert ended.status == 0, ended.output
    assert "Measuring 4 tests in 6 repeats" in ended.output
    run = suite.last.run
    assert (run.order, run.seed, run.repeats, run.state) == ("blocks", 7, 6, "finished")
    assert run.labels == {"branch": "main"}
    assert [level.value for level in run.factors[0].levels] == [
        "test_suite.py::test_one",
        "test_suite.py::test_two[1]",
        "test_suite.py::test_two[2]",
        "test_suite.py::TestThree::test_method",
    ]
    trials = suite.last.trials
    assert len(trials) == 24
    assert {trial.status for trial in trials} == {Status.OK}
    blocks = [trial.block for trial in trials]
    assert blocks == sorted(blocks)  # a block is a repeat of all tests
    assert Counter(blocks) == dict.fromkeys(range(1, 7), 4)
    orders = {tuple(t.treatment for t in trials if t.block == block) for block in range(1, 7)}
    assert len(orders) > 1
    for trial in trials:
        assert trial.totals is not None
        call_ms = trial.totals.figures[CALL_TIME]
        assert call_ms is not None
        if "test_one" in trial.treatment:
            assert call_ms < 20  # without setup and teardown
        if "test_two" in trial.treatment:
            number = int(trial.levels["test"][-2])
            assert 4 * number <= call_ms < 4 * number + 200


def test_fixtures_of_a_function_are_fresh_and_those_of_a_module_are_shared(suite: Suite) -> None:
    suite.write("""
        import pytest
        LOG = open("log", "a")

        @pytest.fixture(scope="module")
        def of_module():
            print("module", file=LOG, flush=True)

        @pytest.fixture
        def of_function():
            print("function", file=LOG, flush=True)
            return []

        def test_one(of_module, of_function):
            of_function.append(1)
            assert of_function == [1]

        def test_two(of_module, of_function):
            assert of_function == []
    """)
    assert suite.measure().status == 0
    setups = Counter((suite.directory / "log").read_text().split())
    assert setups["function"] == 2 * 7
    assert setups["module"] == 2  # of the ordinary pass, and of all repeats


def test_a_single_test_has_fresh_fixtures(suite: Suite) -> None:
    suite.write("""
        def test_one(tmp_path):
            (tmp_path / "file").mkdir()
    """)
    ended = suite.measure()
    assert ended.status == 0, ended.output
    assert [trial.status for trial in suite.last.trials] == [Status.OK] * 6


def test_without_the_option_nothing_is_measured(suite: Suite) -> None:
    suite.write("""
        def test_one(benchmark, loadcell):
            assert benchmark(sum, [1, 2]) == 3
            assert benchmark.disabled and benchmark.stats is None
            assert loadcell(sum, [1]) == 1
    """)
    ended = suite.run("-q")
    assert ended.status == 0, ended.output
    assert not suite.results.exists()


def test_marked_tests_alone(suite: Suite) -> None:
    suite.write("""
        import pytest

        @pytest.mark.loadcell
        def test_marked(): pass

        def test_other(): pass

        def test_function(loadcell):
            loadcell(int)
    """)
    assert suite.measure("--loadcell-marked", "--strict-markers").status == 0
    assert [treatment.levels["test"] for treatment in suite.last.run.treatments] == [
        "test_suite.py::test_marked",
        "test_suite.py::test_function",
    ]


def test_unittests_are_timed_without_their_setup(suite: Suite) -> None:
    suite.write("""
        import time, unittest

        class Case(unittest.TestCase):
            def setUp(self):
                time.sleep(0.05)

            def test_one(self):
                self.assertFalse(hasattr(self, "used"))
                self.used = True
    """)
    ended = suite.measure()
    assert ended.status == 0, ended.output
    trials = suite.last.trials
    assert [trial.status for trial in trials] == [Status.OK] * 6
    assert min(trial.totals.figures[CALL_TIME] for trial in trials) < 40  # type: ignore[union-attr,type-var]


def test_doctests_are_timed(suite: Suite) -> None:
    suite.write(
        '''
        def double(number):
            """
            >>> double(2)
            4
            """
            return 2 * number
        ''',
        "numbers_.py",
    )
    ended = suite.measure("--doctest-modules")
    assert ended.status == 0, ended.output
    assert len(suite.last.trials) == 6


def test_memory_is_measured_in_an_extra_call(suite: Suite) -> None:
    suite.write("""
        def test_plain():
            block = bytearray(3_000_000)

        def test_function(benchmark):
            before = bytearray(9_000_000)
            benchmark(bytearray, 2_000_000)
    """)
    ended = suite.run("--loadcell")
    assert ended.status == 0, ended.output
    peaks = {
        trial.levels["test"].rpartition("_")[2]: trial.totals.figures["test.peak_allocation"]
        for trial in suite.last.trials
        if trial.totals is not None and "test.peak_allocation" in trial.totals.figures
    }
    assert peaks["plain"] == pytest.approx(3_000_000, rel=0.01)
    assert peaks["function"] == pytest.approx(2_000_000, rel=0.01)
    assert "peak allocation" in ended.output


def test_a_run_can_be_reported_compared_and_listed(suite: Suite) -> None:
    suite.write("def test_one(): pass\ndef test_two(): pass")
    ended = suite.measure("--loadcell-name", "small")
    assert ended.status == 0, ended.output
    run = suite.last.path
    assert run.parent.name == "small"
    assert "test_suite.py::test_one" in (run / "report.html").read_text()
    text = (run / "report.md").read_text()
    assert "time per call" in text
    assert "not comparable" in text  # two tests are two quantities


def test_settings_are_read_from_the_configuration(suite: Suite) -> None:
    suite.write(
        "[pytest]\naddopts = --loadcell --loadcell-no-memory --loadcell-name configured\n", "pytest.ini"
    )
    suite.write("def test_one(): pass")
    assert suite.run().status == 0
    assert suite.last.run.plan_name == "configured"


def test_the_table_is_in_the_language_of_the_environment(suite: Suite) -> None:
    suite.write("def test_one(): pass")
    ended = suite.run("--loadcell", "--loadcell-no-memory", language="zh")
    assert "正在测量 1 个测试" in ended.output
    assert "中位数" in ended.output


@pytest.mark.parametrize(
    ("language", "word"), [("en", "measure the tests in repeats"), ("zh", "重复测量测试")]
)
def test_help_is_in_the_language_of_the_environment(suite: Suite, language: str, word: str) -> None:
    ended = suite.run("--help", quick=False, language=language)
    assert ended.status == 0
    assert word in ended.output
    assert "--benchmark-histogram" in ended.output


def test_modules_of_reports_are_not_loaded_for_the_collection(suite: Suite) -> None:
    suite.write("def test_one(): pass")
    suite.write(
        """
        import json, sys

        def pytest_sessionfinish():
            heavy = ("loadcell.analysis", "loadcell.execution", "loadcell.report", "loadcell.cli", "pydantic")
            loaded = [name for name in sys.modules if name.startswith(heavy)]
            json.dump(loaded, open("loaded.json", "w"))
        """,
        "conftest.py",
    )
    assert suite.measure("--collect-only").status == 0
    assert json.loads((suite.directory / "loaded.json").read_text()) == []


def test_a_process_without_the_option_loads_nothing_of_the_measurement(suite: Suite) -> None:
    suite.write("""
        import json, sys

        def test_modules():
            loaded = [name for name in sys.modules if name.startswith("loadcell")]
            json.dump(loaded, open("loaded.json", "w"))
    """)
    assert suite.run("-q", quick=False).status == 0
    loaded = json.loads((suite.directory / "loaded.json").read_text())
    light = ("", ".options", ".benchmark_hooks")
    assert set(loaded) <= {"loadcell", "loadcell.lazy", *(f"loadcell.pytest_plugin{name}" for name in light)}
