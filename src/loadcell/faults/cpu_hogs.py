"""`cpu-hogs`: processes that compute without a pause, on the CPUs that the subject may use."""

from __future__ import annotations

import os
import subprocess
import sys

from pydantic import Field

from loadcell.faults.base import NOT_RUNNING, Fault, FaultError
from loadcell.linux import process, process_tree
from loadcell.plan.parts import SubjectOptions
from loadcell.systems.subjects import Subject

_LOOP = "while True: pass"


class CpuHogsOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of CPU hogs."""

    count: int = Field(ge=1, le=1024)
    """Number of processes, each of which can use one core."""


class CpuHogs(Fault[CpuHogsOptions]):
    """Start processes that compute. The kernel kills them when the run ends (PR_SET_PDEATHSIG)."""

    name = "cpu-hogs"
    synonyms = ("stress", "burn-cpu")
    summary = "Compute without a pause in `count` processes, on the CPUs that the subject may use"
    Options = CpuHogsOptions

    @classmethod
    def ends_another(cls, options: CpuHogsOptions, other: CpuHogsOptions) -> bool:  # noqa: ARG003
        return False  # each ends its own processes

    def __init__(self, options: CpuHogsOptions, subject: Subject) -> None:
        super().__init__(options, subject)
        self._hogs: list[subprocess.Popen[bytes]] = []

    def apply(self) -> None:
        roots = process_tree.roots(self.subject.processes())
        if not roots:
            raise FaultError(NOT_RUNNING(subject=self.subject.name))
        cpus = os.sched_getaffinity(roots[0].pid)
        for _ in range(self.options.count):
            hog = subprocess.Popen(
                (sys.executable, "-I", "-S", "-c", _LOOP),
                stdin=subprocess.DEVNULL,
                env=process.plain_environment(),
                preexec_fn=process.die_with_parent,
            )
            self._hogs.append(hog)
            os.sched_setaffinity(hog.pid, cpus)

    def restore(self) -> None:
        for hog in self._hogs:
            hog.kill()
        for hog in self._hogs:
            hog.wait()
        self._hogs.clear()


PART = CpuHogs
