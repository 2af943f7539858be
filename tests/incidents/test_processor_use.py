"""Use of the processors without that of the examination, from a recorded tree."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from loadcell.incidents.live.base import Host
from loadcell.incidents.live.processors import ProcessorGatherer

CALLER, GATHERER = os.getppid(), os.getpid()
SIBLING, CLIENT, JAVA, LATER = 900_001, 900_002, 900_003, 900_004


def host_ticks(root: Path, user: int, idle: int, running: int) -> None:
    """Ticks of two processors, and the number of runnable threads."""
    (root / "proc").mkdir(exist_ok=True)
    row = f"{user} 0 0 {idle} 0 0 0 0 0 0"
    (root / "proc/stat").write_text(f"cpu  {row}\ncpu0 {row}\ncpu1 {row}\nprocs_running {running}\n")


def process(
    root: Path, pid: int, name: str, parent: int, user: int, children: int = 0, states: str = "S"
) -> None:
    """A process with a thread for each state."""
    for number, state in enumerate(states):
        fields = [state, parent, *[0] * 9, user, 0, children, 0, 0, 0, len(states), 0, pid, 0, 10]
        text = " ".join(map(str, fields))
        directory = root / f"proc/{pid}/task/{pid + number}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "stat").write_text(f"{pid + number} ({name}) {text}\n")
        if not number:
            (root / f"proc/{pid}/stat").write_text(f"{pid} ({name}) {text}\n")


@pytest.mark.parametrize(
    ("of_java", "idle", "busy_share"),
    [(2, 118, pytest.approx(2 / 120)), (120, 0, 1.0)],
    ids=["idle", "busy"],
)
def test_the_examination_is_not_part_of_the_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_java: int, idle: int, busy_share: float
) -> None:
    host_ticks(tmp_path, 1000, 5000, 1)
    process(tmp_path, CALLER, "loadcell", 1, 100, children=700)
    process(tmp_path, GATHERER, "lc-processors", CALLER, 5)
    process(tmp_path, SIBLING, "lc-clocks", CALLER, 5)
    process(tmp_path, CLIENT, "chronyc", SIBLING, 3)
    process(tmp_path, JAVA, "java", CALLER, 400)

    def pass_time(_: float) -> None:
        host_ticks(tmp_path, 1000 + 80 + of_java, 5000 + idle, 8)
        process(tmp_path, CALLER, "loadcell", 1, 120, children=999, states="SR")  # it ended another process
        process(tmp_path, GATHERER, "lc-processors", CALLER, 20, states="R")
        process(tmp_path, SIBLING, "lc-clocks", CALLER, 15, children=18, states="RR")  # its client ended
        shutil.rmtree(tmp_path / f"proc/{CLIENT}", ignore_errors=True)
        process(tmp_path, LATER, "lc-jvms", CALLER, 20, states="S")
        process(tmp_path, JAVA, "java", CALLER, 400 + of_java, states="RRR")

    monkeypatch.setattr(time, "sleep", pass_time)
    (seen,) = ProcessorGatherer().gather(Host(tmp_path, interval_s=0.01))
    assert seen.busy_share == busy_share
    assert seen.runnable == 4  # 8 without the 4 of the examination
    assert {use.name: use.share for use in seen.busiest} == {"java": busy_share}
