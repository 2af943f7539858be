"""`profile: cpu`: what it asks for, and every way to get it wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.cli.run import PROFILES
from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.plan.problems import PlanError
from loadcell.plan.profile import JvmCpuProfile, profile_kinds
from plan import fake_parts

PLAN = (
    "target: {database: {}}\nworkload: {mix: {}}\nload: {duration: 10s}\nfactors: {load.clients: [5, 10]}\n"
)


def test_a_plan_without_a_profile_has_none(tmp_path: Path) -> None:
    assert fake_parts.read(tmp_path, PLAN).profiles == ()


@pytest.mark.parametrize("written", ["cpu", "{cpu: }", "{cpu: {}}"])
def test_by_name_every_option_is_as_by_default(tmp_path: Path, written: str) -> None:
    [profile] = fake_parts.read(tmp_path, PLAN + f"profile: {written}\n").profiles
    assert profile.document() == {"treatments": "best", "frequency": 99, "call_graph": "dwarf"}


def test_options_are_read_and_treatments_named(tmp_path: Path) -> None:
    text = PLAN + "profile: {cpu: {treatments: [clients=10], frequency: 499, call_graph: fp}}\n"
    [profile] = fake_parts.read(tmp_path, text).profiles
    assert profile.document() == {"treatments": ["clients=10"], "frequency": 499, "call_graph": "fp"}


def test_a_plan_may_have_several_kinds(tmp_path: Path) -> None:
    text = PLAN + "profile: {cpu: {frequency: 499}, off-cpu: {every: 10, treatments: all}}\n"
    cpu, off_cpu = fake_parts.read(tmp_path, text).profiles
    assert (cpu.kind, cpu.treatments, off_cpu.kind) == ("cpu", "best", "off-cpu")
    assert off_cpu.document() == {"treatments": "all", "every": 10, "call_graph": "dwarf"}
    [named] = fake_parts.read(tmp_path, PLAN + "profile: off-cpu\n").profiles
    assert named.kind == "off-cpu"


def test_profiles_of_jvms_have_options_of_their_own(tmp_path: Path) -> None:
    text = PLAN + (
        "profile: {jvm-cpu: {library: lib/profiler.so}, jvm-allocation: {every: 64KiB},"
        " jvm-lock: {every: 1ms}, jvm-classes: {}}\n"
    )
    cpu, allocation, lock, classes = fake_parts.read(tmp_path, text).profiles
    assert cpu.document() == {"treatments": "best", "frequency": 99, "library": "lib/profiler.so"}
    assert isinstance(cpu, JvmCpuProfile)
    assert cpu.library_path == tmp_path / "lib" / "profiler.so"
    assert allocation.document() == {"treatments": "best", "library": None, "every": "64KiB"}
    assert lock.document() == {"treatments": "best", "library": None, "every": "1ms"}
    assert classes.document() == {"treatments": "best"}


def test_the_command_line_offers_every_kind() -> None:
    assert sorted(PROFILES) == sorted(profile_kinds())


def test_the_command_line_sets_it(tmp_path: Path) -> None:
    sets = ("profile=cpu", "profile.cpu={treatments: all}")
    for count, treatments in ((1, "best"), (2, "all")):
        [profile] = fake_parts.read(tmp_path, PLAN, sets=sets[count - 1 : count]).profiles
        assert profile.treatments == treatments


def test_every_kind_is_named_where_none_fits(tmp_path: Path) -> None:
    [problem] = fake_parts.mistakes(tmp_path, PLAN + "profile: heap\n")
    assert (problem.allowed or "").startswith("cpu, off-cpu, jvm-cpu,")
    assert problem.nearest is None


SLOW = """
target: {command: {command: [server], url: 'http://127.0.0.1:{port}', under: valgrind}}
workload: {http: {requests: {get: {path: /}}}}
load: {clients: 1, duration: 1s}
"""


def slow_mistakes(directory: Path, tail: str) -> list[tuple[str, int | None, str]]:
    path = directory / "plan.yaml"
    path.write_text(SLOW + tail, encoding="utf-8")
    try:
        load_plan(path, installed())
    except PlanError as error:
        return [(problem.path, problem.mark.line, problem.finding) for problem in error.problems]
    return []


@pytest.mark.parametrize("expectation", ["latency.p99 < 1s", "throughput > 5/s", "elapsed < 1min"])
def test_expectations_on_speed_contradict_a_profiler_of_memory(tmp_path: Path, expectation: str) -> None:
    tail = f"expect:\n  - errors == 0\n  - {expectation}\n  - leak.definite == 0\n"
    [(path, line, finding)] = slow_mistakes(tmp_path, tail)
    assert (path, line) == ("expect", 7)
    assert finding.startswith(f"`{expectation}` bounds a time or rate, and `under: valgrind` makes")
    assert slow_mistakes(tmp_path, "expect: [errors == 0, heap.peak < 1GiB, error_rate < 1%]\n") == []


def test_a_profile_contradicts_a_profiler_of_memory(tmp_path: Path) -> None:
    [(path, line, finding)] = slow_mistakes(tmp_path, "profile: cpu\n")
    assert (path, line) == ("profile.cpu", 5)
    assert "runs under valgrind" in finding
    factor = "factors:\n  memory: {plain: {target.command.under: }, slow: {target.command.under: massif}}\n"
    assert slow_mistakes(tmp_path, factor + "profile: cpu\n") == []
    assert slow_mistakes(tmp_path, factor + "profile: {cpu: {treatments: [memory=plain]}}\n") == []
    for treatments in ("all", "[memory=slow]"):
        [(_, _, finding)] = slow_mistakes(tmp_path, f"{factor}profile: {{cpu: {{treatments: {treatments}}}}}")
        assert finding.startswith("the treatment memory=slow runs under massif")


@pytest.mark.parametrize(
    ("written", "path", "finding", "nearest"),
    [
        ("gpu", "profile", 'found "gpu"', "cpu"),
        ("{cpuu: {}}", "profile", "found a mapping with cpuu", "cpu"),
        ("{off_cpu: {}}", "profile", "found a mapping with off_cpu", "off-cpu"),
        ("{off-cpu: {every: 0}}", "profile.off-cpu.every", "found 0", None),
        ("{cpu: {}, off-cpu: {frequency: 9}}", "profile.off-cpu.frequency", "there is no setting", None),
        ("[cpu]", "profile", "found a list of 1", None),
        ("jvm-locks", "profile", 'found "jvm-locks"', "jvm-lock"),
        ("{jvm-lock: {every: 5}}", "profile.jvm-lock.every", "found 5", None),
        ("{jvm-allocation: {every: 1B}}", "profile.jvm-allocation.every", "found ", None),
        ("{jvm-classes: {library: a.so}}", "profile.jvm-classes.library", "there is no setting", None),
        ("{cpu: {frequency: 0}}", "profile.cpu.frequency", "found 0", None),
        ("{cpu: {frequencies: 9}}", "profile.cpu.frequencies", "there is no setting", "frequency"),
        ("{cpu: {call_graph: lbr}}", "profile.cpu.call_graph", 'found "lbr"', None),
        ("{cpu: {treatments: []}}", "profile.cpu.treatments", "found an empty list", None),
        ("{cpu: {treatments: worst}}", "profile.cpu.treatments", 'found "worst"', None),
        ("{cpu: {treatments: [clients=11]}}", "profile.cpu.treatments", 'there is no treatment "clients=11"',
         "clients=10"),
    ],
)  # fmt: skip
def test_mistakes_have_a_place_and_a_remedy(
    tmp_path: Path, written: str, path: str, finding: str, nearest: str | None
) -> None:
    problems = fake_parts.mistakes(tmp_path, PLAN + f"profile: {written}\n")
    assert [problem.path for problem in problems] == [path]
    assert finding in problems[0].finding
    assert problems[0].allowed
    assert nearest is None or nearest in (problems[0].nearest or "")
    assert problems[0].mark.line == 5
