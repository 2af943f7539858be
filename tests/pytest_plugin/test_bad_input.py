"""Options that cannot be used, and tests that misbehave."""

from __future__ import annotations

import pytest

from loadcell.model.trial_record import Status
from suites import Suite


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--loadcell-compare", "nightly"), "nightly"),
        (("--loadcell-compare", "nightly", "--loadcell-fail", "5"), "--loadcell-fail does not accept '5'"),
        (
            ("--loadcell-compare", "nightly", "--loadcell-fail=-1%"),
            "--loadcell-fail does not accept '-1%'",
        ),
        (("--loadcell-compare", "nightly", "--loadcell-fail", "nan%"), "--loadcell-fail does not accept"),
        (("--loadcell-fail", "5%"), "--loadcell-fail needs a baseline"),
        (("--loadcell-repeats", "many"), "--loadcell-repeats does not accept 'many'"),
        (("--loadcell-repeats", "0"), "--loadcell-repeats does not accept '0'"),
        (("--loadcell-name", "a/b"), "--loadcell-name does not accept 'a/b'"),
        (("--loadcell-label", "=x"), "expected: NAME=VALUE"),
        (("--benchmark-timer", "time.nothing"), "--benchmark-timer does not accept 'time.nothing'"),
        (("--benchmark-max-time", "inf"), "--benchmark-max-time does not accept 'inf'"),
    ],
)
def test_a_wrong_option_is_reported_before_the_first_test(
    suite: Suite, options: tuple[str, ...], message: str
) -> None:
    suite.write("def test_one(): open('ran', 'w')")
    ended = suite.run("--loadcell", *options, quick="--benchmark-max-time" not in options)
    assert ended.status == 4, ended.output
    assert message in ended.output
    assert "Traceback" not in ended.output
    assert not (suite.directory / "ran").exists()
    assert not suite.results.exists()


def test_tests_that_misbehave_do_not_disturb_the_others(suite: Suite) -> None:
    suite.write("""
        import os, sys, threading, time

        def test_fails():
            assert 1 == 2

        def test_exits():
            sys.exit(3)

        def test_prints():
            print("x" * 1_000_000)

        def test_moves(tmp_path):
            assert os.path.exists("test_suite.py")
            os.chdir(tmp_path)

        def test_leaks_a_thread():
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()

        def test_works():
            pass
    """)
    ended = suite.measure()
    assert ended.status == 1
    assert "2 failed, 4 passed" in ended.output
    assert "xxxxxxxx" not in ended.output
    assert "test_moves changes the working directory" in ended.output
    assert "test_leaks_a_thread leaves 1 thread running" in ended.output
    statuses: dict[str, list[Status]] = {}
    for trial in suite.last.trials:
        statuses.setdefault(trial.levels["test"].rpartition("::")[2], []).append(trial.status)
    assert statuses == {
        "test_fails": [Status.FAILED],
        "test_exits": [Status.FAILED],
        **dict.fromkeys(("test_prints", "test_moves", "test_leaks_a_thread", "test_works"), [Status.OK] * 6),
    }
    failed = {trial.reason for trial in suite.last.trials if trial.status is Status.FAILED}
    assert any("assert 1 == 2" in str(reason) for reason in failed)
    assert any("SystemExit: 3" in str(reason) for reason in failed)


def test_a_test_that_fails_in_a_repeat_is_reported(suite: Suite) -> None:
    suite.write("""
        CALLS = []

        def test_flaky():
            CALLS.append(1)
            assert len(CALLS) != 4, "the fourth call"
    """)
    ended = suite.measure()
    assert "test_flaky failed in 1 of 6 repeats" in ended.output
    assert "the fourth call" in ended.output
    assert [trial.status for trial in suite.last.trials].count(Status.FAILED) == 1


def test_an_interrupted_session_keeps_its_repeats(suite: Suite) -> None:
    suite.write("""
        CALLS = []

        def test_one():
            CALLS.append(1)
            if len(CALLS) == 4:
                raise KeyboardInterrupt
    """)
    ended = suite.measure()
    assert ended.status == 2
    assert suite.last.run.state == "interrupted"
    assert len(suite.last.trials) == 2


def test_without_a_test_to_measure_there_is_no_run(suite: Suite) -> None:
    suite.write("import pytest\n\n@pytest.mark.skip\ndef test_one(): pass")
    ended = suite.measure()
    assert ended.status == 0
    assert "No test passed that could be measured." in ended.output
    assert not suite.results.exists()


def test_an_expected_failure_is_not_timed(suite: Suite) -> None:
    suite.write("import pytest\n\n@pytest.mark.xfail\ndef test_one(): assert 0\n\ndef test_two(): pass")
    assert suite.measure().status == 0
    assert [treatment.levels["test"] for treatment in suite.last.run.treatments] == [
        "test_suite.py::test_two"
    ]


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan"])
def test_nothing_is_measured_of_tests_that_are_only_shown(suite: Suite, option: str) -> None:
    suite.write("def test_one(): pass")
    assert suite.measure(option).status == 0
    assert not suite.results.exists()


@pytest.mark.parametrize("options", [("-n", "2"), ("-n", "auto"), ("--dist", "each", "--tx", "2*popen")])
def test_xdist_is_not_used(suite: Suite, options: tuple[str, ...]) -> None:
    pytest.importorskip("xdist")
    suite.write("""
        import os

        def test_one():
            assert "PYTEST_XDIST_WORKER" not in os.environ
    """)
    ended = suite.measure(*options)
    assert ended.status == 0, ended.output
    assert ended.output.count("The tests run in one process without pytest-xdist") == 1
    assert len(suite.last.trials) == 6
