"""Runs a plan: every trial in its order, each recorded before the next begins, until the end or until
somebody stops it.
"""

from __future__ import annotations

import contextlib
import os
import secrets as random_source
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from loadcell import __version__
from loadcell.design.order import Trial, draw_seed, trials
from loadcell.execution import context as run_context
from loadcell.execution import machine_watch as neighbours
from loadcell.execution import profiler_packages, provenance, resume, trial_source, workdir
from loadcell.execution.anonymise import anonymous_run
from loadcell.execution.context import RunContext
from loadcell.execution.executor import Executor, WorkerExecutor
from loadcell.execution.forecast import Course
from loadcell.execution.interrupts import NOTHING_LEFT, Interrupts
from loadcell.execution.outcome import EXIT_FAULT_REMAINS, exit_status, should_abort, verdicts
from loadcell.execution.progress import Progress, title_of
from loadcell.execution.target_pool import TargetPool, fetch_packages, target_key
from loadcell.execution.trial import TrialRun
from loadcell.execution.trial_source import (
    PlannedTrials,
    Searching,
    TrialSource,
    treatment_entry,
    trial_entry,
)
from loadcell.faults import journal as journals
from loadcell.faults.base import FaultClass
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.model.numbers import utc_text
from loadcell.model.run_record import RUN_COMMAND, Execution, RepeatedRun, RunRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.plan.load import LoadedPlan
from loadcell.plan.parts import Parts
from loadcell.plan.secrets import Secrets
from loadcell.plan.treatment import Treatment
from loadcell.store import layout
from loadcell.store.layout import SCHEMA, StoreError, new_run_directory
from loadcell.store.read import StoredRun, read_run
from loadcell.store.redaction import redacted, redacted_message
from loadcell.store.write import RunWriter, is_free

RUN_INTERRUPTED = MessageCode("run.interrupted")
RUN_NO_TRIAL = MessageCode("run.no-trial", "info", resume=str)
TARGET_NOT_REMOVED = MessageCode("target.not-removed", why=ForeignText)
RUN_DIRECTORY_EXISTS = MessageCode("run.directory-exists", path=str, resume=str)
NOTHING_PROFILED = MessageCode("nothing-profiled", "info")
FAULT_UNDONE = MessageCode("fault.undone-later", "info", action=str, subject=str)
FAULT_REMAINS = MessageCode("fault.remains", "problem", action=str, subject=str, id=str, why=Message)

#: Limit of removing the targets at the end of a search, whose treatments have a limit each.
_REMOVAL_LIMIT_S = 120.0


@dataclass(frozen=True)
class Options:
    """Options of a run, besides the plan. `out` is the run's directory; None: one under `results`.

    `aa` runs every treatment as two identical arms, `anonymous` keeps names and addresses of the machine out
    of the record; a resumed run keeps what it was begun with. `ends_process` lets a second signal end the
    process, which a notebook must survive.
    """

    results: Path = Path("results")
    out: Path | None = None
    seed: int | None = None
    resume: Path | None = None
    retry_failed: bool = False
    aa: bool = False
    anonymous: bool = False
    command: tuple[str, ...] = ()
    #: the command that takes `--resume` for this run
    by: str = RUN_COMMAND
    repeats_run: RepeatedRun | None = None
    ends_process: bool = True


@dataclass(frozen=True)
class Ended:
    """Outcome of a run. `exit_status` as the command line has it; `reason` if it ended early, and the
    `signal` that interrupted it.
    """

    path: Path
    state: str
    exit_status: int
    reason: Message | None = None
    signal: int | None = None


@dataclass
class Runner:
    """One execution of a plan."""

    plan: LoadedPlan
    parts: Parts
    options: Options
    progress: Progress
    executor: Executor = field(default_factory=WorkerExecutor)
    secrets: Secrets = field(default_factory=Secrets)
    work_home: Path = workdir.HOME
    neighbours: Callable[[], list[int]] = neighbours.other_runs
    #: the run's directory once it stands: from then on there is something to resume
    standing: Path | None = None
    #: the command that resumes the run, by its record; None until that is known
    resumed_by: str | None = None
    #: whether a fault of an earlier run could not be undone
    faults_remain: bool = False

    @property
    def begun(self) -> bool:
        """True if there is something to resume."""
        return self.standing is not None

    def run(self) -> Ended:
        """Run to the end.

        Raises StoreError (the directory cannot be written), resume.PlanChangedError, TargetError (a server's
        package cannot be fetched).

        A KeyboardInterrupt before the first trial has a note on the remains of the run; from then on
        it ends in order.
        """
        try:
            return self._run()
        except KeyboardInterrupt as error:
            path = self.standing
            message = NOTHING_LEFT() if path is None else RUN_NO_TRIAL(resume=self._again(path))
            error.add_note(self.progress.write(message))
            raise

    def _run(self) -> Ended:
        self.standing = self.options.resume
        stored = None if self.options.resume is None else read_run(self.options.resume)
        seed = self._seed(stored)
        aa = self.options.aa if stored is None else bool(stored.run.aa)
        search = None if self.plan.search is None else Searching(self.plan, seed)
        ordered = trials(self.plan, seed, aa=aa) if search is None else ()
        if stored is not None and search is None:
            ordered = resume.in_stored_order(stored.run, ordered)
        treatments = self.plan.treatments if search is None else search.stored_treatments(stored)
        run = self._run_record(seed, ordered, treatments, aa)
        if stored is not None:
            planned = replace(run, trials=stored.run.trials) if search else run
            resume.compare(stored.run, anonymous_run(planned) if stored.run.anonymous else planned)
        checkout = (
            None if stored is None else provenance.of_resumption(stored.run, self.plan, self.progress.note)
        )
        fetch_packages(self.parts.targets, self.plan.treatments, self.progress.fetching)
        path = self._path(stored)
        self.resumed_by = resumed_by = (run if stored is None else stored.run).resumed_by
        writer = RunWriter(path, self.secrets.redact, resumed_by=resumed_by)
        try:
            writer.recover()
            reused: dict[str, TrialRecord] = {}
            source: PlannedTrials | Searching = search or PlannedTrials(ordered)
            if stored is not None:
                reused, source = self._remaining(read_run(path), ordered, search)
                run = replace(
                    stored.run,
                    treatments=run.treatments,
                    ended_utc=None,
                    state="running",
                    labels={**(stored.run.labels or {}), **self.plan.labels},
                )
            execution = Execution(
                pid=os.getpid(),
                started_utc=utc_text(),
                how="first" if stored is None else "resumed",
                trials=len(source.trials) if isinstance(source, PlannedTrials) else None,
                reused=len(reused),
                loadcell_version=__version__,
                checkout=checkout,
            )
            run = replace(run, executions=(*run.executions, execution))
            if stored is None:
                if not self.options.anonymous:
                    run = provenance.of_plan(run, self.plan, writer.path, self.secrets, self.progress.note)
                writer.write_plan(self.plan.text)
                writer.write_environment(
                    run_context.environment(self._role(), anonymous=self.options.anonymous)
                )
            writer.write_run(run)
            self.standing = path
            if search is not None:
                search.begin(run, writer, self.progress)
            return self._execute(writer, run, source, reused, seed)
        except (KeyboardInterrupt, StoreError):
            if not self.begun:
                writer.discard()
            raise
        finally:
            writer.close()

    def _again(self, path: Path) -> str:
        """The command that resumes the run."""
        return layout.resume_command(path, self.resumed_by or self.options.by)

    def _remaining(
        self, stored: StoredRun, ordered: Sequence[Trial], search: Searching | None
    ) -> tuple[dict[str, TrialRecord], PlannedTrials | Searching]:
        """Finished trials of a resumed run by name, and its remaining trials."""
        if search is not None:
            return search.replay(stored), search
        remaining = resume.remaining(stored, ordered, retry_failed=self.options.retry_failed)
        return remaining.reusable, PlannedTrials(remaining.todo)

    def _execute(
        self,
        writer: RunWriter,
        run: RunRecord,
        source: PlannedTrials | Searching,
        reused: dict[str, TrialRecord],
        seed: int,
    ) -> Ended:
        with (
            neighbours.named(),
            Interrupts(
                self.executor.kill, self._again(writer.path), ends_process=self.options.ends_process
            ) as interrupts,
            workdir.guarded(self.work_home),
        ):
            context = RunContext(
                self.parts,
                self.executor,
                interrupts,
                self.progress,
                self.secrets.reveal,
                self.secrets.redact,
                neighbours=self.neighbours,
                through_proxy=any(action.needs_proxy for action in self._actions),
            )
            work = workdir.make_directory(writer.path.name, self.work_home)
            pool = TargetPool(
                self.parts.targets,
                work,
                log=context.lines.put,
                secret=self.secrets.reveal,
                note=self.progress.note,
                preloads=any(action.preloads for action in self._actions),
                filling=self.progress.filling,
            )
            records = list(reused.values())
            state, reason = "failed", None
            try:
                workdir.sweep(self.work_home, self._release, context.lines.put)
                self._undo_abandoned(context)
                self.progress.run_began(_course(source, title_of(run), writer.path, len(reused)))
                if self.plan.profiles:
                    profiler_packages.prepare(self.plan.profiles, self.progress.note, self.progress.fetching)
                reason = self._trials(writer, source, seed, pool, context, records)
                if reason is None and self.plan.profiles:
                    run = self._profile(
                        writer, _current(run, source), source, seed, pool, context, records, work
                    )
                state = "interrupted" if interrupts.requested else "failed" if reason else "finished"
            finally:
                context.guardian.close()
                self._remove_targets(pool, context)
                self.progress.run_ended()
                state = "interrupted" if interrupts.requested else state
                run = _current(run, source)
                self._close(writer, run, state, reason, records, context)
                workdir.remove(work, self._release)
                workdir.sweep(self.work_home, self._release)  # servers that were still ending at the start
        status = exit_status(state, run.trials, records)
        faults_remain = self.faults_remain or status == EXIT_FAULT_REMAINS
        if isinstance(source, Searching) and state == "finished":
            status = source.exit_status(records)
        if faults_remain:
            status = EXIT_FAULT_REMAINS
        why = reason and redacted_message(reason, self.secrets.redact)
        return Ended(writer.path, state, status, why, interrupts.signal)

    @property
    def _actions(self) -> list[FaultClass]:
        """Actions of the faults of all trials."""
        settings = (self.plan.base, *(treatment.resolved for treatment in self.plan.treatments))
        names = {fault.action for resolved in settings for fault in resolved.faults}
        return [self.parts.faults[name] for name in names]

    def _trials(
        self,
        writer: RunWriter,
        source: TrialSource,
        seed: int,
        pool: TargetPool,
        context: RunContext,
        records: list[TrialRecord],
    ) -> Message | None:
        """Run the trials; returns the reason if the run was abandoned."""
        mine: list[TrialRecord] = []
        for trial in source:
            if context.interrupts.requested:
                return RUN_INTERRUPTED()
            self.progress.trial_began(trial.name)
            files = writer.trial(trial.name)
            try:
                record = source.ended(TrialRun(trial, seed, pool, context, files).execute())
                files.finish(record)
            except StoreError:
                files.abandon()
                raise
            records.append(record)
            mine.append(record)
            self.progress.trial_ended(without_secrets(record, self.secrets.redact))
            if (reason := should_abort(mine)) is not None:
                return reason
        return RUN_INTERRUPTED() if context.interrupts.requested else None

    def _profile(
        self,
        writer: RunWriter,
        run: RunRecord,
        source: PlannedTrials | Searching,
        seed: int,
        pool: TargetPool,
        context: RunContext,
        records: Sequence[TrialRecord],
        work: Path,
    ) -> RunRecord:
        """Run the trials that only profile, in which nothing is measured that counts: what fails there costs
        no result.
        """
        stored = read_run(writer.path)
        treatments = (
            source.stored_treatments(stored) if isinstance(source, Searching) else self.plan.treatments
        )
        chosen = [
            (profile, treatment)
            for profile in self.plan.profiles
            for treatment in trial_source.treatments_to_profile(profile, treatments, records)
        ]
        if not chosen:
            self.progress.note(NOTHING_PROFILED())
        planned = trial_source.profiling_trials(chosen, after=len(run.trials), repeats=self.plan.repeats)
        run = replace(run, unscored=tuple(trial_entry(trial) for _, trial in planned))
        if isinstance(source, Searching):
            source.run = run
        writer.write_run(run)
        done = trial_source.profiled_names(stored, retry_failed=self.options.retry_failed)
        for profile, trial in planned:
            if trial.name in done or context.interrupts.requested:
                continue
            self.progress.unscored_began(trial.name)
            files = writer.trial(trial.name)
            try:
                with trial_source.sampler(profile, work) as sampler:
                    record = TrialRun(trial, seed, pool, context, files, sampler).execute()
                files.finish(record)
            except StoreError:
                files.abandon()
                raise
            self.progress.unscored_ended(without_secrets(record, self.secrets.redact))
        return run

    def _undo_abandoned(self, context: RunContext) -> None:
        """Undo the faults of runs that were killed together with their guardian."""
        for outcome in journals.replay(context.guardian.journal):
            entry, error = outcome.entry, outcome.error
            if error is None:
                self.progress.note(FAULT_UNDONE(action=entry.action, subject=entry.subject))
            else:
                self.faults_remain = True
                self.progress.note(
                    FAULT_REMAINS(action=entry.action, subject=entry.subject, id=entry.id, why=error.message)
                )
        remaining = map(journals.undetermined, context.guardian.journal.undetermined())
        unusable = (file.message for file in context.guardian.journal.unusable())
        for message in (*remaining, *unusable):
            self.faults_remain = True
            self.progress.note(message)

    def _release(self, work: Path) -> None:
        """Free what killed systems of a run hold outside its work directory."""
        for name, part in self.parts.targets.items():
            part.release(work / name)

    def _remove_targets(self, pool: TargetPool, context: RunContext) -> None:
        """Stop and remove the targets, whatever happened before; a second signal ends even this."""
        try:
            limits_s = (float(treatment.resolved.limits.cleanup) for treatment in self.plan.treatments)
            limit_s = max(limits_s, default=_REMOVAL_LIMIT_S)
            with context.interrupts.bounded(limit_s, breakable=False):
                pool.destroy()
        except BaseException as error:  # the record must still be closed
            why = self.secrets.redact(str(error) or type(error).__name__)
            self.progress.note(TARGET_NOT_REMOVED(why=why))

    def _close(
        self,
        writer: RunWriter,
        run: RunRecord,
        state: str,
        reason: Message | None,
        records: Sequence[TrialRecord],
        context: RunContext,
    ) -> None:
        """Write how the run ended. On a full disk the old run.json stays, and the run reads as `killed`."""
        now = utc_text()
        *earlier, execution = run.executions
        run = replace(
            run,
            state=state,
            ended_utc=now,
            reason=reason.text if reason else None,
            reason_code=reason.code if reason else None,
            reason_args=reason.plain_arguments if reason else {},
            verdicts=verdicts(run, records),
            executions=(*earlier, replace(execution, ended_utc=now)),
        )
        with contextlib.suppress(StoreError):
            writer.write_run(run)
            writer.output(context.waiting_lines())

    def _seed(self, stored: StoredRun | None) -> int:
        if stored is not None and self.options.seed is None and self.plan.seed is None:
            return stored.run.seed or 0
        chosen = self.plan.seed if self.options.seed is None else self.options.seed
        return draw_seed() if chosen is None else chosen

    def _path(self, stored: StoredRun | None) -> Path:
        if stored is not None:
            return stored.path
        if self.options.out is not None:
            if not is_free(self.options.out):
                raise StoreError(
                    RUN_DIRECTORY_EXISTS(path=self.options.out, resume=self._again(self.options.out))
                )
            return self.options.out
        return new_run_directory(
            self.options.results, self.plan.name, datetime.now(UTC), random_source.token_hex(2)
        )

    def _role(self) -> str:
        return "client" if self.plan.base.target.external else "client+target"

    def _run_record(
        self, seed: int, ordered: Sequence[Trial], treatments: Sequence[Treatment], aa: bool
    ) -> RunRecord:
        """Record of a run that begins. In a search `trials` and `treatments` grow as they are decided on."""
        plan = self.plan
        return RunRecord(
            schema=SCHEMA,
            plan_name=plan.name,
            plan_directory=str(plan.directory),
            title=plan.title,
            question=plan.question,
            title_zh=plan.title_zh,
            question_zh=plan.question_zh,
            seed=seed,
            order=plan.order,
            design=plan.design,
            repeats=plan.repeats,
            aa=aa,
            factors=tuple(factor.record() for factor in plan.factors),
            search=None if plan.search is None else plan.search.record(),
            treatments=tuple(map(treatment_entry, treatments)),
            trials=tuple(map(trial_entry, ordered)),
            expect=tuple(expectation.text for expectation in plan.expect),
            sets=tuple(plan.sets),
            only=tuple(plan.only),
            loadcell_version=__version__,
            engine_version=_engine_version(),
            python=sys.version.split()[0],
            started_utc=utc_text(),
            state="running",
            command=tuple(self.options.command),
            resumed_by=self.options.by,
            labels=dict(self.plan.labels),
            about=dict(self.plan.about),
            repeats_run=self.options.repeats_run,
        )


def _current(run: RunRecord, source: PlannedTrials | Searching) -> RunRecord:
    """Record of the run with all trials planned so far; those of a search grow."""
    return source.run if isinstance(source, Searching) else run


def _course(source: PlannedTrials | Searching, title: Message, path: Path, reused: int) -> Course:
    if isinstance(source, Searching):
        return source.course(title)
    loads = [(trial.name, trial.treatment.resolved.load) for trial in source.trials]
    counted = any(load.expected_s is None for _, load in loads)
    lengths = [(name, float(load.warmup) + (load.expected_s or 0.0)) for name, load in loads]
    keys = {id(trial.treatment): target_key(trial.treatment.resolved) for trial in source.trials}
    targets = [keys[id(trial.treatment)] for trial in source.trials]
    return Course(title, path, lengths, reused=reused, counted=counted, targets=targets)


def _engine_version() -> str | None:
    try:
        from loadcell import _engine  # noqa: PLC0415 - a run without an engine reports it
    except ImportError:
        return None
    return str(_engine.version())


def without_secrets(record: TrialRecord, redact: Callable[[str], str]) -> TrialRecord:
    """The record for the screen, with secrets neither in its texts nor in the arguments of its reason."""
    return replace(
        record,
        reason=record.reason and redact(record.reason),
        advice=record.advice and redact(record.advice),
        reason_args={name: redacted(value, redact) for name, value in (record.reason_args or {}).items()},
    )
