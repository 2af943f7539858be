"""Ends of programs with all that they have started; later sessions of the same number stay."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from loadcell.linux import process as supervision
from loadcell.linux import procfs
from loadcell.linux.process import Session

needs_groups = pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists() and not os.environ.get("CI"),
    reason="the kernel has no autogroups",
)


@contextmanager
def program() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program that is the first of its session, and a child of it that outlives it."""
    with subprocess.Popen(
        ["sh", "-c", "sleep 300 <&- >&- 2>&- & echo $!; read -r line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as first:
        assert first.stdout is not None
        child = int(first.stdout.readline())
        try:
            yield first, child
        finally:
            first.kill()
            if procfs.command_line(child) == ["sleep", "300"]:
                os.kill(child, 9)


def test_a_session_ends_with_its_first_process() -> None:
    with program() as (first, child):
        session = Session.of(first.pid)
        assert sorted(supervision.remaining_processes(session)) == sorted([first.pid, child])
        supervision.end_session(session)
        assert supervision.remaining_processes(session) == []
        assert not procfs.command_line(child)


@needs_groups
def test_what_outlives_the_first_process_belongs_to_the_session(tmp_path: Path) -> None:
    with program() as (first, child):
        session = Session.of(first.pid)
        supervision.record_session(tmp_path, session)
        first.communicate("end")
        assert supervision.remaining_processes(session) == [child]
        supervision.end_recorded(tmp_path)
        assert supervision.remaining_processes(session) == []
        assert not procfs.command_line(child)


def test_a_later_session_of_the_same_number_is_left_alone(tmp_path: Path) -> None:
    with program() as (first, child):
        later = Session.of(first.pid)
        earlier = replace(later, started=later.started - 1, group="/autogroup-0")
        supervision.record_session(tmp_path, earlier)
        supervision.end_recorded(tmp_path)
        assert first.poll() is None, "the number is that of another first process"
        first.communicate("end")
        assert supervision.remaining_processes(earlier) == [], "the scheduling group is another"
        supervision.end_recorded(tmp_path)
        assert procfs.command_line(child) == ["sleep", "300"]


def test_without_scheduling_groups_nothing_is_ended_after_the_first_process() -> None:
    with program() as (first, child):
        session = replace(Session.of(first.pid), group="")
        assert len(supervision.remaining_processes(session)) == 2
        first.communicate("end")
        assert supervision.remaining_processes(session) == []
        assert procfs.command_line(child) == ["sleep", "300"]
