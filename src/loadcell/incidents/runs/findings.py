"""Incidents of a run as findings of its report, and as marks on the time axis of its charts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.findings import HIGHEST, HIGHEST_NO_LATENCY
from loadcell.analysis.marks import INCIDENT, TimeMark
from loadcell.analysis.treatments import Treatment
from loadcell.incidents.base import SEVERITY, Diagnosis, registered
from loadcell.incidents.examination import Examination, Examined
from loadcell.incidents.runs.base import start_ns
from loadcell.model.message import Count, Message, Rate, Seconds
from loadcell.model.trial_record import Status
from loadcell.store.read import StoredRun

#: An incident is a cause: it precedes the differences between levels.
_RANK = (Concern.ANSWER, 7)
_SEEN = FindingCode(
    "found.incident", Subject.INCIDENTS, "caution", _RANK, title=Message, summary=Message,
    remedy=Message,
)  # fmt: skip
_OF_TRIAL = FindingCode(
    "found.incident.of-trial", Subject.INCIDENTS, "caution", _RANK, title=Message,
    summary=Message, remedy=Message, trial=str, at_s=Seconds,
)  # fmt: skip
_OF_TRIALS = FindingCode(
    "found.incident.of-trials", Subject.INCIDENTS, "caution", _RANK, title=Message,
    summary=Message, remedy=Message, trial=str, at_s=Seconds, count=Count,
)  # fmt: skip
#: Those that began before the measurement, in the preparation of the trial for example.
_BEFORE = FindingCode(
    "found.incident.before", Subject.INCIDENTS, "caution", _RANK, title=Message,
    summary=Message, remedy=Message, trial=str,
)  # fmt: skip
_BEFORE_OF_TRIALS = FindingCode(
    "found.incident.before.of-trials", Subject.INCIDENTS, "caution", _RANK, title=Message,
    summary=Message, remedy=Message, trial=str, count=Count,
)  # fmt: skip
_EXPLAINS = FindingCode(
    "found.incident.explains", Subject.INCIDENTS, "problem", _RANK, title=Message,
    trials=list, count=Count,
)  # fmt: skip
_LIMITS = FindingCode(
    "found.limit.incident", Subject.LIMIT, "problem", (Concern.ANSWER, 299), title=Message,
    treatments=list, count=Count, of=Count,
)  # fmt: skip
_LIMITS_ALONE = FindingCode(
    "found.limit.incident.alone", Subject.LIMIT, "problem", (Concern.ANSWER, 299), title=Message,
    count=Count, of=Count,
)  # fmt: skip
_HIGHEST_WITH = FindingCode(
    "found.highest.with-incident", Subject.THROUGHPUT, "caution", (Concern.ANSWER, 210),
    treatment=str, throughput_per_s=Rate, title=Message,
)  # fmt: skip
#: Trials that a finding names.
_MOST_NAMED = 3
#: Throughput below this share of the median of its repeats is slow.
_SLOW = 0.9
_FEWEST_OTHERS = 2


def findings(examination: Examination, stored: StoredRun, slow: Collection[str]) -> Iterator[Finding]:
    """A finding for each incident that is more than a note, on the trial where it is worst; and one on the
    trials that it may explain: those without a result to rely on, and `slow` ones.
    """
    starts = starts_ns(stored)
    status = {trial.name: trial.status for trial in stored.trials}
    for incident, seen in _by_incident(examination).items():
        subject, worst = seen[0]
        trials = list(dict.fromkeys(name for item, _ in seen for name in item.evidence.trials))
        words = {
            "title": Message(registered()[incident].texts("title")),
            "summary": worst.summary,
            "remedy": worst.advice,
        }
        trial = subject.evidence.source
        at_s = since_start_s(subject, worst.begin_ns, starts)
        code = _OF_TRIALS if len(trials) > 1 else _OF_TRIAL
        if at_s is None:
            code = _SEEN
        elif at_s < 0:
            code = _BEFORE_OF_TRIALS if len(trials) > 1 else _BEFORE
        severity = SEVERITY[worst.level]
        yield code.finding(tuple(trials), severity, **words, trial=trial, at_s=at_s, count=len(trials))
        explained = [name for name in trials if name in slow or status.get(name, Status.OK) is not Status.OK]
        if explained:
            yield _EXPLAINS.finding(
                tuple(explained), None, title=words["title"], trials=explained[:_MOST_NAMED],
                count=len(explained),
            )  # fmt: skip


def explanations(examination: Examination) -> dict[str, list[str]]:
    """Names of the incidents of each trial that are more than notes."""
    by_trial: dict[str, list[str]] = {}
    for incident, seen in _by_incident(examination).items():
        for subject, _ in seen:
            for trial in subject.evidence.trials:
                names = by_trial.setdefault(trial, [])
                if incident not in names:
                    names.append(incident)
    return by_trial


@dataclass(frozen=True)
class LimitingIncident:
    """A critical incident in more than half of the trials of a treatment (`count` of `of`), during which work
    stands still.
    """

    treatment: Treatment
    incident: str
    summary: Message
    count: int
    of: int

    @property
    def title(self) -> Message:
        """The name of the incident for people."""
        return Message(registered()[self.incident].texts("title"))


def limiting(examination: Examination, treatments: Iterable[Treatment]) -> dict[str, LimitingIncident]:
    """The worst of these incidents of each treatment with any, by the id of the treatment."""
    summaries: dict[str, dict[str, Message]] = {}
    for incident, pairs in examination.by_incident.items():
        if registered()[incident].stalls:
            of_trial = summaries.setdefault(incident, {})
            for subject, item in pairs:
                if item.level == "critical":
                    of_trial |= {
                        name: item.summary for name in subject.evidence.trials if name not in of_trial
                    }
    by_treatment: dict[str, LimitingIncident] = {}
    for treatment in treatments:
        names = [trial.name for trial in treatment.trials]
        for incident, of_trial in summaries.items():
            affected = [name for name in names if name in of_trial]
            if 2 * len(affected) > len(names):
                summary = of_trial[affected[0]]
                by_treatment[treatment.id] = LimitingIncident(
                    treatment, incident, summary, len(affected), len(names)
                )
                break
    return by_treatment


def critical(examination: Examination, treatments: Iterable[Treatment]) -> dict[str, Message]:
    """Titles of critical incidents in more than half of the trials of a treatment, by its label."""
    by_label: dict[str, Message] = {}
    for treatment in treatments:
        names = {trial.name for trial in treatment.trials}
        for incident, pairs in examination.by_incident.items():
            affected = {
                name
                for subject, item in pairs
                if item.level == "critical"
                for name in subject.evidence.trials
            }  # fmt: skip
            if 2 * len(affected & names) > len(names):
                by_label.setdefault(treatment.label, Message(registered()[incident].texts("title")))
    return by_label


def without_praise(findings: Iterable[Finding], critical: Mapping[str, Message]) -> Iterator[Finding]:
    """The findings; the highest throughput of a treatment with a critical incident is stated with that."""
    for item in findings:
        arguments = item.message.arguments
        title = critical.get(str(arguments.get("treatment")))
        if title is None or item.code not in (HIGHEST, HIGHEST_NO_LATENCY):
            yield item
            continue
        yield _HIGHEST_WITH.finding(
            item.evidence, None, treatment=arguments["treatment"],
            throughput_per_s=arguments["throughput_per_s"], title=title,
        )  # fmt: skip


def limit_findings(limits: Iterable[LimitingIncident], *, alone: bool) -> Iterator[Finding]:
    """A finding for each incident that limited treatments; `alone` if the run has no other treatment."""
    code = _LIMITS_ALONE if alone else _LIMITS
    by_incident: dict[str, list[LimitingIncident]] = {}
    for limit in limits:
        by_incident.setdefault(limit.incident, []).append(limit)
    for alike in by_incident.values():
        ids = tuple(limit.treatment.id for limit in alike)
        yield code.finding(
            ids, None, title=alike[0].title, treatments=[limit.treatment.label for limit in alike],
            count=sum(limit.count for limit in alike), of=sum(limit.of for limit in alike),
        )  # fmt: skip


def marks(examination: Examination, stored: StoredRun, title: Callable[[str], str]) -> Iterator[TimeMark]:
    """A mark for each diagnosis that has a time; `title` gives that of an incident."""
    starts = starts_ns(stored)
    for seen in _by_incident(examination).values():
        for subject, diagnosis in seen:
            begin_s = since_start_s(subject, diagnosis.begin_ns, starts)
            end_s = since_start_s(subject, diagnosis.end_ns, starts)
            if begin_s is not None:
                about = title(diagnosis.incident)
                yield TimeMark(subject.evidence.source, INCIDENT, begin_s, end_s, about=about)


def since_start_s(subject: Examined, instant_ns: int | None, starts: Mapping[str, int]) -> float | None:
    """An instant of the evidence in seconds from the start of the trial's measurement."""
    begin_ns = starts.get(subject.evidence.source)
    if instant_ns is None or begin_ns is None:
        return None
    utc_ns = subject.evidence.utc_ns(instant_ns)
    return None if utc_ns is None else (utc_ns - begin_ns) / 1e9


def starts_ns(stored: StoredRun) -> dict[str, int]:
    """Begin of the measurement of each trial with one, in UTC."""
    starts = ((trial.name, start_ns(trial)) for trial in stored.trials)
    return {name: instant_ns for name, instant_ns in starts if instant_ns is not None}


def slow_trials(treatments: Iterable[Treatment]) -> list[str]:
    """Trials with a throughput below 0.9 times the median of the other repeats, of which there are at least
    two.
    """
    slow: list[str] = []
    for treatment in treatments:
        rates = {
            trial.name: trial.throughput_per_s
            for trial in treatment.trials
            if trial.counts and trial.throughput_per_s is not None
        }
        for name, rate in rates.items():
            others = [other for key, other in rates.items() if key != name]
            if len(others) >= _FEWEST_OTHERS and rate < _SLOW * median(others):
                slow.append(name)
    return slow


def _by_incident(examination: Examination) -> dict[str, list[tuple[Examined, Diagnosis]]]:
    """Diagnoses that are more than notes."""
    by_incident = {
        name: [pair for pair in pairs if pair[1].level != "note"]
        for name, pairs in examination.by_incident.items()
    }
    return {name: pairs for name, pairs in by_incident.items() if pairs}
