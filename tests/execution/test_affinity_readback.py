"""Placements of processes as read back, compared with the requested ones, on a tree of /proc made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.execution.affinity import Pinning
from loadcell.model.load_result import Pinned
from loadcell.plan.affinity import ANYWHERE, Pin
from loadcell.plan.affinity_check import Pins


class Processes:
    """Processes in `root`, by id: their threads' processors, their memory policy, their children."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, pid: int, *threads: str, policy: str = "default", children: str = "") -> None:
        home = self.root / "proc" / str(pid)
        for number, cpus in enumerate(threads):
            task = home / "task" / str(pid + number)
            task.mkdir(parents=True)
            (task / "status").write_text(f"Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t{cpus}\n")
            (task / "children").write_text(children if number == 0 else "")
        (home / "numa_maps").write_text(f"55f400 {policy} file=/bin/x mapped=2 N0=2\n7f00 default anon=1\n")


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


def placed(processes: Processes, target: Pin = ANYWHERE, client: Pin = ANYWHERE) -> Pinning:
    return Pinning(Pins(target, client), {"target": "as asked"}, root=processes.root)


def verdict(pinning: Pinning) -> str:
    [check] = pinning.checks()
    return check.verdict


def test_every_thread_of_every_process_of_the_tree_is_asked(processes: Processes) -> None:
    processes.add(10, "0-3", "0-3", children="20 ")
    processes.add(20, "0-3")
    pinning = placed(processes, Pin("0-3"))
    pinning.look("target", "up", [10])
    assert pinning.looks[0].threads == {"0-3": 3}
    assert verdict(pinning) == "ok"
    document = pinning.document()
    assert document is not None
    assert document["target"] == {
        "cpus": "0-3",
        "memory": None,
        "read_back": [{"when": "up", "threads": {"0-3": 3}, "memory": {}}],
    }


def test_a_thread_that_may_run_elsewhere_spoils_the_trial(processes: Processes) -> None:
    processes.add(10, "0-3", "0-4")
    pinning = placed(processes, Pin("0-3"))
    pinning.look("target", "up", [10])
    [check] = pinning.checks()
    assert check.verdict == "broken"
    assert check.detail["wrong"] == [
        {"side": "target", "when": "up", "threads": {"0-3": 1, "0-4": 1}, "memory": {}}
    ]


def test_a_server_may_divide_its_processors_among_its_workers_but_leave_none_out(
    processes: Processes,
) -> None:
    processes.add(10, "0", "1")
    both, more = placed(processes, Pin("0-1")), placed(processes, Pin("0-2"))
    for pinning in (both, more):
        pinning.look("target", "load", [10])
    assert (verdict(both), verdict(more)) == ("ok", "broken")


def test_memory_of_another_policy_spoils_the_trial(processes: Processes) -> None:
    processes.add(10, "0", policy="bind:0")
    processes.add(11, "0", policy="default")
    pinning = placed(processes, Pin(memory="bind:0"))
    pinning.look("target", "up", [10])
    assert verdict(pinning) == "ok"
    pinning.look("target", "load", [11])
    assert verdict(pinning) == "broken"


def test_the_worker_tells_where_it_is_itself(processes: Processes) -> None:
    pinning = placed(processes, client=Pin("2-3", "interleave:0-1"))
    assert verdict(pinning) == "unknown", "nobody has said anything"
    pinning.on_event(Pinned(cpus="2-3", memory="interleave:0-1"))
    assert verdict(pinning) == "ok"
    pinning.on_event(Pinned(cpus="2", memory="interleave:0-1"))
    assert verdict(pinning) == "broken"


def test_cores_of_ones_own_are_known(processes: Processes) -> None:
    assert placed(processes, Pin("0-1"), Pin("2-3")).apart
    assert not placed(processes, Pin("0-2"), Pin("2-3")).apart
    assert not placed(processes, Pin("0-1")).apart


def test_a_plan_that_says_nothing_asks_nobody(processes: Processes) -> None:
    processes.add(10, "0")
    pinning = Pinning(root=processes.root)
    pinning.look("target", "up", [10])
    assert (pinning.looks, pinning.checks(), pinning.document()) == ([], [], None)
