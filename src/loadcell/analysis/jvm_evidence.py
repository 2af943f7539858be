"""Evidence for each term of a sizing: the factor that varied it, or its constant value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loadcell.analysis.best_levels import Choice, Level, combined
from loadcell.analysis.jvm_memory import (
    KINDS,
    Coefficient,
    JvmMemory,
    JvmSettings,
    TermKind,
    Values,
    settings_of,
)
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Labels

Verdict = Literal["best", "next", "left", "no-repeats", "unusable", "constant", "unset"]
VERDICTS = Labels("sizing.verdict", ("best", "next", "left", "no-repeats", "unusable", "constant", "unset"))
#: Verdicts in the order of preference where several runs vary a term.
_RANK: tuple[Verdict, ...] = ("best", "next", "left", "no-repeats", "unusable")


@dataclass(frozen=True, eq=False)
class SizedRun:
    """A run with its choices. `memory_bytes` is that of its target's machine, the limit of its cgroup, or the
    memory that a small test stands for.
    """

    name: str
    choices: Sequence[Choice]
    treatments: Sequence[Treatment]
    memory_bytes: int | None


@dataclass(frozen=True, eq=False)
class Term:
    """Result of the runs for a term. `choice` is the factor that varied it, with the chosen `level`; both are
    None for a constant. `tested` are the settings of their treatment. `also` has the other terms that the
    factor varies, `others` further runs that varied the term, or had another constant. `mixed` is true for a
    constant of trials with different settings. `passed_over` are levels at least as good as the chosen one
    which do not last.
    """

    kind: TermKind
    verdict: Verdict
    run: SizedRun | None = None
    choice: Choice | None = None
    level: Level | None = None
    tested: JvmSettings | None = None
    also: tuple[TermKind, ...] = ()
    others: tuple[str, ...] = ()
    mixed: bool = False
    passed_over: tuple[Level, ...] = ()

    @property
    def settings(self) -> Values:
        """The settings that decide the term; empty where none is set."""
        return () if self.tested is None else self.kind.read(self.tested)

    @property
    def needed(self) -> Values:
        """Settings without which those of the term may not start."""
        return () if self.tested is None or not self.settings else self.kind.needed(self.tested)

    @property
    def memory(self) -> JvmMemory | None:
        return None if self.tested is None else self.tested.memory

    def differs(self, other: Term) -> bool:
        """True if another term of the same kind has another value."""
        if self.tested is None or other.tested is None or self.settings == other.settings:
            return False
        return self.kind.coefficient(self.tested) != self.kind.coefficient(other.tested)


def evidence(kind: TermKind, runs: Sequence[SizedRun]) -> Term:
    """The best evidence: a factor that varied the term, alone if there is one, else a constant of the first
    run that sets it.
    """
    varied = [
        _of_choice(kind, run, choice) for run in runs for choice in run.choices if _varies(kind, run, choice)
    ]
    if varied:
        best = min(varied, key=_preference)
        others = tuple(dict.fromkeys(term.run.name for term in varied if term.run and term is not best))
        return replace(best, others=others)
    constants = [term for run in runs if (term := _constant(kind, run)) is not None]
    if not constants:
        return Term(kind, "unset")
    first = constants[0]
    different = [term.run.name for term in constants if term.run and term.differs(first)]
    return replace(first, others=tuple(dict.fromkeys(different)))


def _constant(kind: TermKind, run: SizedRun) -> Term | None:
    settings = _settings(run.choices, run.treatments)
    if settings is None or not kind.read(settings):
        return None
    all_settings = [tested for item in run.treatments if (tested := settings_of(item)) is not None]
    mixed = len({repr(values) for tested in all_settings if (values := kind.read(tested))}) > 1
    return Term(kind, "constant", run, tested=settings, mixed=mixed)


def _preference(term: Term) -> tuple[bool, bool, int, int]:
    """Usable levels, then factors of no other term, then what the trials show."""
    return term.level is None, bool(term.also), _RANK.index(term.verdict), -_counting(term)


def _counting(term: Term) -> int:
    return 0 if term.choice is None else sum(len(level.counting) for level in term.choice.levels)


def _of_choice(kind: TermKind, run: SizedRun, choice: Choice) -> Term:
    also = tuple(other for other in KINDS if other is not kind and _varies(other, run, choice))
    if not choice.remaining:
        return Term(kind, "unusable", run, choice, also=also)
    tested = {level: _of_level(run, choice, level) for level in choice.ranked}
    broken = [
        level for level, settings in tested.items() if settings is not None and not kind.lasts(settings)
    ]
    level = next((level for level in tested if level not in broken), choice.remaining[0])
    verdict = _verdict(choice) if level in choice.remaining else "next"
    # levels excluded before the chosen one are worse than it
    better = choice.remaining if verdict != "next" else choice.ranked[: choice.ranked.index(level)]
    passed_over = () if level in broken else tuple(item for item in better if item in broken)
    return Term(kind, verdict, run, choice, level, tested[level], also, passed_over=passed_over)


def _of_level(run: SizedRun, choice: Choice, level: Level) -> JvmSettings | None:
    treatments = [item for item in run.treatments if _has(item, choice, level)]
    return _settings(run.choices, treatments, {choice.key: level.label})


def _verdict(choice: Choice) -> Verdict:
    if choice.best is not None:
        return "best"
    return "left" if choice.repeated or choice.repeats > 1 else "no-repeats"


def _settings(
    choices: Iterable[Choice], treatments: Sequence[Treatment], fixed_levels: Mapping[str, str] | None = None
) -> JvmSettings | None:
    """Settings of the treatment of all best levels; without one, of the first treatment with a result.
    `fixed_levels` replace the best ones.
    """
    chosen = combined(choices, treatments, fixed_levels)
    tried = (item for item in treatments if any(trial.counts for trial in item.trials))
    treatment = chosen or next(tried, None)
    return None if treatment is None else settings_of(treatment)


def _has(treatment: Treatment, choice: Choice, level: Level) -> bool:
    return treatment.levels.get(choice.key) == level.label


def _varies(kind: TermKind, run: SizedRun, choice: Choice) -> bool:
    """True if levels of a factor that set a term differ in its settings and in its coefficient, all other
    factors alike.
    """
    tested: dict[tuple[tuple[str, str], ...], list[tuple[Values, Coefficient]]] = {}
    for treatment in run.treatments:
        settings = settings_of(treatment)
        if settings is None or (coefficient := kind.coefficient(settings)) is None:
            continue
        held = tuple(item for item in treatment.levels.items() if item[0] != choice.key)
        values, first = kind.read(settings), tested.setdefault(held, [])
        if any(values != other and coefficient != another for other, another in first):
            return True
        first.append((values, coefficient))
    return False


def memories_of(run: SizedRun) -> Iterator[JvmMemory]:
    """Memory of each treatment that has a result."""
    for treatment in run.treatments:
        settings = settings_of(treatment)
        if settings is not None and any(trial.counts for trial in treatment.trials) and settings.memory:
            yield settings.memory
