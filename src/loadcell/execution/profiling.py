"""The trials at a run's end that only profile: which there are, and how they are run.

They count in no figure.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadcell.design.order import Trial
from loadcell.model.message import Message, MessageCode, as_written
from loadcell.model.trial_record import Status, TrialRecord
from loadcell.plan.profile import CpuProfile
from loadcell.plan.treatment import Treatment
from loadcell.profilers import perf
from loadcell.profilers.perf import CpuSampler, ProfilerError
from loadcell.systems.base import Target

if TYPE_CHECKING:
    from loadcell.store.read import StoredRun

NO_PROFILE = MessageCode("no-profile", "info", error=Message, remedy=Message)

ROLE = "profile"


def wanted(
    profile: CpuProfile, treatments: Sequence[Treatment], records: Sequence[TrialRecord]
) -> list[Treatment]:
    """The treatments to be profiled, in the order of the plan.

    `best` is the one with the highest median throughput over its trials that are `ok`; none when there is
    none.
    """
    if profile.treatments == "all":
        return list(treatments)
    if profile.treatments != "best":
        return [treatment for treatment in treatments if treatment.id in profile.treatments]
    by_key: dict[str, list[float]] = {}
    for record in records:
        if record.status is Status.OK and record.totals and not record.memory:
            by_key.setdefault(record.treatment, []).append(record.totals.throughput_per_s or 0.0)
    best = max(by_key, key=lambda treatment: statistics.median(by_key[treatment]), default=None)
    return [treatment for treatment in treatments if treatment.id == best]


def trials(treatments: Sequence[Treatment], *, after: int, repeats: int) -> list[Trial]:
    """One trial of each, numbered on from `after`, and a repeat more than was scored."""
    return [
        Trial(after + number, treatment, repeats + 1, repeats + 1, f"{ROLE}-{treatment.id}", role=ROLE)
        for number, treatment in enumerate(treatments, 1)
    ]


def forewarn(note: Callable[[Message], None]) -> None:
    """Say at the beginning what the end would find: that there is nothing to sample with."""
    try:
        perf.find_program()
    except ProfilerError as error:
        note(NO_PROFILE(error=error.message, remedy=error.message.remedy or as_written("")))


def finished_names(stored: StoredRun | None, *, retry_failed: bool) -> set[str]:
    """Names of those that a stored run has, and that need not be done again."""
    if stored is None:
        return set()
    again = {"aborted"} | ({"failed", "timed-out", "invalid"} if retry_failed else set())
    return {record.name for record in stored.unscored if record.status not in again}


@contextlib.contextmanager
def profiling(
    sampler: CpuSampler | None, target: Target[Any], output: Callable[[str], None]
) -> Iterator[None]:
    """Samples the target inside, where there is a sampler; lets go of it in any case. Raises ProfilerError.

    A target in the process that makes the load is not there yet: it is sampled when that starts.
    """
    if sampler is None:
        yield
        return
    sampler.process_kind = target.process_kind
    try:
        if not target.in_worker:
            sampler.attach(target.processes())
        yield
    finally:
        sampler.end()
        for line in sampler.output():
            output(line)


@contextlib.contextmanager
def sampler(profile: CpuProfile, work: Path) -> Iterator[CpuSampler]:
    """A sampler for one trial, whose own files are gone afterwards."""
    made = CpuSampler(profile, work)
    try:
        yield made
    finally:
        made.remove()
