"""One trial's life: target up, prepare, warm-up, measure, collect, verify, clean up; and the record of it.

Whatever goes wrong on the way is a result and ends in trial.json. Only a StoreError, when the record itself
can no longer be written, leaves through here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from loadcell.design.order import Trial
from loadcell.execution import affinity, background_cpu, checks, groups, profiling, tool_checks
from loadcell.execution.all_failed import all_requests_failed, wanted
from loadcell.execution.context import RunContext, threads
from loadcell.execution.load import DATA_SEED, LoadWatch, specification, specification_of_groups, trial_seed
from loadcell.execution.messages import DIED
from loadcell.execution.phases import LIMIT_KEYS, PHASES, Phases, TrialEndedError
from loadcell.execution.record import measured
from loadcell.execution.target_pool import TargetPool
from loadcell.execution.trial_metrics import metrics
from loadcell.model.engine_messages import load_outcome
from loadcell.model.instants import utc_text
from loadcell.model.json import convert, document
from loadcell.model.message import Message
from loadcell.model.metrics import facts
from loadcell.model.trial_record import Check, TrialRecord
from loadcell.plan import secrets
from loadcell.plan.model import Resolved
from loadcell.profilers.cpu import CpuSampler
from loadcell.store.layout import SCHEMA
from loadcell.store.write import TrialWriter
from loadcell.systems.base import DataSpec, Endpoint, Target
from loadcell.workloads.composite import CompositeWorkload

#: The engine's outcomes, and the `reason_code`, of a number of requests that were not made within their
#: limit.
UNFINISHED = ("unfinished", "unsettled")


@dataclass
class TrialRun:
    """Runs one trial and gives its trial.json, not yet written."""

    trial: Trial
    run_seed: int
    pool: TargetPool
    context: RunContext
    writer: TrialWriter
    sampler: CpuSampler | None = None
    _document: dict[str, Any] = field(default_factory=dict)
    _checks: list[Check] = field(default_factory=list)
    _target: Target[Any] | None = None
    #: the target's processes; none when it is elsewhere, None when it may be any process of this machine
    _target_here: list[int] | None = None
    _pinning: affinity.Pinning | None = None
    #: what the engine speaks with the target
    _protocol: str = ""

    @property
    def _resolved(self) -> Resolved:
        return self.trial.treatment.resolved

    def execute(self) -> TrialRecord:
        """The whole life. Raises StoreError only."""
        self._document = self._begun()
        context, output = self.context, self.writer.output
        self._phases = Phases(
            context.interrupts, context.monotonic_ns, context.progress.phase, output, self._event
        )
        self._watch = LoadWatch(self.context, self._phases, self.writer, self._resolved, self._event)
        self._watch.meet(self.context.neighbours())
        try:
            self._live()
        except TrialEndedError as ended:
            self._end(ended)
        self._clean_up()
        return self._ended()

    def _end(self, ended: TrialEndedError) -> None:
        """It ends for this reason; that the target is dead by now is the better one."""
        self._conclude(ended.status, ended.reason)
        if ended.status != "failed" or self._target is None or self._target.alive():
            return
        phase = "load" if self._phases.current in LIMIT_KEYS else self._phases.current
        died = DIED(phase=PHASES[phase], why=ended.reason)
        self._document.update(reason=died.text, died_during=phase)

    def _conclude(self, status: str, reason: Message) -> None:
        """Record the end and its reason: in English for readers of the record, and as a code with arguments."""
        self._document.update(
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
            self._prepare(target)
        result = self._load(target)
        with self._phases.step("collect", limits.collect):
            self._collect(target, result)
        with self._phases.step("verify", limits.verify):
            self._verify(target, result)

    def _prepare(self, target: Target[Any]) -> None:
        workload = self._workload()
        data, loading = workload.data(), workload.loading()
        if data is None:
            return

        def load(endpoint: Endpoint) -> int | None:
            rows: int | None = None
            for kind, section in loading.items():
                work = secrets.revealed({kind: section}, self.context.secret)
                spec = specification(
                    endpoint.section(), work, self._resolved, self._threads(target), DATA_SEED
                )
                made_by = workload.made_by
                account = self._execute(
                    "prepare", {**spec, **made_by, **self._pin}, self._loading, self._resolved.limits.prepare
                )
                if "rows" in account:
                    rows = (rows or 0) + account["rows"]
            return rows

        data_set = target.prepare(DataSpec(data), load, will_change=workload.changes_data)
        self._document["data_set"] = document(data_set)

    def _load(self, target: Target[Any]) -> dict[str, Any]:
        """Warm-up and measurement, by the executor; the engine reports the phases."""
        resolved = self._resolved
        limit_s = float(resolved.load.warmup + resolved.load.duration + resolved.limits.load_slack)
        if self._workload().lays_out:
            limit_s += float(resolved.limits.prepare)
        with self._phases.step("warmup", None, breakable=False):
            spec = self._specification(target)
            self._protocol = str(spec["target"]["protocol"])
            self._counters_before = target.counters()
            self._watch.start_monitors(target)
            roots = self._watch.target_processes
            is_known = bool(roots) or target.in_worker or not background_cpu.on_this_machine(spec["target"])
            self._target_here = roots if is_known else None
            try:
                with profiling.profiling(self.sampler, target, self.writer.output):
                    first = profiling.inside(self.sampler, target)
                    result = self._execute("run", {**spec, **self._pin}, self._told, limit_s, **first)
                self._placed.look("target", "load", target.processes())
            finally:
                self._document["monitors"] = self._watch.stop_monitors()
            self._document.update(measured(result, self._protocol))
            self._add_figures(result)
            if result.get("hlog_header"):
                self.writer.latency(result.get("hlog", []))
                self.writer.latency_head(result["hlog_header"])
            if result["outcome"] != "completed":
                raise self._broken_off(result)
        return result

    def _specification(self, target: Target[Any]) -> dict[str, Any]:
        """The specification for the engine."""
        composite, settings = self._workload(), self._resolved
        endpoint, threads = target.endpoint().section(), self._threads(target)
        seed = trial_seed(self.run_seed, self.trial.repeat)
        if settings.groups:
            spec = specification_of_groups(endpoint, composite, settings, threads, seed)
            return {**spec, "groups": secrets.revealed(spec["groups"], self.context.secret)}
        [(_, workload)] = composite.members
        work = secrets.revealed(workload.engine(), self.context.secret)
        return {**specification(endpoint, work, settings, threads, seed), **composite.made_by}

    def _add_figures(self, result: dict[str, Any]) -> None:
        """Add the metrics of workload and monitors to those of every load."""
        totals, measure = self._document["totals"], self._document["measure"]
        if totals is not None:
            composite = self._workload()
            figures_of_workload = composite.figures(result, measure["duration_s"])
            totals["figures"] = {**figures_of_workload, **result.get("figures", {}), **self._watch.metrics}
            totals["metrics"] = facts(totals["figures"])
            self._document.update(groups.recorded(result, composite, measure["duration_s"]))

    def _broken_off(self, result: dict[str, Any]) -> TrialEndedError:
        """Why a load did not run to its end."""
        if self.context.interrupts.requested:
            return TrialEndedError("aborted", self.context.interrupts.reason)
        outcome = result["outcome"]
        return TrialEndedError(
            "timed-out" if outcome in UNFINISHED else "failed", load_outcome(result, self._protocol)
        )

    def _collect(self, target: Target[Any], result: dict[str, Any]) -> None:
        self._document["target"] = document(target.describe())
        if self.sampler is not None:
            title = self.trial.treatment.id
            self._document["profile"] = self.sampler.collect(self.writer, title, self.writer.output)
        alone = getattr(self._resolved.target, "server", None) != "external"
        self._checks.append(self._counted(result, target.counters(), alone=alone))

    def _counted(self, result: dict[str, Any], after: dict[str, int], *, alone: bool) -> Check:
        """True if the target counted what the client did."""
        before, lifetime = self._counters_before, result.get("lifetime")
        calls = self._workload().calls(result)
        if calls and lifetime is not None and any(name.startswith("calls_") for name in after):
            return checks.server_calls(before, after, calls, int(lifetime["failed"]), alone=alone)
        groups = [group["lifetime"] for group in result.get("groups", [])]
        return checks.server_counters(before, after, lifetime, alone=alone, groups=groups)

    def _verify(self, target: Target[Any], result: dict[str, Any]) -> None:
        self._checks += self._placed.checks()
        if "tool" in result:
            self._checks = [*tool_checks.held(result), *self._checks]
        else:
            held = groups.held(result, self._resolved, self._cores)
            first = [*held, checks.percentiles(result), *checks.remarks(result)]
            if self._workload().lays_out:
                first += checks.in_memory(self._document["target"])
            self._checks = [*first, *self._checks, checks.intervals_complete(self._watch.covered, result)]
        for name, conditions in self._workload().verify(target.ask).items():
            self._checks.append(checks.conditions(name, conditions))
        if self._workload().verifies_values:
            values = checks.values(result)
            self._checks.append(values)
            if values.verdict == "broken":
                raise TrialEndedError("failed", checks.broken(values))
        record = self._record()
        nothing = all_requests_failed(record, self._protocol)
        if nothing is not None and not wanted(self._resolved.expect, metrics(record)):
            raise TrialEndedError("failed", nothing)
        spoilt = checks.invalidity(self._checks)
        if spoilt is None:
            self._document["status"] = "ok"
        else:
            self._conclude("invalid", spoilt)
        self._examine(target)

    def _examine(self, target: Target[Any]) -> None:
        """Where the target was looked into: what was found at its end."""
        status, self._document["status"] = self._document["status"], "failed"
        if (memory := target.examine()) is not None:
            self._document["memory"] = document(memory)
            self.pool.rest()
        self._document["status"] = status

    def _clean_up(self) -> None:
        """Leave a target that works as it is, for the next trial; put one that broke, or hangs, to rest."""
        status = self._document["status"]
        try:
            with self._phases.step("cleanup", self._resolved.limits.cleanup, breakable=False):
                if status in ("failed", "timed-out"):
                    self.pool.rest(unless_alive=status == "failed")
        except TrialEndedError as ended:
            self.writer.output(f"cleanup: {ended.reason.text}")

    def _execute(
        self, mode: str, spec: dict[str, Any], on_event: Any, limit_s: float, **more: Any
    ) -> dict[str, Any]:
        return self.context.executor.execute(
            mode,
            spec,
            on_event=on_event,
            on_output=lambda line: self.writer.output(f"worker: {line}"),
            on_tick=self._watch.tick,
            limit_s=limit_s,
            stop_asked=lambda: self.context.interrupts.requested,
            **more,
        )

    def _told(self, event: dict[str, Any]) -> None:
        """The engine said something while it made the load."""
        self._watch.event(event)
        if event.get("type") in ("pinned", "phase"):
            self._placed.told(event)
        if self.sampler is not None and event.get("type") == "phase":
            self.sampler.phase(event["phase"], event["mono_ns"])

    def _loading(self, event: dict[str, Any]) -> None:
        if event.get("type") == "progress":
            self.context.progress.preparing(event["done_rows"], event["total_rows"])

    def _of_machine(self) -> list[Check]:
        """Checks of the machine.

        A system in the worker's threads waits for cores itself: that is measured.
        """
        machine_checks = self._watch.machine.checks(self._target_here)
        in_worker = self._target is not None and self._target.in_worker
        return [check for check in machine_checks if not (in_worker and check.name == "client-waiting")]

    def _workload(self) -> CompositeWorkload:
        return CompositeWorkload.of(self._resolved, self.context.parts)

    def _threads(self, target: Target[Any]) -> int:
        load, local = self._resolved.load, bool(target.processes())
        apart = self._placed.apart
        return threads(load, self._cores, local=local and not apart, clients=self._resolved.clients)

    @property
    def _placed(self) -> affinity.Pinning:
        """Where the processes run; nowhere in particular before the target is up."""
        return self._pinning or affinity.Pinning()

    @property
    def _pin(self) -> dict[str, Any]:
        """The worker's placement."""
        pin = self._placed.pins.client
        return {"pin": [pin.cpus, pin.memory]} if pin.given else {}

    @property
    def _cores(self) -> int:
        """Number of processors the client may use."""
        return self._placed.pins.client.size or self.context.cores

    def _event(self, event: dict[str, Any]) -> None:
        self.writer.event({"mono_ns": self.context.monotonic_ns(), "utc": utc_text(), **event})

    def _begun(self) -> dict[str, Any]:
        treatment = self.trial.treatment
        return {
            "schema": SCHEMA,
            "number": self.trial.number,
            "name": self.trial.name,
            "treatment": treatment.id,
            "levels": dict(treatment.levels),
            "values": dict(treatment.values),
            "repeat": self.trial.repeat,
            "block": self.trial.block,
            **({"arm": self.trial.arm} if self.trial.arm else {}),
            **({"role": self.trial.role} if self.trial.role else {}),
            "status": "failed",
            "reason": None,
            "reason_code": None,
            "reason_args": {},
            "advice": None,
            "started_utc": utc_text(),
            "ended_utc": None,
            "phases": [],
            "settings": self._resolved.document(),
            "unit": self._workload().unit,
            "notes": self._workload().notes(),
            "measure": None,
            "totals": None,
            "operations": {},
            "errors": [],
            "schedule": None,
            "lifetime": None,
            "client": None,
            "checks": [],
            "target": None,
            "data_set": None,
            "monitors": {},
            "expect": [],
        }

    def _record(self) -> TrialRecord:
        return convert(TrialRecord, self._document)

    def _ended(self) -> TrialRecord:
        """Finished record: the disturbances noticed, and the expectations judged."""
        watch = self._watch
        self._checks += [
            checks.steal(watch.steal_share),
            checks.clock_step(watch.witness.steps_s),
            checks.neighbour(sorted(watch.neighbours)),
            *self._of_machine(),
        ]
        cpu = watch.target_cpu.mean
        # untrusted values neither meet nor miss an expectation
        trusted = self._document["status"] == "ok"
        for line in self.context.waiting_lines():
            self.writer.output(line)
        self._document |= {"ended_utc": utc_text(), "phases": self._phases.found, **self._placed.document()}
        record = self._record()
        figures = metrics(record, None if cpu is None else cpu / 100) if trusted else {}
        return replace(
            record,
            checks=tuple(self._checks),
            expect=tuple(expected.judge(figures).result(expected.text) for expected in self._resolved.expect),
        )
