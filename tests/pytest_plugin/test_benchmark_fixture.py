"""Suites that are written for pytest-benchmark, which is absent."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from loadcell.model.trial_record import Status
from suites import Suite

pytestmark = pytest.mark.skipif(find_spec("pytest_benchmark") is not None, reason="pytest-benchmark is there")

SUITE = """
    import pytest, time

    def test_call(benchmark):
        assert benchmark(sorted, [3, 1], reverse=True) == [3, 1]
        assert benchmark.stats["mean"] > 0
        assert benchmark.stats.stats.rounds >= 1
        benchmark.extra_info["size"] = 2

    def test_decorated(benchmark):
        @benchmark
        def result():
            return 5
        assert result == 5

    @pytest.mark.benchmark(group="pairs", min_rounds=3, max_time=0.01, disable_gc=True, warmup=False,
                           timer=time.perf_counter)
    def test_group(benchmark):
        assert benchmark.group == "pairs"
        benchmark(lambda: None)

    def test_pedantic(benchmark):
        def setup():
            return ([2, 1],), {"reverse": False}
        result = benchmark.pedantic(sorted, setup=setup, rounds=12, warmup_rounds=1)
        assert result == [1, 2]

    @pytest.mark.parametrize("size", [1, 2])
    def test_parameter(benchmark, size):
        assert benchmark.params == {"size": size} and benchmark.param == str(size)
        benchmark.pedantic(range, args=(size,), iterations=10, rounds=6)

    class Basket:
        def total(self, *prices):
            return sum(prices)

    def test_woven_method(benchmark):
        benchmark.weave(Basket.total)
        assert Basket().total(1, 2) == 3
        assert benchmark.stats.stats.rounds >= 1

    def test_woven_by_name(benchmark_weave):
        import textwrap
        benchmark_weave("textwrap.dedent", lazy=True)
        assert textwrap.dedent("  a") == "a"

    def test_weaving_ends_with_the_test():
        import textwrap
        assert not hasattr(textwrap.dedent, "__wrapped__")
        assert not hasattr(Basket.total, "__wrapped__")

    def test_plain():
        pass
"""


def test_a_suite_runs_unchanged_and_functions_are_timed(suite: Suite) -> None:
    suite.write(SUITE)
    ended = suite.measure("--benchmark-group-by", "group", "--strict-markers")
    assert ended.status == 0, ended.output
    assert "[pairs]" in ended.output
    trials = [trial for trial in suite.last.trials if trial.block == 1]
    reasons = [(trial.name, trial.reason) for trial in suite.last.trials if trial.status is not Status.OK]
    assert reasons == []
    timed = {trial.levels["test"]: trial.settings["tool"]["pytest"]["timed"] for trial in trials}
    assert timed.pop("test_suite.py::test_plain") == "call-phase"
    assert timed.pop("test_suite.py::test_weaving_ends_with_the_test") == "call-phase"
    assert set(timed.values()) == {"function"}
    pedantic = next(trial for trial in trials if "test_pedantic" in trial.treatment)
    assert pedantic.totals is not None
    assert pedantic.totals.transactions.succeeded == 2  # 12 rounds in 6 repeats
    group = next(trial for trial in trials if "test_group" in trial.treatment)
    assert group.settings["tool"]["pytest"]["group"] == "pairs"


def test_a_suite_runs_without_loadcell_too(suite: Suite) -> None:
    suite.write(SUITE.replace("assert benchmark.stats", "#"))
    ended = suite.run("--strict-markers")
    assert ended.status == 0, ended.output


def test_benchmark_disable_is_obeyed(suite: Suite) -> None:
    suite.write("""
        CALLS = []

        def test_function(benchmark):
            assert benchmark.disabled
            benchmark(CALLS.append, 1)
            assert benchmark.stats is None

        def test_number_of_calls():
            assert len(CALLS) == 1
    """)
    ended = suite.measure("--benchmark-disable")
    assert ended.status == 0, ended.output
    assert [treatment.levels["test"] for treatment in suite.last.run.treatments] == [
        "test_suite.py::test_number_of_calls"
    ]


@pytest.mark.parametrize(
    ("option", "passed"),
    [("--benchmark-only", "1 passed, 1 skipped"), ("--benchmark-skip", "1 passed, 1 skipped")],
)
def test_selection(suite: Suite, option: str, passed: str) -> None:
    suite.write("def test_function(benchmark): benchmark(int)\ndef test_plain(): pass")
    ended = suite.run(option)
    assert ended.status == 0
    assert passed in ended.output


def test_options_without_meaning_are_reported_once(suite: Suite) -> None:
    suite.write("def test_function(benchmark): benchmark(int)\n")
    suite.write("[pytest]\nbenchmark_sort = name\n", "pytest.ini")
    ended = suite.measure(
        *("--benchmark-columns=min,max", "--benchmark-save=NAME", "--benchmark-autosave"),
        *(
            "--benchmark-compare",
            "--benchmark-compare-fail=min:5%",
            "--benchmark-histogram",
            "--benchmark-json=x.json",
        ),
        *("--benchmark-storage=file://./x", "--benchmark-cprofile=tottime", "--benchmark-verbose"),
    )
    assert ended.status == 0, ended.output
    assert ended.output.count("have no effect") == 1
    line = next(line for line in ended.output.splitlines() if "have no effect" in line)
    for option in (
        "--benchmark-sort",
        "--benchmark-columns",
        "--benchmark-compare-fail",
        "--benchmark-histogram",
    ):
        assert option in line


def test_hooks_of_a_suite_are_accepted(suite: Suite) -> None:
    suite.write("def pytest_benchmark_update_json(config, benchmarks, output_json): pass\n", "conftest.py")
    suite.write("def test_function(benchmark): benchmark(int)\n")
    ended = suite.run()
    assert ended.status == 0, ended.output


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("benchmark(int); benchmark(int)", "benchmark` was called before"),
        ("benchmark.pedantic(int, rounds=0)", "rounds must be at least 1, not 0"),
        ("benchmark.pedantic(int, iterations='2')", "iterations must be a whole number, not '2'"),
        ("benchmark.pedantic(int, setup=lambda: None, iterations=2)", "needs iterations=1"),
        ("benchmark(lambda: 1 / 0)", "ZeroDivisionError"),
    ],
)
def test_wrong_use_is_the_failure_of_the_test(suite: Suite, body: str, message: str) -> None:
    suite.write(f"def test_function(benchmark): {body}\n")
    ended = suite.measure()
    assert ended.status == 1
    assert message in ended.output
    assert [trial.status for trial in suite.last.trials] == [Status.FAILED]
