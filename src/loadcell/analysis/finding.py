"""Findings: messages of the analysis with the evidence that they rest on.

A finding's code declares its subject, its severity, its rank in a summary and what it implies, so that
nothing has to tell it from its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from typing import TYPE_CHECKING, Any

from loadcell.model import extensions
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, Message, MessageCode, Severity, declared

if TYPE_CHECKING:
    from loadcell.analysis.analyse import Analysis
    from loadcell.store.read import StoredRun


class Concern(IntEnum):
    """Effect of a finding on the reader's conclusion, in the order of a summary.

    `STANDS` makes the answer one not to be relied on, or only a part of one: who stops after one sentence
    must have read it. `ANSWER` is what the plan asked. `WRONG` is what went wrong beside that, `TRUST` how
    far the answer reaches, `WELL` that all was well, `COST` where time went, and what else there is to know.
    """

    STANDS = 0
    ANSWER = 1
    WRONG = 2
    TRUST = 3
    WELL = 4
    COST = 5


#: A finding's concern, and its place among the findings of that concern.
Rank = tuple[Concern, int]
#: The rank of findings that declare none.
LAST: Rank = (Concern.COST, 1000)


class Statement(Enum):
    """Statements of one finding that another one need not repeat."""

    HIGHEST = auto()
    CHANGE = auto()
    TRADE_OFF = auto()
    NO_CHOICE = auto()
    NO_REPEATS = auto()
    SATURATION = auto()
    DIPS = auto()


class Evidence(Enum):
    """The part of a report that shows what a finding rests on."""

    RESULTS = auto()
    RESOURCES = auto()
    ERRORS = auto()
    EXPECTATIONS = auto()
    GROUPS = auto()
    SEARCH = auto()
    SATURATION = auto()
    EFFECTS = auto()
    INTERACTION = auto()
    CHOICES = auto()
    RECOMMENDATION = auto()
    MEMORY = auto()
    OPEN_LOOP = auto()
    WAITING = auto()
    TROUBLE = auto()
    CHECKS = auto()
    SERIES = auto()
    METHOD = auto()
    PLANS = auto()
    SOURCES = auto()
    FAULTS = auto()
    WRITES = auto()
    FINDINGS = auto()


class Subject(Enum):
    """Subjects of findings: name, where a report shows it, and how many a summary has room for."""

    THROUGHPUT = "throughput", Evidence.RESULTS, 3
    GROUPS = "groups", Evidence.GROUPS, 3
    SEARCH = "search", Evidence.SEARCH, 4
    OPEN_LOOP = "open-loop", Evidence.OPEN_LOOP, 3
    FAULTS = "faults", Evidence.FAULTS, 4
    WRITES = "writes", Evidence.WRITES, None
    SATURATION = "saturation", Evidence.SATURATION, 4
    LIMIT = "limit", Evidence.RESOURCES, 2
    EFFECTS = "effects", Evidence.EFFECTS, 4
    RECOMMENDATION = "recommendation", Evidence.RECOMMENDATION, None
    MEMORY = "memory", Evidence.MEMORY, None
    PLANS = "plans", Evidence.PLANS, 2
    STEADY = "steady", Evidence.SERIES, 3
    SPREAD = "spread", Evidence.RESULTS, 2
    INCIDENTS = "incidents", Evidence.SERIES, 4
    TRIALS = "trials", Evidence.TROUBLE, None
    ERRORS = "errors", Evidence.ERRORS, None
    ANSWERS = "answers", Evidence.RESULTS, None
    EXPECTATIONS = "expectations", Evidence.EXPECTATIONS, None
    CHECKS = "checks", Evidence.CHECKS, None
    TRUST = "trust", Evidence.RESULTS, None
    PLACEMENTS = "placements", Evidence.METHOD, None
    IMPORTED = "imported", Evidence.SOURCES, None
    DONE = "done", Evidence.METHOD, 1
    HOST = "host", Evidence.FINDINGS, None
    HOSTS = "hosts", Evidence.FINDINGS, None
    HISTORY = "history", Evidence.FINDINGS, None
    DIFFERENCES = "differences", Evidence.FINDINGS, None
    VERDICT = "verdict", Evidence.FINDINGS, None
    RANKING = "ranking", Evidence.FINDINGS, None
    FIGURES = "figures", Evidence.FINDINGS, None
    NOISE = "noise", Evidence.FINDINGS, None
    PROFILE = "profile", Evidence.FINDINGS, None

    def __init__(self, label: str, evidence: Evidence, most: int | None) -> None:
        self.label, self.evidence, self.most = label, evidence, most


class FindingCode(MessageCode):
    """The declared code of a finding.

    `states` is what it tells the reader, `implied_by` the statements that make it needless in a summary.
    `of_load` marks what makes sense of a load alone; `imported` is the code with advice for imported results.
    `unworded` names values that the JSON has beside the arguments of the text.
    """

    states: Statement | None = None
    implied_by: tuple[Statement, ...] = ()
    of_load = False
    imported: FindingCode | None = None
    unworded: tuple[str, ...] = ()

    def __init__(
        self, code: str, subject: Subject, severity: Severity, rank: Rank = LAST, /, **arguments: type[Any]
    ) -> None:
        super().__init__(code, severity, **arguments)
        self.subject, self.rank, self.evidence = subject, rank, subject.evidence

    def marked(
        self,
        *,
        evidence: Evidence | None = None,
        states: Statement | None = None,
        implied_by: tuple[Statement, ...] = (),
        of_load: bool = False,
        imported: FindingCode | None = None,
        unworded: tuple[str, ...] = (),
    ) -> FindingCode:
        """The same code with these attributes added."""
        self.evidence = evidence or self.evidence
        self.states = states or self.states
        self.implied_by += implied_by
        self.of_load = of_load or self.of_load
        self.imported = imported or self.imported
        self.unworded += tuple(name for name in unworded if name not in self.arguments)
        return self

    def finding(
        self, evidence: tuple[str, ...] = (), severity: Severity | None = None, /, **arguments: object
    ) -> Finding:
        """The finding with those of these arguments that are declared."""
        message = self.pick(**arguments).rated(severity or self.severity)
        unworded = {name: arguments[name] for name in self.unworded if name in arguments}
        return Finding(self.subject, message, evidence, unworded)


@dataclass(frozen=True)
class Finding:
    """Something the analysis noticed.

    `evidence` names the treatments or trials it rests on. `unworded` holds values that belong to it and are
    in no text.
    """

    subject: Subject
    message: Message
    evidence: tuple[str, ...] = ()
    unworded: Mapping[str, object] = field(default_factory=dict, compare=False)

    @property
    def severity(self) -> Severity:
        """The severity of the message."""
        return self.message.severity

    @property
    def code(self) -> FindingCode | None:
        """The declaration; None of a message that is not declared as a finding."""
        code = declared().get(self.message.code)
        return code if isinstance(code, FindingCode) else None

    def document(self) -> JsonObject:
        """The finding as JSON."""
        return {
            "kind": self.subject.label,
            "severity": self.severity,
            "key": self.message.code,
            "params": {
                name: _plain(value) for name, value in {**self.unworded, **self.message.arguments}.items()
            },
            "evidence": list(self.evidence),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        if value.recorded is not None:
            return value.recorded[0]
        return {"key": value.code, "params": {name: _plain(item) for name, item in value.arguments.items()}}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


Finder = Callable[["StoredRun", "Analysis"], Iterable[Finding]]

FINDER_FAILED = MessageCode("extension.finder-failed", "caution", name=str, error=ForeignText)

_finders: list[Finder] = []


def finder(function: Finder) -> Finder:
    """Register a finder."""
    _finders.append(function)
    return function


def of_extensions(stored: StoredRun, analysis: Analysis) -> Iterator[Finding]:
    """Findings of all extensions. An exception of a finder becomes a finding. Raises ExtensionError."""
    extensions.load_all(extensions.FINDINGS)
    for function in _finders:
        try:
            yield from function(stored, analysis)
        except Exception as error:
            name = f"{function.__module__}.{function.__name__}"
            yield Finding(Subject.TRUST, FINDER_FAILED(name=name, error=f"{type(error).__name__}: {error}"))
