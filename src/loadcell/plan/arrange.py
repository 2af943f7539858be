"""From factors and levels to the treatments of a design: baselines, what `--only` leaves, and how many there
may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadcell.model.message import Count, MessageCode
from loadcell.plan.factors import Factor, Level
from loadcell.plan.model import DesignName, Resolved
from loadcell.plan.nodes import Keys, Scalar, at
from loadcell.plan.problems import Mark, Problem
from loadcell.plan.resolve import Resolver
from loadcell.plan.treatment import BASELINE, Combination, Combinations, Table

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
