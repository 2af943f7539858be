"""The faults of a trial's load, on a target without a server: order, errors, records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from faults.sleepers import family, journal_files, until_states
from loadcell.execution.fault_checks import of_faults
from loadcell.execution.fault_run import FaultRun
from loadcell.faults import journal as journals
from loadcell.faults.base import NOT_RUNNING, EndedEarlyError, Fault, FaultError
from loadcell.faults.guardian import Guardian
from loadcell.faults.hang import Hang
from loadcell.faults.journal import Entry, Journal
from loadcell.linux.process_identity import ProcessIdentity
from loadcell.model.fault_record import FaultRecord, Instants
from loadcell.model.json import JsonObject
from loadcell.plan.faults import FaultTiming, PlannedFault
from loadcell.plan.parts import SubjectOptions
from loadcell.systems.subjects import Subject

CALLS: list[str] = []


class Halfway(Fault[SubjectOptions]):
    """Fails after it has begun to act."""

    name = "halfway"
    error: ClassVar[type[FaultError]] = FaultError

    def apply(self) -> None:
        CALLS.append("apply")
        raise FaultError(NOT_RUNNING(subject=self.subject.name))

    def restore(self) -> None:
        CALLS.append("restore")


class Unprepared(Halfway):
    """Finds its subject gone."""

    name = "unprepared"

    def prepare(self) -> None:
        raise FaultError(NOT_RUNNING(subject=self.subject.name))


class Early(Halfway):
    """Ends before its time."""

    name = "early"

    def apply(self) -> None:
        CALLS.append("apply")

    def restore(self) -> None:
        raise EndedEarlyError(NOT_RUNNING(subject=self.subject.name))


def subject(name: str) -> Subject:
    return Subject(name, lambda: ())


@pytest.fixture(autouse=True)
def _calls() -> Iterator[None]:
    CALLS.clear()
    yield
    CALLS.clear()


def ran(kind: type[Fault[Any]], home: Path) -> FaultRecord:
    """The record of a fault that is applied after 10 ms."""
    timing = FaultTiming.model_validate({"at": "10ms"})
    planned = PlannedFault(kind.name, SubjectOptions(subject="server"), timing)
    guardian = Guardian(Journal(home))
    run = FaultRun([planned], {kind.name: kind}, subject, guardian, lambda line: None)
    run.begin(time.monotonic_ns(), 1.0)
    time.sleep(0.1)
    [record] = run.end()
    guardian.close()
    return record


def test_a_fault_that_fails_halfway_is_restored(tmp_path: Path) -> None:
    assert (ran(Halfway, tmp_path).state, CALLS) == ("failed", ["apply", "restore"])


def test_a_fault_that_did_not_begin_is_not_restored(tmp_path: Path) -> None:
    assert (ran(Unprepared, tmp_path).state, CALLS) == ("failed", [])


def test_a_fault_that_ended_early_has_failed_and_does_not_remain(tmp_path: Path) -> None:
    record = ran(Early, tmp_path)
    assert (record.state, record.undone) == ("failed", None)
    assert record.applied is not None


def test_a_fault_that_another_process_undid_has_failed(tmp_path: Path) -> None:
    """As by `loadcell faults undo --all` during the run."""
    journal = Journal(tmp_path)
    guardian = Guardian(journal)
    timing = FaultTiming.model_validate({"at": "10ms", "for": "60s"})
    planned = PlannedFault("hang", SubjectOptions(subject="sleeper"), timing)
    events: list[JsonObject] = []
    with family() as pid:
        run = FaultRun(
            [planned], {"hang": Hang}, lambda name: Subject(name, lambda: (pid,)), guardian, events.append
        )
        run.begin(time.monotonic_ns(), 60.0)
        until_states(pid, {"T"})
        while not events:
            time.sleep(0.01)
        [entry] = journal.entries()
        assert isinstance(entry, Entry)
        assert entry.process == ProcessIdentity.of_this_process()
        assert journals.undo(entry, journal).error is None
        until_states(pid, {"S"})
        [record] = run.end()
        guardian.close()
    assert (record.state, record.undone, record.reason) == ("failed", None, "fault.undone-by-other")
    assert record.applied is not None
    assert journal_files(tmp_path) == []


def test_a_fault_whose_undo_would_end_another_one_is_not_applied(tmp_path: Path) -> None:
    """Two names of one subject, unknown to the plan's checks."""
    guardian = Guardian(Journal(tmp_path))
    planned = [
        PlannedFault("hang", SubjectOptions(subject=name), FaultTiming.model_validate({"at": at}))
        for name, at in (("sleeper", "10ms"), ("sleeper-1", "300ms"))
    ]
    events: list[JsonObject] = []
    with family() as pid:
        run = FaultRun(
            planned, {"hang": Hang}, lambda name: Subject(name, lambda: (pid,)), guardian, events.append
        )
        run.begin(time.monotonic_ns(), 60.0)
        while len(events) < 2:
            time.sleep(0.01)
        until_states(pid, {"T"})
        assert len(journal_files(tmp_path)) == 1
        first, second = run.end()
        until_states(pid, {"S"})
        guardian.close()
    assert first.state == "undone"
    assert (second.state, second.applied, second.reason) == ("failed", None, "fault.in-effect-already")
    assert journal_files(tmp_path) == []


@pytest.mark.parametrize(("late_s", "status"), [(0.05, "ok"), (0.5, "noticed")])
def test_late_undoing_is_remarked_on(late_s: float, status: str) -> None:
    undone = Instants(2.0, 2.0 + late_s, 2.1 + late_s)
    record = FaultRecord("hang", "redis", "undone", Instants(1.0, 1.0, 1.0), undone)
    assert {check.name: check.verdict for check in of_faults([record])}["fault-late"] == status
