"""Contract of incidents.

A module of this package that defines `PART = TheClass` is an incident; one of another package registers by
an entry point of the group `loadcell.incidents`. An incident declares the type of evidence that it needs,
and judges it. Each judgement is a `Diagnosis`, `Healthy` (examined, with its value) or `Unseen` (with the
reason).

Texts of an incident stand in the catalogue under `incident.NAME`: `title`, `signs` (its thresholds),
`remedy`, `disproof` (what would show that it is another one) and `prevention` with its price. An incident
whose remedy depends on the evidence names its `remedies`, whose texts are `remedy-of.NAME`.
"""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

from loadcell import incidents, lazy
from loadcell.incidents.evidence.base import MOST_QUOTES, Evidence, Quote
from loadcell.model import extensions
from loadcell.model.message import ForeignText, Labels, Message, MessageCode, Severity

#: The worst first.
Level = Literal["critical", "warning", "note"]
LEVELS: Final[tuple[Level, ...]] = ("critical", "warning", "note")
#: Severity of the messages on a level.
SEVERITY: Final[Mapping[Level, Severity]] = {"critical": "problem", "warning": "caution", "note": "info"}
#: `high`: all signs are there; `medium`: one has another possible cause; `low`: a hint.
Confidence = Literal["high", "medium", "low"]
#: Texts of each incident.
TEXTS: Final = ("title", "signs", "remedy", "disproof", "prevention")
_FAILED = MessageCode("incident.failed", "caution", error=ForeignText)
_EXPLAINED = MessageCode("incident.explained", "info", title=Message)

Seen = TypeVar("Seen", bound=Evidence)


@dataclass(frozen=True)
class Diagnosis:
    """An incident that the evidence shows.

    `summary` states what was observed; its arguments are the values. Instants are by the clock of the
    evidence; None where there is no time. `remedy` is the name of one of the incident's remedies; empty for
    the general one. `devices` are those that it concerns. `explained_by` is the incident of the same subject
    that causes this one; empty without.
    """

    incident: str
    level: Level
    confidence: Confidence
    summary: Message
    begin_ns: int | None = None
    end_ns: int | None = None
    quotes: tuple[Quote, ...] = ()
    remedy: str = ""
    devices: tuple[str, ...] = ()
    explained_by: str = ""

    @property
    def remedy_code(self) -> str:
        """Code of the text of the remedy that fits the evidence."""
        incident = registered()[self.incident]
        return incident.remedy_texts(self.remedy) if self.remedy else incident.texts("remedy")

    @property
    def advice(self) -> Message:
        """The remedy; of a consequence, its cause."""
        if not self.explained_by:
            return Message(self.remedy_code)
        return _EXPLAINED(title=Message(registered()[self.explained_by].texts("title")))


@dataclass(frozen=True)
class Healthy:
    """Evidence that was examined and shows no incident: the value, and its limit."""

    incident: str
    value: Message


@dataclass(frozen=True)
class Unseen:
    """Evidence that is missing, and why."""

    incident: str
    reason: Message


Judgement = Diagnosis | Healthy | Unseen


class Incident(ABC, Generic[Seen]):
    """A known incident: what it needs, where its thresholds come from, and how it is recognised."""

    #: as in messages and records, with hyphens
    name: ClassVar[str]
    needs: ClassVar[type[Evidence]]
    #: further types of evidence that it judges; where they are missing, nothing is unseen
    also: ClassVar[tuple[type[Evidence], ...]] = ()
    #: documentation or measurement that the thresholds rest on
    source: ClassVar[str]
    #: values of the placeholders in the text of its signs: thresholds with their units
    signs: ClassVar[Message]
    #: names of remedies for different evidence
    remedies: ClassVar[tuple[str, ...]] = ()
    #: work stands still or waits while it lasts: it is what limits the throughput of a trial
    stalls: ClassVar[bool] = False
    #: incident that explains this one on the same device: then it is a note, and counted once
    cause: ClassVar[str] = ""
    #: incidents that are consequences of this one in the same evidence
    explains: ClassVar[tuple[str, ...]] = ()
    texts: ClassVar[Labels]
    remedy_texts: ClassVar[Labels]

    def __init_subclass__(cls, **attributes: Any) -> None:
        super().__init_subclass__(**attributes)
        if "name" in cls.__dict__:
            cls.texts = Labels(f"incident.{cls.name}", [part for part in TEXTS if part != "signs"])
            cls.remedy_texts = Labels(f"incident.{cls.name}.remedy-of", cls.remedies)

    @abstractmethod
    def examine(self, evidence: Seen) -> Iterable[Judgement]:
        """Judgements of the evidence, at least one."""

    def diagnosis(
        self,
        level: Level,
        confidence: Confidence,
        summary: Message,
        span_ns: tuple[int, int] | None = None,
        quotes: Sequence[Quote] = (),
        remedy: str = "",
        devices: Iterable[str] = (),
    ) -> Diagnosis:
        """A diagnosis of this incident; of many lines the first and the last are shown. `remedy` is one of
        `remedies`.
        """
        shown = tuple(quotes)
        if len(shown) > MOST_QUOTES:
            half = MOST_QUOTES // 2
            shown = (*shown[:half], *shown[-half:])
        begin_ns, end_ns = span_ns or (None, None)
        return Diagnosis(
            self.name, level, confidence, summary, begin_ns, end_ns, shown, remedy, tuple(devices)
        )

    def healthy(self, value: Message) -> Healthy:
        """Nothing of this incident; the value that was examined."""
        return Healthy(self.name, value)

    def unseen(self, reason: Message) -> Unseen:
        """The evidence does not show whether it is there."""
        return Unseen(self.name, reason)


@cache
def registered() -> dict[str, type[Incident[Any]]]:
    """All incidents by name. Raises ExtensionError."""
    names = (item.name for item in pkgutil.iter_modules(incidents.__path__, f"{incidents.__name__}."))
    # a module that is loaded at its first use is no incident
    modules = (import_module(name) for name in names if name not in lazy.LAZY)
    built_in = (getattr(module, "PART", None) for module in modules)
    parts = {part.name: part for part in built_in if part is not None}
    for part in extensions.load_all(extensions.INCIDENTS):
        parts.setdefault(part.name, part)
    return dict(sorted(parts.items()))


def examine(evidence: Evidence) -> tuple[Judgement, ...]:
    """Judgements of all incidents that need this type of evidence; the worst diagnosis first.

    An incident that fails does not take the others with it: it is reported as one that could not be judged.
    """
    judgements = [
        judgement
        for incident in registered().values()
        if isinstance(evidence, (incident.needs, *incident.also))
        for judgement in _judged(incident(), evidence)
    ]
    return tuple(sorted(judgements, key=_order))


def _judged(incident: Incident[Any], evidence: Evidence) -> list[Judgement]:
    try:
        return list(incident.examine(evidence))
    except Exception as error:
        return [incident.unseen(_FAILED(error=f"{type(error).__name__}: {error}"))]


def _order(judgement: Judgement) -> int:
    if isinstance(judgement, Diagnosis):
        return LEVELS.index(judgement.level)
    return len(LEVELS) + isinstance(judgement, Unseen)
