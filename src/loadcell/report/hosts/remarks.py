"""Remarks on a machine and on the run that measured it, without charts."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis import host_remarks, trials, validity
from loadcell.analysis.finding import Finding
from loadcell.analysis.hosts import scores
from loadcell.analysis.hosts.findings import WIDE
from loadcell.analysis.hosts.names import listed, score_name
from loadcell.model.message import Argument, Message, Severity
from loadcell.model.trial_record import Status
from loadcell.report.hosts.read import Source
from loadcell.report.texts import Texts
from loadcell.store.read import StoredRun

#: As many are named in a sentence.
MOST_NAMED = 4
#: Of more reasons the run's own report has the rest.
MOST_REASONS = 3


def findings(source: Source, texts: Texts) -> list[Finding]:
    """Settings of the machine that hurt measurements, and findings on the run that measured it."""
    return [*_of_run(source, texts), *host_remarks.findings(source.machine.host)]


def _of_run(source: Source, texts: Texts) -> Iterator[Finding]:
    stored, machine = source.run, source.machine
    if stored is None:
        return
    if stored.missing:
        planned = len(stored.planned)
        yield _said("problem", "hosts.found.missing", count=len(stored.missing), of=planned, run=stored.id)
    bad = sum(trial.status is not Status.OK for trial in stored.trials)
    if bad:
        yield _said("problem", "hosts.found.incomplete", count=bad, of=len(stored.trials))
        yield from _why(stored, texts)
    yield from validity.findings(trials.of_run(stored.run, stored.trials))
    scored = {score.id.partition("/")[0] for score in machine.scores}
    ended = {trial.treatment for trial in stored.trials if trial.status is Status.OK}
    without = [
        score_name(next(scores.asked_for(treatment)))
        for treatment in stored.run.treatments
        if treatment.id in ended and scores.name_of(treatment) not in scored
    ]
    if without:
        named = without[:MOST_NAMED]
        key = "hosts.found.no-figure" if len(named) == len(without) else "hosts.found.no-figure.many"
        yield _said("problem", key, count=len(without), names=listed(named))
    wide = sorted(
        (treatment for treatment in machine.distinct if (treatment.repeats.spread or 0) > WIDE), key=lambda treatment: -(treatment.repeats.spread or 0)
    )  # fmt: skip
    if wide:
        most = wide[0].repeats.spread or 0
        worst = score_name(wide[0])
        yield _said(
            "caution", "hosts.found.wide", count=len(wide), wide_share=WIDE, worst=worst, most_share=most
        )


def _why(stored: StoredRun, texts: Texts) -> Iterator[Finding]:
    """Each reason once, with the probes that it affected, and the remedy."""
    named = {treatment.id: scores.name_of(treatment) for treatment in stored.run.treatments}
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for trial in trials.of_run(stored.run, stored.trials):
        reason = texts.recorded(trial.why)
        if trial.status not in ("ok", "not-run") and reason:
            reasons.setdefault((reason, texts.recorded(trial.remedy)), {})[named.get(trial.treatment, "")] = (
                None
            )
    for (reason, advice), probes in list(reasons.items())[:MOST_REASONS]:
        names = (*list(probes)[:MOST_NAMED], *(("...",) if len(probes) > MOST_NAMED else ()))
        arguments = {"names": names, "reason": reason.rstrip(".。")}
        yield _said("problem", "hosts.found.why", **arguments, advice=advice[:1].upper() + advice[1:]) if advice else _said("problem", "hosts.found.why.bare", **arguments)  # fmt: skip


def _said(severity: Severity, key: str, **params: Argument) -> Finding:
    return Finding("hosts", Message(key, params).rated(severity))
