"""An examination: evidence of each subject with its judgements, and what could not be examined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from loadcell.incidents.base import LEVELS, Diagnosis, Healthy, Judgement, Unseen, examine, registered
from loadcell.incidents.evidence.base import Evidence, Missing, Reading

#: An incident of a live host that ended so long ago is history.
_PAST_NS: Final = 60 * 10**9


@dataclass(frozen=True)
class Examined:
    """The evidence of a subject (a JVM, the mounts of a host) with its judgements."""

    evidence: Evidence
    judgements: tuple[Judgement, ...]

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """Incidents, the worst first."""
        return [item for item in self.judgements if isinstance(item, Diagnosis)]

    @property
    def healthy(self) -> list[Healthy]:
        """Examined values without an incident."""
        return [item for item in self.judgements if isinstance(item, Healthy)]

    @property
    def unseen(self) -> list[Unseen]:
        """Incidents that the evidence could not show."""
        return [item for item in self.judgements if isinstance(item, Unseen)]


@dataclass(frozen=True)
class Examination:
    """Subjects with their judgements; `title` names the examined thing for people.

    `unseen` has the incidents whose type of evidence could not be gathered, `readings` how well log files
    were read. `utc_ns` is the time at which a live host was examined, `of_run` are the processes of the run
    that examined it, and `named` is that of the call.
    """

    title: str
    subjects: tuple[Examined, ...]
    unseen: tuple[Unseen, ...] = ()
    readings: tuple[Reading, ...] = ()
    utc_ns: int | None = None
    of_run: frozenset[int] = frozenset()
    named: int | None = None

    def with_subjects(self, subjects: Iterable[Examined]) -> Examination:
        """The same with subjects that are judged already; what they judge is no longer unseen."""
        others = tuple(subjects)
        judged = {
            item.incident for subject in others for item in subject.judgements if not isinstance(item, Unseen)
        }
        unseen = tuple(item for item in self.unseen if item.incident not in judged)
        return replace(self, subjects=(*self.subjects, *others), unseen=unseen)

    @property
    def has_incident(self) -> bool:
        """True if a subject has an incident that is more than a note."""
        return any(item.level != "note" for subject in self.subjects for item in subject.diagnoses)

    @property
    def diagnoses(self) -> list[tuple[Examined, Diagnosis]]:
        """Incidents of all subjects, the worst first, consequences after their cause.

        Of a live host those of the named process are the first, and those of a past time the last.
        """
        pairs = [(subject, item) for subject in self.subjects for item in subject.diagnoses]
        return sorted(pairs, key=self._order)

    def is_named(self, subject: Examined) -> bool:
        """True for the process that the call named."""
        return self.named is not None and subject.evidence.process == self.named

    def _order(self, pair: tuple[Examined, Diagnosis]) -> tuple[bool, int, bool, bool]:
        subject, diagnosis = pair
        return (
            not self.is_named(subject),
            LEVELS.index(diagnosis.level),
            self._is_past(*pair),
            bool(diagnosis.explained_by),
        )

    def _is_past(self, subject: Examined, diagnosis: Diagnosis) -> bool:
        """True if the end of an incident is history at the examination of a live host."""
        if self.utc_ns is None or diagnosis.end_ns is None:
            return False
        utc_ns = subject.evidence.utc_ns(diagnosis.end_ns)
        return utc_ns is not None and utc_ns < self.utc_ns - _PAST_NS

    @property
    def by_incident(self) -> dict[str, list[tuple[Examined, Diagnosis]]]:
        """The same by the name of the incident; the one with the worst diagnosis first."""
        by_incident: dict[str, list[tuple[Examined, Diagnosis]]] = {}
        for pair in self.diagnoses:
            by_incident.setdefault(pair[1].incident, []).append(pair)
        return by_incident


def examination(
    title: str,
    evidence: Iterable[Evidence],
    missing: Sequence[Missing] = (),
    readings: Sequence[Reading] = (),
) -> Examination:
    """The examination of evidence by all incidents that need its types."""
    subjects = _counted_once([Examined(item, explained(examine(item))) for item in evidence])
    unseen = tuple(
        Unseen(incident.name, item.reason)
        for item in missing
        for incident in registered().values()
        if issubclass(item.needs, incident.needs)
    )
    return Examination(title, subjects, unseen, tuple(readings))


def explained(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """The judgements of a subject with the first cause of each incident that has one in it.

    A cause is as severe as the worst of its consequences, and stands before them.
    """
    incidents = registered()
    present = {item.incident for item in judgements if isinstance(item, Diagnosis) and item.level != "note"}
    causes = {
        name: [cause for cause in present if name in incidents[cause].explains]
        for name in {item.incident for item in judgements}
    }
    roots = {
        name: next((cause for cause in of_name if not causes[cause]), "") for name, of_name in causes.items()
    }
    worst: dict[str, int] = {}
    for item in judgements:
        if isinstance(item, Diagnosis) and (root := roots[item.incident]):
            worst[root] = min(worst.get(root, len(LEVELS)), LEVELS.index(item.level))

    def judged(item: Judgement) -> Judgement:
        if not isinstance(item, Diagnosis):
            return item
        level = LEVELS[min(LEVELS.index(item.level), worst.get(item.incident, len(LEVELS)))]
        return replace(item, level=level, explained_by=roots[item.incident])

    def order(item: Judgement) -> tuple[int, bool]:
        if not isinstance(item, Diagnosis):
            return len(LEVELS), False
        return LEVELS.index(item.level), bool(item.explained_by)

    return tuple(sorted(map(judged, judgements), key=order))


def _counted_once(subjects: Sequence[Examined]) -> tuple[Examined, ...]:
    """The subjects with incidents as notes where the cause of each, on the same device, is as severe."""
    seen: dict[tuple[str, str], int] = {}
    for subject in subjects:
        for item in subject.diagnoses:
            for device in item.devices:
                key, level = (item.incident, device), LEVELS.index(item.level)
                seen[key] = min(level, seen.get(key, level))

    def judged(judgement: Judgement) -> Judgement:
        if not isinstance(judgement, Diagnosis):
            return judgement
        cause = registered()[judgement.incident].cause
        level = LEVELS.index(judgement.level)
        is_explained = any(seen.get((cause, device), len(LEVELS)) <= level for device in judgement.devices)
        return replace(judgement, level="note") if is_explained else judgement

    return tuple(Examined(subject.evidence, tuple(map(judged, subject.judgements))) for subject in subjects)
