"""Sources of a run's trials: all planned when it begins, or, in a search, each decided after those before it;
and the trials at its end that only profile.

Each trial of a search is written into run.json before it begins, and an interrupted search resumes from
there. Trials that only profile count in no metric.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from loadcell.design.order import Trial
from loadcell.design.search import answer
from loadcell.design.search.searches import Searches, Step
from loadcell.execution import profiler_packages
from loadcell.execution.forecast import Course
from loadcell.execution.outcome import EXIT_INCOMPLETE, EXIT_MISSED, EXIT_OK
from loadcell.execution.outcome import missed as expectation_missed
from loadcell.execution.progress import Progress, Sought, title_of
from loadcell.execution.record import metrics
from loadcell.execution.resume import NOT_DONE, PlanChangedError
from loadcell.model import profile_trials
from loadcell.model.message import Message, MessageCode
from loadcell.model.run_record import PlannedTrial, RunRecord, TreatmentRecord
from loadcell.model.trial_record import SearchObservation, Status, TrialRecord
from loadcell.plan.load import LoadedPlan
from loadcell.plan.profile import Profile
from loadcell.plan.treatment import Treatment, short_keys
from loadcell.profilers.sampler import Sampler, sampler_of
from loadcell.store.read import StoredRun
from loadcell.store.write import RunWriter
from loadcell.systems.base import Target

RESUME_SEARCH = MessageCode("resume.search", trial=str)


def treatments_to_profile(
    profile: Profile, treatments: Sequence[Treatment], records: Sequence[TrialRecord]
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
        if record.status is Status.OK and record.totals and not (record.memory or record.heap):
            by_key.setdefault(record.treatment, []).append(record.totals.throughput_per_s or 0.0)
    best = max(by_key, key=lambda treatment: statistics.median(by_key[treatment]), default=None)
    return [treatment for treatment in treatments if treatment.id == best]


def profiling_trials(
    chosen: Sequence[tuple[Profile, Treatment]], *, after: int, repeats: int
) -> list[tuple[Profile, Trial]]:
    """One trial of each profile and treatment, numbered on from `after`; its repeat is a further one."""
    trials = []
    for number, (profile, treatment) in enumerate(chosen, after + 1):
        name = profile_trials.name_of(profile.kind, treatment.id)
        role = profile_trials.ROLE
        trials.append((profile, Trial(number, treatment, repeats + 1, repeats + 1, name, role=role)))
    return trials


def profiled_names(stored: StoredRun | None, *, retry_failed: bool) -> set[str]:
    """Names of those that a stored run has, and that need not be done again."""
    if stored is None:
        return set()
    again = {"aborted"} | ({"failed", "timed-out", "invalid"} if retry_failed else set())
    return {record.name for record in stored.unscored if record.status not in again}


@contextlib.contextmanager
def profiling(
    sampler: Sampler | None, target: Target[Any], output: Callable[[str], None], limit_s: float
) -> Iterator[None]:
    """Samples the target inside, where there is a sampler; lets go of it in any case. Raises ProfilerError.

    The load inside takes at most `limit_s`.

    A target in the process that makes the load is not there yet: it is sampled when that starts.
    """
    if sampler is None:
        yield
        return
    sampler.process_kind = target.process_kind
    sampler.limit_s = limit_s
    try:
        if not target.in_worker:
            sampler.attach(target.processes())
        yield
    finally:
        sampler.end()
        for line in sampler.output():
            output(line)


@contextlib.contextmanager
def sampler(profile: Profile, work: Path) -> Iterator[Sampler]:
    """A sampler for one trial, whose own files are gone afterwards."""
    made = sampler_of(profile, work)
    made.unpacked = profiler_packages.unpacked(profile)
    try:
        yield made
    finally:
        made.remove()


class TrialSource(Protocol):
    """Trials that a runner executes."""

    def __iter__(self) -> Iterator[Trial]:
        """Trials in the order of execution."""

    def ended(self, record: TrialRecord) -> TrialRecord:
        """Take the end of the current trial into account; returns its record as it is to be stored."""


class PlannedTrials:
    """Trials that are all known when the run begins."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = trials

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def ended(self, record: TrialRecord) -> TrialRecord:
        return record


def trial_entry(trial: Trial) -> PlannedTrial:
    """Trial as run.json lists it."""
    return PlannedTrial(
        trial.number,
        trial.name,
        trial.treatment.id,
        trial.repeat,
        trial.block,
        arm=trial.arm or None,
        role=trial.role or None,
    )


def treatment_entry(treatment: Treatment) -> TreatmentRecord:
    """Treatment as run.json lists it."""
    return TreatmentRecord(
        treatment.id, treatment.levels, dict(treatment.values), treatment.resolved.document()
    )


class Searching:
    """The trials of a search. `document` is the run's run.json, which grows by each of them."""

    def __init__(self, plan: LoadedPlan, seed: int) -> None:
        self.searches = Searches(plan, seed)
        load = plan.base.load
        self._load_s = float(load.warmup) + (load.expected_s or 0.0)
        self._counted = load.expected_s is None
        self._next: Step | None = None
        self._finished = 0

    def stored_treatments(self, stored: StoredRun | None) -> list[Treatment]:
        """The treatments a stored run has already, as the plan has them now."""
        entries = [] if stored is None else stored.run.treatments
        treatments = [self.searches.treatment(entry.levels) for entry in entries]
        return [treatment for treatment in treatments if treatment is not None]

    def replay(self, stored: StoredRun) -> dict[str, TrialRecord]:
        """Take the finished trials of a stored run for what they were decided to be; returns them by name.

        Raises PlanChangedError when they are not those that would be decided on now.
        """
        finished = {trial.name: trial for trial in stored.trials if trial.status not in NOT_DONE}
        replay: dict[str, TrialRecord] = {}
        while (step := self.searches.following()) is not None:
            record = finished.get(step.trial.name)
            if record is None or record.search is None or not _same(record.search, step):
                self._next = step
                break
            self.searches.learn(step, record.search)
            replay[step.trial.name] = record
        strange = sorted(finished.keys() - replay.keys())
        if strange:
            raise PlanChangedError([RESUME_SEARCH(trial=strange[0])])
        self._finished = len(replay)
        return replay

    def begin(self, run: RunRecord, writer: RunWriter, progress: Progress) -> None:
        """Prepare to run trials; each is written into `run` before it begins, and shown."""
        self.run, self._writer, self._progress = run, writer, progress

    def course(self, title: Message) -> Course:
        """The trials to come, as far as they are known."""
        done = sum(map(len, self.searches.seen)) - self._finished
        expected = [("", self._load_s)] * (done + max(1, self.searches.remaining()))
        path = self._writer.path
        return Course(title, path, expected, reused=self._finished, about=True, counted=self._counted)

    def __iter__(self) -> Iterator[Trial]:
        step = self._next or self.searches.following()
        while step is not None:
            self._next = step
            self._plan(step)
            self._progress.sought(self._sought(step), self.course(title_of(self.run)))
            yield step.trial
            step = self.searches.following()

    def ended(self, record: TrialRecord) -> TrialRecord:
        """Record of a finished trial with the search's observation of it."""
        assert self._next is not None
        if record.status in NOT_DONE:
            return record
        values = metrics(record) if record.status is Status.OK else {}
        observation = self.searches.observed(self._next, record, values)
        self.searches.learn(self._next, observation)
        return replace(record, search=observation)

    def exit_status(self, records: Sequence[TrialRecord]) -> int:
        """0 when every search has an answer; 3 when one has not; 1 when an expectation was missed at an
        answer's own level.

        Levels that break the target, or miss an expectation, are what a search goes through.
        """
        missed = False
        for group, seen in enumerate(self.searches.seen):
            search_answer = answer(self.searches.question, seen)
            if search_answer.level is None:
                return EXIT_INCOMPLETE
            level = search_answer.level
            missed |= any(
                expectation_missed(record) for record in records if _is_at(record.search, group, level)
            )
        return EXIT_MISSED if missed else EXIT_OK

    def _plan(self, step: Step) -> None:
        """Write a trial, and its treatment if it is new, into run.json before it begins."""
        trial, run = step.trial, self.run
        if not any(entry.name == trial.name for entry in run.trials):
            entry = replace(trial_entry(trial), group=step.group, stage=step.probe.stage, why=step.probe.why)
            run = replace(run, trials=(*run.trials, entry))
        if not any(entry.id == trial.treatment.id for entry in run.treatments):
            treatments = (*run.treatments, treatment_entry(trial.treatment))
            run = replace(
                run, treatments=tuple(sorted(treatments, key=lambda entry: self.searches.position(entry.id)))
            )
        self.run = run
        self._writer.write_run(run)

    def _sought(self, step: Step) -> Sought:
        stands = self.searches.standing(step.group)
        search = self.searches.search
        low, high = stands.low, self.searches.question.top if stands.high is None else stands.high
        places = self.searches.question.places
        width = (places[-1] - places[0]) or 1.0
        return Sought(
            stage=stands.stage,
            factor=short_keys([search.key])[0],
            among=", ".join(self.searches.others(step.group).values()),
            ends=(search.labels[0], search.labels[-1]),
            between=(search.labels[low], None if stands.high is None else search.labels[high]),
            best=None if stands.best is None else search.labels[stands.best],
            value=stands.best_value,
            low=(places[low] - places[0]) / width,
            high=(places[high] - places[0]) / width,
            at=None if stands.best is None else (places[stands.best] - places[0]) / width,
        )


def _same(observed: SearchObservation, step: Step) -> bool:
    """True if the observation is of this step."""
    return (observed.group, observed.level, observed.stage) == (
        step.group,
        step.probe.level,
        step.probe.stage,
    )


def _is_at(observed: SearchObservation | None, group: int, level: int) -> bool:
    return observed is not None and observed.group == group and observed.level == level
