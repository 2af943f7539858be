"""Outcome of a run: its expectations over all trials, and its exit status."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.execution.interrupts import EXIT_INTERRUPTED
from loadcell.model.run_record import PlannedTrial, RunRecord, RunVerdict
from loadcell.model.trial_record import Status, TrialRecord

EXIT_OK, EXIT_MISSED, EXIT_INCOMPLETE = 0, 1, 3


def verdicts(run: RunRecord, records: Sequence[TrialRecord]) -> tuple[RunVerdict, ...]:
    """Each expectation over the whole run: `missed` if any trial missed it, `met` if every one met it, else
    `unknown`.
    """
    return tuple(_verdict(expression, len(run.trials), records) for expression in run.expect)


def _verdict(expression: str, planned: int, records: Sequence[TrialRecord]) -> RunVerdict:
    trials: dict[str, list[str]] = {"met": [], "missed": [], "unknown": []}
    for record in records:
        for result in record.expect:
            if result.expression == expression:
                trials[result.verdict].append(record.name)
    verdict = "missed" if trials["missed"] else "met" if len(trials["met"]) == planned else "unknown"
    counts = {name: len(names) for name, names in trials.items()}
    return RunVerdict(expression, verdict, **counts, missed_in=tuple(trials["missed"]))


def missed(record: TrialRecord) -> bool:
    """True if the trial missed an expectation."""
    return any(result.verdict == "missed" for result in record.expect)


def exit_status(state: str, planned: Sequence[PlannedTrial], records: Sequence[TrialRecord]) -> int:
    """Exit status: 130 interrupted; 3 a trial is missing or not `ok`; 1 an expectation was missed; else 0."""
    if state == "interrupted":
        return EXIT_INTERRUPTED
    if len(records) < len(planned) or any(record.status is not Status.OK for record in records):
        return EXIT_INCOMPLETE
    return EXIT_MISSED if any(map(missed, records)) else EXIT_OK
