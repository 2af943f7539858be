"""One trial's life: target up, prepare, warm-up, measure, collect, verify, clean up; and the record of it.

Whatever goes wrong on the way is a result and ends in trial.json. Only a StoreError, when the record itself
can no longer be written, leaves through here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from loadcell.analysis.faults.management import Answer
from loadcell.analysis.limits.unobserved import unobserved
from loadcell.design.order import Trial
from loadcell.execution import (
    affinity,
    checks,
    expectations,
    fault_checks,
    gc_record,
    machine_watch,
    trial_source,
)
from loadcell.execution.context import LIMIT_KEYS, PHASES, Phases, RunContext, TrialEndedError
from loadcell.execution.executor import LoadHooks, data_order, load_order, load_threads, trial_seed
from loadcell.execution.fault_run import FaultRun
from loadcell.execution.load_watch import LoadWatch
from loadcell.execution.management_watch import ManagementWatch
from loadcell.execution.network_proxy import PROXY_OF_SOCKET, NetworkProxy, ProxySize
from loadcell.execution.outcome import (
    DIED,
    all_requests_failed,
    failures_wanted,
    most_requests_failed,
    nothing_ended,
)
from loadcell.execution.record import (
    metrics,
    server_calls,
    server_counters,
    with_account,
    with_judgements,
    with_result,
)
from loadcell.execution.statements import Statements
from loadcell.execution.target_pool import TargetPool
from loadcell.execution.tool_files import ToolFiles
from loadcell.faults.base import FaultError
from loadcell.model.engine_messages import load_outcome
from loadcell.model.extensions import MYSQL
from loadcell.model.json import JsonObject, document
from loadcell.model.load_result import LoadEvent, LoadingProgress, LoadResult, PhaseBegan
from loadcell.model.message import Message
from loadcell.model.numbers import utc_text
from loadcell.model.resources import Unobserved
from loadcell.model.trial_record import Check, Status, TrialRecord
from loadcell.plan import secrets
from loadcell.plan.affinity import numbers
from loadcell.plan.model import Resolved
from loadcell.plan.workload import DATA_SEED
from loadcell.profilers.launcher import END_WITHIN_S
from loadcell.profilers.sampler import Sampler
from loadcell.store import timeline_files
from loadcell.store.layout import WORKER_LINE
from loadcell.store.write import TrialWriter
from loadcell.systems.base import (
    COMMITS_PER_CONNECTION,
    WORKERS_PER_QUERY,
    DataSet,
    DataSpec,
    Endpoint,
    ServerEndpoint,
    Target,
)
from loadcell.systems.subjects import NETWORK, Subject
from loadcell.workloads.composite import CompositeWorkload

#: The engine's outcomes, and the `reason_code`, of a number of requests that were not made within their
#: limit.
UNFINISHED = ("unfinished", "unsettled")


@dataclass
class TrialRun:
    """Runs one trial and gives its record, not yet written."""

    trial: Trial
    run_seed: int
    pool: TargetPool
    context: RunContext
    writer: TrialWriter
    sampler: Sampler | None = None
    _workload: CompositeWorkload = field(init=False)
    _record: TrialRecord = field(init=False)
    _phases: Phases = field(init=False)
    _watch: LoadWatch = field(init=False)
    _checks: list[Check] = field(init=False, default_factory=list)
    _target: Target[Any] | None = field(init=False, default=None)
    #: why none of the target's processes is known
    _unobserved: Unobserved | None = field(init=False, default=None)
    #: what the target had counted before the load
    _counters_before: dict[str, int] = field(init=False, default_factory=dict)
    _pinning: affinity.Pinning = field(init=False, default_factory=affinity.Pinning)
    #: what the engine speaks with the target
    _protocol: str = field(init=False, default="")
    _faults: FaultRun | None = field(init=False, default=None)
    #: asks the management plane in trials with faults
    _management: ManagementWatch = field(init=False)
    #: carries the load in runs with faults that need it
    _proxy: NetworkProxy | None = field(init=False, default=None)
    #: files that a tool leaves
    _tool_files: ToolFiles = field(init=False)
    #: the load, once it has ended
    _result: LoadResult | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        context = self.context
        self._workload = CompositeWorkload.of(self._resolved, context.parts)
        self._record = self._begun()
        self._phases = Phases(
            context.interrupts, context.monotonic_ns, context.progress.phase, self.writer.output, self._event
        )
        self._tool_files = ToolFiles(self.writer)
        self._watch = LoadWatch(context, self._phases, self.writer, self._resolved, self._event)

    @property
    def _resolved(self) -> Resolved:
        return self.trial.treatment.resolved

    def execute(self) -> TrialRecord:
        """The whole life. Raises StoreError only."""
        self._watch.meet(self.context.neighbours())
        try:
            self._live()
        except TrialEndedError as ended:
            self._end(ended)
        self._clean_up()
        self._record = gc_record.of_trial(self._record, self._result, self._resolved, self.writer)
        return self._ended()

    def _end(self, ended: TrialEndedError) -> None:
        """It ends for this reason; that the target is dead by now is the better one."""
        self._conclude(ended.status, ended.reason)
        if ended.status is not Status.FAILED or self._target is None or self._target.alive():
            return
        phase = "load" if self._phases.current in LIMIT_KEYS else self._phases.current
        reason = self._target.exit_cause() or ended.reason
        self._conclude(ended.status, reason)
        died = DIED(phase=PHASES[phase], why=reason)
        self._record = replace(self._record, reason=died.text, died_during=phase)

    def _conclude(self, status: Status, reason: Message) -> None:
        """Record the end and its reason, in English and as a code with arguments."""
        self._record = replace(
            self._record,
            status=status,
            reason=reason.text,
            reason_code=reason.code or None,
            reason_args=reason.plain_arguments,
            advice=reason.advice,
        )

    def _live(self) -> None:
        limits = self._resolved.limits
        with self._phases.step("up", limits.up):
            pins = self._pinning = affinity.of(self._resolved, self.context.parts, self.context.root)
            target = self._target = self.pool.up(self._resolved, self._event, pins.target)
            pins.look("target", "up", target.processes())
        with self._phases.step("prepare", limits.prepare):
            if (data_set := self._prepare(target)) is not None:
                self._record = replace(self._record, data_set=document(data_set))
            self._statements(target).before()
        result = self._load(target)
        with self._phases.step("collect", limits.collect):
            if self._is_down_by_fault(target):
                self._checks.append(fault_checks.TARGET_DOWN)
            else:
                self._collect(target, result)
        with self._phases.step("verify", limits.verify):
            self._verify(target, result)

    def _prepare(self, target: Target[Any]) -> DataSet | None:
        """Provide the data set of the workload, if it has one."""
        workload = self._workload
        if (data := workload.data()) is None:
            return None

        def load(endpoint: Endpoint) -> int | None:
            rows: int | None = None
            for kind, section in workload.loading().items():
                order = data_order(
                    endpoint.section(),
                    secrets.revealed({kind: section}, self.context.secret),
                    self._resolved,
                    self._threads(target),
                    DATA_SEED,
                    made_by=workload.loaded_by(kind),
                    pin=self._pin,
                )
                hooks = self._hooks(float(self._resolved.limits.prepare), self._loading)
                loaded = self.context.executor.prepare(order, hooks)
                if loaded.rows is not None:
                    rows = (rows or 0) + loaded.rows
            return rows

        return target.prepare(
            DataSpec(data, workload.key_prefixes(), workload.table_names()),
            load,
            will_change=workload.changes_data,
        )

    def _load(self, target: Target[Any]) -> LoadResult:
        """Warm-up and measurement, by the executor; the engine reports the phases."""
        resolved = self._resolved
        limit_s = load_limit_s = float(
            resolved.load.warmup + resolved.load.duration + resolved.limits.load_slack
        )
        if self._workload.lays_out:
            limit_s += float(resolved.limits.prepare)
        with self._phases.step("warmup", None, breakable=False), ExitStack() as stack:
            # The server is asked for its processes and counters, and may not answer.
            with self.context.interrupts.bounded(float(resolved.limits.collect)):
                endpoint = target.endpoint()
                reached = self._by_proxy(endpoint, target, stack)
                order = load_order(
                    reached.section(),
                    self._workload,
                    resolved,
                    self._threads(target),
                    trial_seed(self.run_seed, self.trial.repeat),
                    reveal=self.context.secret,
                    pin=self._pin,
                )
                if (profiler := self.sampler) is not None:
                    order = order.with_workloads(profiler.workload)
                if prefix := target.worker_prefix():
                    order = replace(order, prefix=prefix)
                    limit_s += END_WITHIN_S
                self._protocol = order.protocol
                self._counters_before = target.counters()
                self._faults = self._fault_run(target)
                management = target.management() if self._faults is not None else {}
                self._management = ManagementWatch(management, self._event, self.context.monotonic_ns)
                ports = (endpoint.port,) if isinstance(endpoint, ServerEndpoint) else ()
                self._watch.start_monitors(target, ports)
            if not self._watch.target_processes and not target.in_worker:
                here = machine_watch.on_this_machine(endpoint.section())
                self._unobserved = Unobserved.UNIDENTIFIED if here else Unobserved.ELSEWHERE
            if self._unobserved is Unobserved.UNIDENTIFIED:
                why = unobserved(self._unobserved)
                self.context.progress.note(why, key=why.code)
            try:
                with trial_source.profiling(self.sampler, target, self.writer.output, limit_s):
                    hooks = replace(self._hooks(limit_s, self._on_event), laid_out_limit_s=load_limit_s)
                    self._management.start()
                    if (sampler := self.sampler) is not None and target.in_worker:
                        hooks = replace(hooks, on_start=lambda pid: sampler.attach([pid], by_thread=True))
                    result = self._result = self.context.executor.run(order, hooks)
                self._pinning.look("target", "load", target.processes())
            finally:
                self._checks += self._tool_files.collect()
                answers = self._management.end(self._watch.measuring_since_ns)
                if self._faults is not None:
                    self._record = replace(self._record, faults=self._faults.end())
                monitors = self._watch.stop_monitors()
                used = self._watch.resources.resources() if self._watch.resources else None
                if used is not None:
                    leads = (
                        machine_watch.interface_to_target(endpoint.section()) if self._unobserved else None
                    )
                    used = replace(used, unobserved=self._unobserved, interface=leads)
                self._record = replace(self._record, monitors=monitors, resources=used)
            self._record = with_result(
                self._record, result, self._workload, self._watch.metrics, self._protocol,
                self._watch.metric_facts,
            )  # fmt: skip
            if result.tool is None:
                self._check_resources()
            self._judge_faults(result, answers)
            if result.hlog_header:
                self.writer.latency(result.hlog)
                self.writer.latency_head(result.hlog_header)
            if result.outcome != "completed":
                raise self._broken_off(result)
            if not self._resolved.faults and (cause := target.exit_cause()) is not None:
                raise TrialEndedError(Status.FAILED, cause)
        return result

    def _by_proxy(self, endpoint: Endpoint, target: Target[Any], stack: ExitStack) -> Endpoint:
        """The endpoint of the load: that of the target, or of a proxy before it, which ends with `stack`.

        Raises FaultError.
        """
        if not self.context.through_proxy or not isinstance(endpoint, ServerEndpoint):
            return endpoint
        if endpoint.socket is not None and target.knows_users_of_socket:
            raise FaultError(PROXY_OF_SOCKET())
        pin = self._pinning.pins.client
        size = ProxySize(self._threads(target), self._resolved.clients, numbers(pin.cpus) if pin.cpus else ())
        proxy = self._proxy = NetworkProxy(endpoint, size, trial_seed(self.run_seed, self.trial.repeat))
        stack.callback(lambda: self._keep(proxy))
        return stack.enter_context(proxy).endpoint

    def _keep(self, proxy: NetworkProxy) -> None:
        self._record = replace(self._record, proxy=proxy.record)

    def _fault_run(self, target: Target[Any]) -> FaultRun | None:
        """The faults of this trial, which begin with its measurement."""
        if not self._resolved.faults:
            return None
        self.context.guardian.start()

        def subject(name: str) -> Subject:
            subject = Subject(NETWORK) if name == NETWORK else target.subject(name)
            return replace(subject, carrier=self._proxy).telling(lambda: self._watch.look_again(target))

        return FaultRun(
            self._resolved.faults,
            self.context.parts.faults,
            subject,
            self.context.guardian,
            self._event,
            str(self.writer.path.with_name(self.trial.name).absolute()),
            self.context.monotonic_ns,
        )

    def _judge_faults(self, result: LoadResult, answers: Sequence[Answer]) -> None:
        """Judge the faults by the timeline of the load, which is written, too."""
        if not self._record.faults:
            return
        timeline_files.write(result.timelines, self.writer)
        self._record = with_judgements(self._record, result, self._resolved.clients, answers)

    def _broken_off(self, result: LoadResult) -> TrialEndedError:
        """Why a load did not run to its end."""
        if self.context.interrupts.requested:
            return TrialEndedError(Status.ABORTED, self.context.interrupts.reason)
        reason = load_outcome(result.outcome, result.reason_args, self._protocol)
        return TrialEndedError(
            Status.TIMED_OUT if result.outcome in UNFINISHED else Status.FAILED,
            fault_checks.in_view_of_faults(
                reason, self._record.faults or (), result.seconds, self._longest_backlog_s
            ),
        )

    @property
    def _longest_backlog_s(self) -> float:
        """The longest time that a request of any client group may wait."""
        return max(float(group.load.max_backlog) for group in self._resolved.client_groups)

    def _is_down_by_fault(self, target: Target[Any]) -> bool:
        """Report whether the processes of the target ended after a fault: an outcome."""
        if target.in_worker or not fault_checks.were_applied(self._record.faults or ()):
            return False
        return not target.alive()

    def _collect(self, target: Target[Any], result: LoadResult) -> None:
        self._record = replace(self._record, target=document(target.describe()))
        if self.sampler is not None:
            profile = self.sampler.collect(self.writer, self.trial.treatment.id, self.writer.output)
            self._record = replace(self._record, profile=profile)
        self._checks.append(
            self._counted(result, target.counters(), alone=not self._resolved.target.external)
        )
        plans = self._statements(target).after(mysql=self._protocol == MYSQL.name)
        self._record = replace(self._record, plans=plans)

    def _statements(self, target: Target[Any]) -> Statements:
        return Statements(target, self._workload, self.pool, self.trial.treatment.id, self.writer.output)

    def _counted(self, result: LoadResult, after: dict[str, int], *, alone: bool) -> Check:
        """Compare the counts of the target with those of the client."""
        before, lifetime = self._counters_before, result.lifetime
        calls = self._workload.calls(result)
        if calls and lifetime is not None and any(name.startswith("calls_") for name in after):
            return server_calls(before, after, calls, lifetime.failed, alone=alone)
        lifetimes = [group.lifetime for group in result.client_groups if group.lifetime is not None]
        workers = 0
        if lifetime is not None:
            statements = self._workload.parallel_statements(lifetime.operations, lifetime.queries)
            workers = after.get(WORKERS_PER_QUERY, 0) * statements
        connects = (result.client.connects if result.client else None) or 0
        return server_counters(
            before, after, lifetime, alone=alone, groups=lifetimes, workers=workers,
            of_connecting=connects * after.get(COMMITS_PER_CONNECTION, 0),
        )  # fmt: skip

    def _check_resources(self) -> None:
        """Drop means of resources that are not of the measurement."""
        watch = self._watch.resources
        check = checks.resource_window(watch.between_ns if watch else None, self._record.measure)
        self._checks.append(check)
        if check.verdict == "noticed":
            self._record = replace(self._record, resources=None)

    def _verify(self, target: Target[Any], result: LoadResult) -> None:
        self._checks += self._pinning.checks()
        self._checks += fault_checks.of_faults(self._record.faults or ())
        if result.tool is not None:
            self._checks = [*checks.of_tool(result), *self._checks]
        else:
            load_checks = checks.of_load(result, self._resolved, self._cores)
            load_checks += [checks.percentiles(result), *checks.remarks(result)]
            if self._workload.lays_out:
                load_checks += checks.in_memory(self._record.target)
            complete = checks.intervals_complete(self._watch.covered, result)
            self._checks = [*load_checks, *self._checks, complete]
        if fault_checks.TARGET_DOWN not in self._checks:
            for name, conditions in self._workload.verify(target.ask).items():
                self._checks.append(checks.conditions(name, conditions))
        if self._workload.verifies_values:
            values = checks.values(result)
            self._checks.append(values)
            if values.verdict == "broken":
                raise TrialEndedError(Status.FAILED, checks.broken(values))
        if (silence := nothing_ended(self._record)) is not None:
            raise TrialEndedError(Status.FAILED, silence)
        failure = all_requests_failed(self._record, self._protocol)
        failure = failure or most_requests_failed(self._record, self._protocol)
        if self._resolved.faults:
            failure = all_requests_failed(self._record, self._protocol)
        if failure is not None and not failures_wanted(self._resolved.expect, metrics(self._record)):
            raise TrialEndedError(Status.FAILED, target.failure_cause(failure))
        if (account := target.examine()) is not None:
            self._record = with_account(self._record, account, self.writer)
            self.pool.stop()
        spoilt = checks.invalidity(self._applying_checks(), fault_checks.reasons(self._record.faults or ()))
        if spoilt is None:
            self._record = replace(self._record, status=Status.OK)
        else:
            self._conclude(Status.INVALID, spoilt)

    def _clean_up(self) -> None:
        """Leave a target that works as it is, for the next trial; put one that broke, or hangs, to rest."""
        status = self._record.status
        try:
            # one that did not start has files too
            if (target := self._target or self.pool.present) is not None:
                self._write_files(target)
            with self._phases.step("cleanup", self._resolved.limits.cleanup, breakable=False):
                if fault_checks.TARGET_DOWN in self._checks:
                    self.pool.stop()
                elif status in (Status.FAILED, Status.TIMED_OUT):
                    self.pool.stop(unless_alive=status is Status.FAILED)
        except TrialEndedError as ended:
            self.writer.output(f"cleanup: {ended.reason.text}")

    def _write_files(self, target: Target[Any]) -> None:
        """Write the files that the target leaves of this trial."""
        since_ns = self._phases.records[0].started_mono_ns or 0
        for name, lines in target.trial_files(since_ns).items():
            self.writer.text_lines(name, lines)

    def _hooks(self, limit_s: float, on_event: Callable[[LoadEvent], None]) -> LoadHooks:
        return LoadHooks(
            limit_s,
            on_event=on_event,
            on_output=lambda line: self.writer.output(f"{WORKER_LINE}{line}"),
            on_tick=self._watch.tick,
            stop_asked=lambda: self.context.interrupts.requested,
        )

    def _on_event(self, event: LoadEvent) -> None:
        """Take an event of the load."""
        self._watch.event(event)
        self._pinning.on_event(event)
        self._tool_files.take(event)
        if self._faults is not None:
            if isinstance(event, PhaseBegan) and event.phase == "measure":
                self._faults.begin(event.mono_ns, self._resolved.load.expected_s or 0.0)
            self._faults.counted(self._watch.covered.succeeded + self._watch.covered.failed)
        if self.sampler is not None and isinstance(event, PhaseBegan):
            self.sampler.phase(event.phase, event.mono_ns)

    def _loading(self, event: LoadEvent) -> None:
        if isinstance(event, LoadingProgress):
            self.context.progress.preparing(event.done_rows, event.total_rows)

    def _applying_checks(self) -> list[Check]:
        return checks.slowed(self._checks, self._resolved.target.slowed_by)

    def _of_machine(self) -> list[Check]:
        """Checks of the machine.

        A system in the worker's threads waits for cores itself: that is measured.
        """
        is_identified = self._unobserved is not Unobserved.UNIDENTIFIED
        machine_checks = self._watch.machine.checks(self._watch.target_processes if is_identified else None)
        in_worker = self._target is not None and self._target.in_worker
        return [check for check in machine_checks if not (in_worker and check.name == "client-waiting")]

    def _threads(self, target: Target[Any]) -> int:
        local = bool(target.processes()) and not self._pinning.apart
        return load_threads(self._resolved, self._cores, local=local)

    @property
    def _pin(self) -> tuple[str, str] | None:
        """The worker's placement."""
        pin = self._pinning.pins.client
        return (pin.cpus, pin.memory) if pin.is_set else None

    @property
    def _cores(self) -> int:
        """Number of processors the client may use."""
        return self._pinning.pins.client.size or self.context.cores

    def _event(self, event: JsonObject) -> None:
        self.writer.event({"mono_ns": self.context.monotonic_ns(), "utc": utc_text(), **event})

    def _begun(self) -> TrialRecord:
        trial, treatment = self.trial, self.trial.treatment
        return TrialRecord(
            trial.number,
            trial.name,
            treatment.id,
            trial.repeat,
            Status.FAILED,
            levels=treatment.levels,
            values=dict(treatment.values),
            block=trial.block,
            arm=trial.arm or None,
            role=trial.role or None,
            started_utc=utc_text(),
            settings=self._resolved.document(),
            unit=self._workload.unit,
            notes=tuple(self._workload.notes()),
        )

    def _ended(self) -> TrialRecord:
        """Finished record: the disturbances noticed, and the expectations judged."""
        watch = self._watch
        self._checks += [
            checks.steal(watch.steal_share),
            checks.clock_step(watch.disturbances.steps_s),
            checks.sampling_gap(watch.gaps_ns, self._record.measure),
            checks.neighbour(sorted(watch.neighbours)),
            *self._of_machine(),
        ]
        if self._target is not None and (intruder := self._target.intruder()) is not None:
            self._checks.append(checks.server_lock(intruder))
        for line in self.context.waiting_lines():
            self.writer.output(line)
        return replace(
            self._record,
            ended_utc=utc_text(),
            phases=tuple(self._phases.records),
            affinity=self._pinning.document(),
            checks=tuple(self._applying_checks()),
            expect=tuple(expectations.judged(self._record, self._resolved)),
        )
