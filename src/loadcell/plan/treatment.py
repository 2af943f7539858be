"""Treatments: their short names in file names, tables and charts, and how a design makes them.

A design goes from factors and levels to treatments: baselines, what `--only` leaves, and how many there may
be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from loadcell.model.json import JsonObject
from loadcell.model.message import Count, MessageCode
from loadcell.plan.factors import Factor, Level
from loadcell.plan.model import DesignName, Resolved
from loadcell.plan.nodes import Keys, Scalar, at
from loadcell.plan.problems import Mark, Problem
from loadcell.plan.resolve import Resolver

#: index of the level each factor has, in the order of the factors
Combination = tuple[int, ...]


class Combinations(Sequence[Combination]):
    """Every combination of levels of a design.

    `full`: all of them, the first factor changing slowest. `one-at-a-time`: for each combination of the
    crossed factors the baseline, then each other level of each factor alone (Jain, The Art of Computer
    Systems Performance Analysis, 1991, ch. 16: a "simple design"; it shows no interactions).
    """

    def __init__(self, factors: Sequence[Factor], design: DesignName) -> None:
        self._sizes = [len(factor.levels) for factor in factors]
        self._crossed = [index for index, factor in enumerate(factors) if factor.crossed or design == "full"]
        self._baselines = [factor.baseline or 0 for factor in factors]

    @cached_property
    def _alone(self) -> list[tuple[int, int] | None]:
        """Difference from the baseline: nothing, or one factor's level."""
        steps: list[tuple[int, int] | None] = [None]
        for index, size in enumerate(self._sizes):
            if index not in self._crossed:
                steps += [(index, level) for level in range(size) if level != self._baselines[index]]
        return steps

    @cached_property
    def total(self) -> int:
        """Number of there are (not limited, as len() is, by a machine word)."""
        return math.prod(self._sizes[index] for index in self._crossed) * len(self._alone)

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[Combination]:
        return (self[index] for index in range(self.total))

    def __getitem__(self, index: int) -> Combination:  # type: ignore[override]
        if not 0 <= index < self.total:
            raise IndexError(index)
        levels = list(self._baselines)
        remainder, step = divmod(index, len(self._alone))
        for factor in reversed(self._crossed):
            remainder, levels[factor] = divmod(remainder, self._sizes[factor])
        different = self._alone[step]
        if different is not None:
            levels[different[0]] = different[1]
        return tuple(levels)


#: longer names make directory listings and tables unreadable
LONGEST_ID = 60
#: the only treatment of a plan without factors, and the reference of a one-at-a-time design
BASELINE = "baseline"
_UNSAFE = re.compile(r"[^A-Za-z0-9._+%-]")


@dataclass(frozen=True)
class Treatment:
    """One combination of levels.

    `id` is short and safe in a file name (`clients=5`); `levels` gives each factor's label by the factor's
    key;
    `values` what they set, by dotted path; `resolved` every setting that results.
    """

    id: str
    levels: Mapping[str, str]
    values: JsonObject
    resolved: Resolved


class Names:
    """Names for the treatments of a plan: by their levels (`clients=5,storage=local`) where these are short
    and distinct once
    made safe for file names; else all by number (`t07`), the levels being in the data."""

    def __init__(self, factors: Sequence[Factor], one_at_a_time: bool, count: int) -> None:
        self._factors = factors
        self._one_at_a_time = one_at_a_time
        self._width = max(2, len(str(count)))
        self._short = short_keys([factor.key for factor in factors])
        labels = [[_safe(level.label) for level in factor.levels] for factor in factors]
        distinct = all(len(set(some)) == len(some) for some in labels)
        widest = [
            len(key) + 1 + max(map(len, some), default=0)
            for key, some in zip(self._short, labels, strict=True)
        ]
        if one_at_a_time:
            alone = [w for w, factor in zip(widest, factors, strict=True) if not factor.crossed]
            widest = [w for w, factor in zip(widest, factors, strict=True) if factor.crossed]
            widest.append(max(alone, default=0))
        self._spelled = distinct and sum(widest) + len(widest) - 1 <= LONGEST_ID

    def of(self, index: int, combination: Combination) -> str:
        """The name of the treatment with this number (from 0) and these levels."""
        if not self._spelled:
            return f"t{index + 1:0{self._width}d}"
        pieces = []
        for key, factor, level in zip(self._short, self._factors, combination, strict=True):
            if not (self._one_at_a_time and not factor.crossed and level == factor.baseline):
                pieces.append(f"{key}={_safe(factor.levels[level].label)}")
        return ",".join(pieces) or BASELINE


def short_keys(keys: list[str]) -> list[str]:
    """The last segment of each dotted path; the whole path where that would be ambiguous."""
    last = [key.rpartition(".")[2] for key in keys]
    return [_safe(short if last.count(short) == 1 else key) for short, key in zip(last, keys, strict=True)]


def _safe(text: str) -> str:
    """As part of a file name: letters, digits and `._+%-`; never hidden, never empty."""
    safe = _UNSAFE.sub("_", text)
    return "_" + safe[1:] if safe.startswith(".") else safe or "_"


class Table:
    """The treatments of a plan, by number: counted at once, each built and checked when asked for."""

    def __init__(
        self,
        root: Keys,
        factors: Sequence[Factor],
        combinations: Sequence[Combination],
        design: DesignName,
        resolver: Resolver,
    ) -> None:
        self._root = root
        self._factors = factors
        self._combinations = combinations
        self._resolver = resolver
        self._names = Names(factors, design == "one-at-a-time", len(combinations))

    def __len__(self) -> int:
        return len(self._combinations)

    @property
    def names(self) -> list[str]:
        """The names of all of them, in order."""
        return [self._names.of(index, combination) for index, combination in enumerate(self._combinations)]

    def build(self, index: int) -> tuple[Treatment | None, list[Problem]]:
        """The treatment with this number (from 0), or None with what is wrong with it."""
        combination = self._combinations[index]
        levels = [factor.levels[level] for factor, level in zip(self._factors, combination, strict=True)]
        tree = self._root
        for level in levels:
            tree = level.applied(tree)
        resolved, problems = self._resolver.resolve(tree)
        if resolved is None:
            return None, problems
        values: JsonObject = {}
        for level in levels:
            values.update(level.values)
        labels = {factor.key: level.label for factor, level in zip(self._factors, levels, strict=True)}
        return Treatment(self._names.of(index, combination), labels, values, resolved), []

    def check(self, at_most: int) -> Iterator[Sequence[Problem]]:
        """Mistakes in each treatment: in all of them, or in up to `at_most`, spread from first to last."""
        count = len(self)
        chosen = (
            range(count) if count <= at_most else (i * (count - 1) // (at_most - 1) for i in range(at_most))
        )
        for index in chosen:
            yield self.build(index)[1]


CROSS_WITHOUT_DESIGN = MessageCode("plan.cross-without-design")
TOO_MANY_TREATMENTS = MessageCode("plan.too-many-treatments", count=Count, most=Count)
NO_TREATMENT_LEFT = MessageCode("plan.no-treatment-left", values=list)

#: more treatments than a machine's lifetime has room for: surely a slip
MOST_TREATMENTS = 100_000


@dataclass(frozen=True)
class Arrangement:
    """The treatments of a plan, with the factors as they ended up and what was wrong on the way."""

    factors: tuple[Factor, ...]
    base: Resolved | None
    table: Table
    problems: tuple[Problem, ...]


def arrange(
    root: Keys,
    factors: tuple[Factor, ...],
    design: DesignName,
    chosen: Mapping[str, tuple[Level, ...]],
    resolver: Resolver,
) -> Arrangement:
    """The treatments that `factors` make in `design`, with only the `chosen` levels of the factors named
    there.
    """
    base, problems = _base(root, factors, design, resolver)
    if design == "one-at-a-time":
        factors = tuple(_with_baseline(factor, root, base, resolver) for factor in factors)
    elif any(factor.crossed for factor in factors):
        problems.append(Problem(root.mark_of("cross"), "cross", CROSS_WITHOUT_DESIGN()))
    if design == "full":
        factors = tuple(replace(factor, levels=chosen.get(factor.key, factor.levels)) for factor in factors)
    every = Combinations(factors, design)
    combinations: Sequence[Combination] = every
    if every.total > MOST_TREATMENTS:
        message = TOO_MANY_TREATMENTS(count=every.total, most=MOST_TREATMENTS)
        problems.append(Problem(root.mark_of("factors"), "factors", message))
        combinations = ()
    elif chosen and design == "one-at-a-time":
        combinations = list(_cached(every, factors, chosen))
        if not combinations:
            problems.append(_nothing_left(factors, chosen))
    return Arrangement(factors, base, Table(root, factors, combinations, design, resolver), tuple(problems))


def _base(
    root: Keys, factors: Sequence[Factor], design: DesignName, resolver: Resolver
) -> tuple[Resolved | None, list[Problem]]:
    """The plan's own settings; in a full design, a setting left out because a factor gives it is no
    mistake.
    """
    base, problems = resolver.resolve(root)
    if base is not None or design != "full" or not factors:
        return base, problems
    missed = {problem.path for problem in problems}
    needed = [f for f in factors if missed & {".".join(keys) for keys in f.paths}]
    base, problems = resolver.resolve(_filled(root, needed))
    if base is not None:
        return base, problems
    return resolver.resolve(_filled(root, factors))


def _filled(root: Keys, factors: Sequence[Factor]) -> Keys:
    """The plan with the first level of each factor for what it does not give itself."""
    for factor in factors:
        first = factor.levels[0]
        missing = {keys: node for keys, node in first.sets.items() if at(root, keys) is None}
        root = replace(first, sets=missing).applied(root)
    return root


def _with_baseline(factor: Factor, root: Keys, base: Resolved | None, resolver: Resolver) -> Factor:
    """The factor with its baseline known: the level that changes nothing in the plan, or one put before the
    others.
    """
    if factor.crossed or base is None:
        return factor
    document = base.document()
    for index, level in enumerate(factor.levels):
        resolved, _ = resolver.resolve(level.applied(root))
        if resolved is not None and resolved.document() == document:
            return replace(factor, baseline=index)
    label = BASELINE
    if not factor.named:
        value: Any = document
        for key in factor.paths[0]:
            value = value.get(key) if isinstance(value, dict) else None
        label = "default" if value is None else value if isinstance(value, str) else str(value).lower()
    sets = {}
    if not factor.named and (node := at(root, factor.paths[0])) is not None:
        sets = {factor.paths[0]: node}
        label = node.text if isinstance(node, Scalar) else label
    return replace(factor, levels=(Level(label, sets, factor.mark), *factor.levels), baseline=0)


def _cached(
    every: Combinations, factors: Sequence[Factor], chosen: Mapping[str, tuple[Level, ...]]
) -> Iterator[Combination]:
    """The combinations whose levels are among the chosen ones."""
    wanted = [{level.label for level in chosen.get(factor.key, factor.levels)} for factor in factors]
    for combination in every:
        labels = (factor.levels[level].label for factor, level in zip(factors, combination, strict=True))
        if all(label in some for label, some in zip(labels, wanted, strict=True)):
            yield combination


def _nothing_left(factors: Sequence[Factor], chosen: Mapping[str, tuple[Level, ...]]) -> Problem:
    bases = [f"{f.key}={f.levels[f.baseline].label}" for f in factors if f.baseline is not None]
    return Problem(Mark("--only"), ", ".join(chosen), NO_TREATMENT_LEFT(values=bases))
