"""Context of every section and chart: a stored run, its analysis, and the language."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from loadcell.analysis import (
    drift,
    finding,
    import_findings,
    marks,
    resource_use,
    server,
    steadiness,
    systems,
)
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.finding import Finding
from loadcell.analysis.java_threads import with_java_names
from loadcell.analysis.limits import findings as limit_findings
from loadcell.analysis.marks import TimeMark
from loadcell.analysis.steadiness import Judged
from loadcell.analysis.systems import System
from loadcell.analysis.treatments import Treatment, unit_of
from loadcell.analysis.trials import STATUSES
from loadcell.incidents.base import registered
from loadcell.incidents.examination import Examination
from loadcell.incidents.runs import base as run_evidence
from loadcell.incidents.runs import findings as incident_findings
from loadcell.model import jvm_samples, numbers, panels
from loadcell.model.message import Labels
from loadcell.model.trial_record import TrialRecord
from loadcell.report.blocks import Chart
from loadcell.report.texts import Texts
from loadcell.store import interval_histograms
from loadcell.store.frames import Frame
from loadcell.store.interval_histograms import IntervalHistograms
from loadcell.store.layout import LATENCY

if TYPE_CHECKING:
    from loadcell.analysis.capacity import Provision
    from loadcell.analysis.server import Evidence, KeyValueServed
    from loadcell.store.read import StoredRun


#: Where all medians and all 99th percentiles of response times are shorter than these (ms), they are read in
#: microseconds: an embedded store answers in 0.000982 ms, also where one operation in a hundred waits 1.3 ms
#: for a lock.
MICRO_P50_MS, MICRO_P99_MS = 0.1, 10.0


#: Intervals of all trials of which histograms are read, and the fewest of one: more would take more than a
#: tenth of a report's time.
MOST_INTERVALS, FEWEST_INTERVALS = 900, 5

#: Statuses of trials.
STATUS = Labels("status", STATUSES)
#: Names of treatments without levels.
_TREATMENT = Labels("treatment", ("all", "baseline"))


def _is_micro(analysis: Analysis) -> bool:
    latencies = [
        (treatment.latency_ms("p50_ms"), treatment.latency_ms("p99_ms")) for treatment in analysis.treatments
    ]
    times = [(p50, p99 or 0.0) for p50, p99 in latencies if p50 is not None]
    return bool(times) and all(p50 < MICRO_P50_MS and p99 < MICRO_P99_MS for p50, p99 in times)


def _named(analysis: Analysis, texts: Texts) -> Analysis:
    """The same with the name of a treatment that is all there is in the reader's language: it has no levels
    to be named by.
    """
    if len(analysis.treatments) != 1 or analysis.treatments[0].levels:
        return analysis
    (only,) = analysis.treatments
    name = texts.or_none(_TREATMENT(only.id)) or only.label
    return replace(analysis, treatments=(replace(only, label=name, brief=name),))


@dataclass(frozen=True)
class ReportContext:
    """Context of sections and charts: a stored run, its analysis, and the texts of one language."""

    stored: StoredRun
    analysis: Analysis
    texts: Texts
    #: what its capacity is stated for; None: not at all
    provision: Provision | None = None
    #: Charts that were drawn, by id: others may share their values.
    drawn: dict[str, Chart] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: StoredRun, language: str, provision: Provision | None = None) -> ReportContext:
        """Analyse a run and get ready to speak about it."""
        analysis = analyse(stored.run, stored.trials, stored.unscored)
        texts = Texts(language, unit_of(stored.trials), micro=_is_micro(analysis))
        return cls(stored, _named(analysis, texts), texts, provision)

    @cached_property
    def steadiness(self) -> tuple[Judged, ...]:
        """Steadiness of each trial with a timeline."""
        return steadiness.judge_all(self.analysis.trials, self.stored)

    def samples(self, source: str) -> Frame:
        """Samples of a monitor, or of a table beside them; threads of a JVM by their names in Java."""
        samples = self.stored.samples(source)
        if source != "target.threads":
            return samples
        return with_java_names(samples, self.stored.samples(f"{jvm_samples.TABLE}.threads"))

    @cached_property
    def systems(self) -> tuple[System, ...]:
        """The systems under test."""
        return systems.systems(self.stored.run, self.stored.trials)

    @cached_property
    def imported(self) -> bool:
        """True if it was made of other tools' outputs, so that there is no plan, no order and no target of
        ours.
        """
        return bool(import_findings.sources(self.stored.run))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Everything there is to say of the run."""
        treatments = self.analysis.treatments
        return (
            *self._analysed,
            *import_findings.findings(self.stored.run),
            *drift.trend_findings(treatments),
            *steadiness.findings(self.steadiness, treatments),
            *(
                remark
                for table, served in self.key_value
                for remark in server.key_value_findings(served, table.eviction_settings)
            ),
            *(server.waiting_findings(self.server.waited) if self._server_was_watched else ()),
            *incident_findings.findings(self.examination, self.stored, self.slow_trials),
            *finding.of_extensions(self.stored, self.analysis),
        )

    @cached_property
    def examination(self) -> Examination:
        """Known incidents in the samples and logs of all trials."""
        return run_evidence.examined(self.stored)

    @cached_property
    def limiting_incidents(self) -> dict[str, incident_findings.LimitingIncident]:
        """Incidents that limited treatments, by their ids."""
        return incident_findings.limiting(self.examination, self.analysis.treatments)

    @property
    def _analysed(self) -> tuple[Finding, ...]:
        """Findings of the analysis; the bottleneck of a treatment is the incident that limited it, if any."""
        analysis, incidents = self.analysis, self.limiting_incidents
        critical = incident_findings.critical(self.examination, analysis.treatments)
        ranked = tuple(incident_findings.without_praise(analysis.findings, critical))
        if not incidents:
            return ranked
        limits = [limit for limit in analysis.limits if limit.treatment.id not in incidents]
        others = (item for item in ranked if item.subject is not finding.Subject.LIMIT)
        return (
            *others,
            *incident_findings.limit_findings(incidents.values(), alone=len(analysis.treatments) == 1),
            *limit_findings.findings(limits, analysis.saturation, analysis.treatments),
        )

    @cached_property
    def slow_trials(self) -> tuple[str, ...]:
        """Trials that were slower than the other repeats."""
        return tuple(incident_findings.slow_trials(self.analysis.treatments))

    @cached_property
    def incidents(self) -> dict[str, list[str]]:
        """Titles of the incidents of each trial with any."""
        return {
            trial: [self._incident_title(name) for name in names]
            for trial, names in incident_findings.explanations(self.examination).items()
        }

    def _incident_title(self, name: str) -> str:
        return self.texts(registered()[name].texts("title"))

    @cached_property
    def resources(self) -> tuple[resource_use.Used, ...]:
        """Use of machine, target and client by each treatment."""
        return resource_use.by_treatment(self.analysis.treatments, self.analysis.trials)

    def advised(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """The same with advice that can be followed: where there is no plan, none for one."""
        return import_findings.advised(findings, self.stored.run) if self.imported else tuple(findings)

    @cached_property
    def interval_histograms(self) -> dict[str, IntervalHistograms]:
        """Response times of each interval, by the name of the trial; of trials that count and have a readable
        log.
        """
        trials = [trial for trial in self.analysis.trials if trial.counts]
        at_most = max(FEWEST_INTERVALS, MOST_INTERVALS // max(1, len(trials)))
        histograms = {}
        for trial in trials:
            path = self.stored.directory(trial.name) / LATENCY
            with suppress(OSError, ValueError):
                histograms[trial.name] = interval_histograms.read(path, "transaction/response", at_most)
        return histograms

    @cached_property
    def marks(self) -> dict[str, list[TimeMark]]:
        """Stalls, dips and events of each trial with any."""
        incidents = incident_findings.marks(self.examination, self.stored, self._incident_title)
        return marks.of_trials(self.stored.intervals(), self.steadiness, self.stored.events(), incidents)

    @cached_property
    def records(self) -> dict[str, TrialRecord]:
        """Records of trials, by name."""
        return {record.name: record for record in self.stored.trials}

    @cached_property
    def labels(self) -> dict[str, str]:
        """Labels of treatments, by id."""
        return {treatment.id: treatment.label for treatment in self.analysis.treatments}

    @property
    def _server_was_watched(self) -> bool:
        names = {table.samples for table in panels.database_tables()}
        return any(names & record.monitors.keys() for record in self.stored.trials)

    @cached_property
    def server(self) -> Evidence:
        """Facts that the monitors of SQL servers reported."""
        stored, tables = self.stored, panels.database_tables()
        return server.evidence(
            Frame.concat([stored.samples(table.samples) for table in tables]),
            Frame.concat([stored.samples(table.waits) for table in tables]),
            Frame.concat([stored.samples(table.statements) for table in tables]),
            stored.events(),
            stored.trials,
            self.analysis.treatments,
        )

    @cached_property
    def key_value(self) -> tuple[tuple[panels.KeyValueTable, tuple[KeyValueServed, ...]], ...]:
        """Activity of key-value servers at each treatment, by the tables of those that were watched."""
        treatments = self.analysis.treatments
        served = (
            (
                table,
                server.key_value_by_treatment(self.stored.samples(table.samples), table.saving, treatments),
            )
            for table in panels.key_value_tables()
        )
        return tuple((table, by_treatment) for table, by_treatment in served if by_treatment)

    @cached_property
    def best(self) -> Treatment | None:
        """The treatment with the highest median throughput; where one search was made, the one it found.

        None of unlike ones is.
        """
        if not self.analysis.comparable:
            return None
        if len(self.analysis.searches) == 1 and (level := self.analysis.searches[0].level) is not None:
            key = self.analysis.searches[0].key
            return next(
                candidate for candidate in self.analysis.treatments if candidate.levels.get(key) == level
            )
        measured = [treatment for treatment in self.analysis.treatments if treatment.measured]
        return max(measured, key=lambda treatment: treatment.throughput.median or 0.0, default=None)

    @cached_property
    def mixed(self) -> bool:
        """True if throughput counts one thing in some trials and another in others."""
        return len({trial.unit for trial in self.analysis.trials if trial.counts}) > 1

    def throughput(self, treatment: Treatment) -> str:
        """A treatment's throughput a second; with what it counts, where that is not the same for all."""
        middle = treatment.throughput.median
        if middle is None:
            return self.texts("mark.none")
        units = {trial.unit for trial in treatment.trials if trial.counts}
        unit = self.texts.or_none(f"unit.{units.pop()}.short") if self.mixed and len(units) == 1 else None
        return f"{numbers.rate(middle)} {unit}" if unit else numbers.rate(middle)

    @cached_property
    def has_intervals(self) -> bool:
        """True if every measured treatment has repeats enough for an interval."""
        measured = [treatment for treatment in self.analysis.treatments if treatment.measured]
        return bool(measured) and all(not treatment.throughput.descriptive_only for treatment in measured)
