"""State of the machine during a measurement, from recorded /proc trees."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadcell.execution import checks, machine_watch
from loadcell.execution.machine_watch import NAMES, WORKER, Machine, workers
from loadcell.model.load_result import (
    ClientResult,
    Distribution,
    LoadResult,
    OperationResult,
    ThreadResult,
)

HZ = os.sysconf("SC_CLK_TCK")
RUN_PID = 500


class Tree:
    """A /proc and a /sys that tests write."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.process(1, "init")
        self.process(RUN_PID, "loadcell-run", parent=1)
        self.clock_ns = 0

    def file(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def process(self, pid: int, name: str, parent: int = 1, ticks: int = 0, of_children: int = 0) -> None:
        fields = [
            "S",
            parent,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            ticks,
            0,
            of_children,
            0,
            20,
            0,
            1,
            0,
            7000 + pid,
            0,
            0,
        ]
        self.file(f"proc/{pid}/stat", f"{pid} ({name}) {' '.join(map(str, fields))}\n")

    def ends(self, pid: int) -> None:
        (self.root / f"proc/{pid}/stat").unlink()

    def worker(self, waited_s: float) -> None:
        self.process(600, "python", parent=RUN_PID)
        self.file("proc/600/cmdline", f"python\0-m\0{WORKER}\0")
        self.file("proc/600/task/601/schedstat", f"100 {int(waited_s * 1e9)} 5\n")

    def measured(self, change: Any, seconds: float = 10.0) -> dict[str, checks.Check]:
        """Checks of a measurement of `seconds` in which `change` happens."""
        machine = Machine(self.root, RUN_PID, now_ns=lambda: self.clock_ns)
        machine.begin()
        self.clock_ns += int(seconds * 1e9)
        change()
        machine.end()
        return {check.name: check for check in machine.checks([])}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


class TestOtherProcesses:
    def test_a_process_that_uses_a_fifth_of_a_core(self, tree: Tree) -> None:
        tree.process(77, "backup", ticks=1000)
        other_processes = tree.measured(lambda: tree.process(77, "backup", ticks=1000 + 2 * HZ))[
            "other-processes"
        ]
        assert other_processes.verdict == "noticed"
        assert other_processes.detail["cores"] == {"backup (77)": pytest.approx(0.2)}

    def test_little_is_let_pass(self, tree: Tree) -> None:
        tree.process(77, "agent")
        other_processes = tree.measured(lambda: tree.process(77, "agent", ticks=HZ // 2))["other-processes"]
        assert other_processes.verdict == "ok"

    def test_our_own_the_targets_and_the_kernels_are_no_others(self, tree: Tree) -> None:
        for pid, parent in ((600, RUN_PID), (601, 600), (2, 0), (30, 2), (800, 1), (801, 800)):
            tree.process(pid, f"p{pid}", parent)

        def busy() -> None:
            for pid, parent in ((600, RUN_PID), (601, 600), (30, 2), (800, 1), (801, 800)):
                tree.process(pid, f"p{pid}", parent, ticks=50 * HZ)

        machine = Machine(tree.root, RUN_PID, now_ns=iter([0, 10**10]).__next__)
        machine.begin()
        busy()
        machine.end()
        other_processes = {check.name: check for check in machine.checks([800])}["other-processes"]
        assert (other_processes.verdict, other_processes.detail["cores"]) == ("ok", {})

    def test_children_that_end_meanwhile_count_for_their_parent_and_only_since_the_beginning(
        self, tree: Tree
    ) -> None:
        tree.process(77, "make")
        tree.process(78, "cc1", parent=77, ticks=100 * HZ)

        def compiled() -> None:
            tree.ends(78)
            tree.process(77, "make", of_children=103 * HZ)

        other_processes = tree.measured(compiled)["other-processes"]
        assert other_processes.detail["cores"] == {"make (77)": pytest.approx(0.3)}

    def test_orphans_are_no_burden_of_the_first_process(self, tree: Tree) -> None:
        tree.process(77, "shell")
        tree.process(78, "compiler", parent=77, ticks=500 * HZ)

        def ended() -> None:
            tree.ends(77)
            tree.ends(78)
            tree.process(1, "init", parent=0, of_children=502 * HZ)

        assert tree.measured(ended)["other-processes"].detail["cores"] == {}

    def test_what_a_grandchild_had_used_is_taken_off_whoever_got_it(self, tree: Tree) -> None:
        tree.process(77, "make")
        tree.process(78, "sh", parent=77)
        tree.process(79, "cc1", parent=78, ticks=100 * HZ)

        def compiled() -> None:
            tree.ends(78)
            tree.ends(79)
            tree.process(77, "make", of_children=103 * HZ)

        other_processes = tree.measured(compiled)["other-processes"]
        assert other_processes.detail["cores"] == {"make (77)": pytest.approx(0.3)}

    def test_a_target_that_may_be_any_process_here_makes_it_unknown(self, tree: Tree) -> None:
        machine = Machine(tree.root, RUN_PID, now_ns=iter([0, 10**10]).__next__)
        machine.begin()
        machine.end()
        verdicts = {check.name: check.verdict for check in machine.checks(None)}
        assert verdicts["other-processes"] == "unknown"


class TestThePriceOfLooking:
    """A look is taken beside the load, on machines with thousands of processes."""

    def test_of_another_process_one_file_is_read_at_each_end_of_the_measurement(
        self, tree: Tree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for pid in range(1000, 1050):
            tree.process(pid, f"p{pid}")
        tree.worker(1.0)
        tree.file(f"proc/{RUN_PID}/task/{RUN_PID}/children", "600 ")
        opened: list[str] = []
        open_file = os.open

        def noted(path: Any, *how: Any, **more: Any) -> int:
            opened.append(str(path))
            return open_file(path, *how, **more)

        monkeypatch.setattr(os, "open", noted)
        result = tree.measured(lambda: tree.worker(3.0))
        assert result["client-waiting"].verdict == "noticed"
        assert len([path for path in opened if "/proc/10" in path]) == 2 * 50

    def test_workers_are_found_where_the_kernel_lists_no_children(self, tree: Tree) -> None:
        tree.worker(1.0)
        tree.process(700, "python", parent=1)
        tree.file("proc/700/cmdline", f"python\0-m\0{WORKER}\0")
        assert workers(tree.root, RUN_PID) == [600]


class TestOtherChecks:
    def test_swapping(self, tree: Tree) -> None:
        tree.file("proc/vmstat", "pgfault 1\npswpin 100\npswpout 100\n")
        page = os.sysconf("SC_PAGE_SIZE")
        swap = tree.measured(lambda: tree.file("proc/vmstat", "pswpin 1100\npswpout 5100\n"))["swap"]
        assert (swap.verdict, swap.detail) == ("noticed", {"swapped_bytes": 6000 * page})
        assert (
            tree.measured(lambda: tree.file("proc/vmstat", "pswpin 1110\npswpout 5100\n"))["swap"].verdict
            == "ok"
        )

    def test_a_containers_limit_even_of_a_group_above(self, tree: Tree) -> None:
        tree.file("proc/self/cgroup", "0::/a/b\n")
        tree.file("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nthrottled_usec 0\n")
        tree.file("sys/fs/cgroup/a/cpu.stat", "throttled_usec 1000000\n")
        throttled = tree.measured(lambda: tree.file("sys/fs/cgroup/a/cpu.stat", "throttled_usec 1500000\n"))[
            "throttled"
        ]
        assert throttled.verdict == "noticed"
        assert throttled.detail["quota_share"] == pytest.approx(0.05)

    def test_heat(self, tree: Tree) -> None:
        tree.file("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n")
        hotter = lambda: tree.file("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "5\n")  # noqa: E731
        throttled = tree.measured(hotter)["throttled"]
        assert (throttled.verdict, throttled.detail) == ("noticed", {"too_hot_times": 2})

    def test_a_client_kept_waiting(self, tree: Tree) -> None:
        tree.worker(1.0)
        client_waiting = tree.measured(lambda: tree.worker(3.0))["client-waiting"]
        assert client_waiting.verdict == "noticed"
        assert client_waiting.detail["share"] == pytest.approx(0.2)
        assert tree.measured(lambda: tree.worker(3.5))["client-waiting"].verdict == "ok"

    def test_what_the_kernel_does_not_tell_is_unknown(self, tree: Tree) -> None:
        result = tree.measured(lambda: None)
        assert {name: check.verdict for name, check in result.items()} == {
            "swap": "unknown", "throttled": "unknown", "other-processes": "ok", "client-waiting": "unknown",
        }  # fmt: skip

    def test_a_measurement_that_never_was_has_nothing_to_say(self, tree: Tree) -> None:
        assert {check.verdict for check in Machine(tree.root).checks([])} == {"unknown"}
        assert tuple(check.name for check in Machine(tree.root).checks([])) == NAMES


class TestThisMachine:
    @pytest.fixture
    def burner(self) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        yield process
        process.kill()
        process.wait()

    def test_a_real_process_that_burns_cpu_is_named(self, burner: subprocess.Popen[bytes]) -> None:
        """Looked at as if it were not ours: it has used CPU time, and its name is there."""
        before = machine_watch.process_stats(Path("/"))
        while not any(
            item.pid == burner.pid
            for item in machine_watch.between(before, machine_watch.process_stats(Path("/")), [])
        ):
            assert burner.poll() is None
        assert burner.pid not in {
            item.pid
            for item in machine_watch.between(before, machine_watch.process_stats(Path("/")), [os.getpid()])
        }

    def test_where_a_target_is(self) -> None:
        assert machine_watch.on_this_machine({"socket": "/tmp/.s.PGSQL.5432", "host": None})
        assert machine_watch.on_this_machine({"host": "127.0.0.1"})
        assert machine_watch.on_this_machine({"host": "localhost"})
        assert machine_watch.on_this_machine({"host": "::1"})
        assert not machine_watch.on_this_machine({"host": "192.0.2.7"})
        assert not machine_watch.on_this_machine({"host": "db.example"})


class TestClient:
    def result(self, *busy: float) -> LoadResult:
        threads = tuple(ThreadResult(busy=share) for share in busy)
        return LoadResult(outcome="completed", client=ClientResult(threads))

    def test_many_threads_on_few_cores_are_the_limit_together(self) -> None:
        assert checks.client_limit(self.result(0.47, 0.47, 0.47, 0.47), cores=2).verdict == "broken"
        assert checks.client_limit(self.result(0.47, 0.47, 0.47, 0.47), cores=8).verdict == "ok"
        assert checks.client_limit(self.result(0.47, 0.47)).verdict == "ok"


class TestPercentiles:
    def result(self, **figures: float) -> LoadResult:
        usual = {"count": 9, "min_ns": 1, "p50_ns": 5, "p99_ns": 9, "max_ns": 9, "mean_ns": 5.0}
        transaction = OperationResult("transaction", response=Distribution(**{**usual, **figures}))
        return LoadResult(outcome="completed", operations=(transaction,))

    def test_rise(self) -> None:
        assert checks.percentiles(self.result()).verdict == "ok"

    @pytest.mark.parametrize("figures", [{"p50_ns": 10}, {"min_ns": 6}, {"mean_ns": 12.0}, {"mean_ns": 0.5}])
    def test_that_fall_or_leave_out_the_mean_are_broken(self, figures: dict[str, float]) -> None:
        check = checks.percentiles(self.result(**figures))
        assert check.verdict == "broken"
        assert checks.invalidity([check]) is not None

    def test_nothing_is_reported_of_nothing(self) -> None:
        assert (
            checks.percentiles(LoadResult(outcome="completed", operations=(OperationResult("x"),))).verdict
            == "unknown"
        )
