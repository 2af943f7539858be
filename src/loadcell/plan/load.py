"""From a plan file to a `LoadedPlan`: everything checked, every mistake found in one go."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from loadcell.plan import secrets
from loadcell.plan.combine import Combination, Combinations
from loadcell.plan.expect import Expectation, ExpectationError
from loadcell.plan.factors import Factor, Level, read_factors
from loadcell.plan.model import DesignName, Head, Limits, OrderName, Resolved
from loadcell.plan.nodes import Items, Keys, Scalar, at, plain
from loadcell.plan.overrides import apply_sets, chosen_levels
from loadcell.plan.parts import Options, Parts
from loadcell.plan.paths import SECTIONS, settings
from loadcell.plan.problems import Mark, PlanError, Problem, in_order, listed, nearest, shown
from loadcell.plan.resolve import Resolver, read_model, with_monitors_by_name
from loadcell.plan.source import compose, read_text
from loadcell.plan.treatment import BASELINE, Names, Treatment

#: the keys a plan may have
KEYS = (
    "title",
    "question",
    *SECTIONS[:3],
    "factors",
    "cross",
    "design",
    "repeats",
    "order",
    "seed",
    *SECTIONS[3:],
    "expect",
)
#: up to here every treatment is checked when the plan is loaded; of more, this many spread evenly over all
CHECKED_AT_ONCE = 1_000
#: more treatments than a machine's lifetime has room for: surely a slip
MOST_TREATMENTS = 100_000


@dataclass(frozen=True)
class LoadedPlan:
    """A plan that has been read and found right.

    `text` is the file as written; `name` is safe in a path; `base` is the plan's own settings without any factor
    (in a full design whose plan leaves a setting to a factor: with that factor's first level).
    """

    path: Path
    text: str
    name: str
    title: str
    question: str
    base: Resolved
    factors: tuple[Factor, ...]
    design: DesignName
    repeats: int
    order: OrderName
    seed: int | None
    expect: tuple[Expectation, ...]
    sets: tuple[str, ...]
    only: tuple[str, ...]
    _root: Keys = field(repr=False)
    _resolver: Resolver = field(repr=False)
    _combinations: Sequence[Combination] = field(repr=False)

    @property
    def monitors(self) -> Mapping[str, Options]:
        """Monitors by name, with the options the plan itself gives them."""
        return self.base.monitors

    @property
    def limits(self) -> Limits:
        """The plan's own time limits."""
        return self.base.limits

    @property
    def treatment_count(self) -> int:
        """How many treatments there are, without building any."""
        return len(self._combinations)

    def size(self) -> int:
        """How many trials a run has, without building any."""
        return self.treatment_count * self.repeats

    @cached_property
    def treatments(self) -> tuple[Treatment, ...]:
        """Every treatment, in the order of the plan. Raises PlanError when one of very many proves to be wrong."""
        problems: list[Problem] = []
        built: list[Treatment] = []
        for index in range(self.treatment_count):
            resolved, found = self._resolve(index)
            problems.extend(found)
            if resolved is not None:
                built.append(self._treatment(index, resolved))
        if problems:
            raise PlanError(in_order(problems))
        return tuple(built)

    @cached_property
    def _names(self) -> Names:
        return Names(self.factors, self.design == "one-at-a-time", self.treatment_count)

    def _levels(self, index: int) -> list[Level]:
        combination = self._combinations[index]
        return [factor.levels[level] for factor, level in zip(self.factors, combination, strict=True)]

    def _resolve(self, index: int) -> tuple[Resolved | None, list[Problem]]:
        tree = self._root
        for level in self._levels(index):
            tree = level.applied(tree)
        return self._resolver.resolve(tree)

    def _treatment(self, index: int, resolved: Resolved) -> Treatment:
        levels = self._levels(index)
        values: dict[str, Any] = {}
        for level in levels:
            values.update(level.values)
        labels = {factor.key: level.label for factor, level in zip(self.factors, levels, strict=True)}
        return Treatment(self._names.of(index, self._combinations[index]), labels, values, resolved)


def load_plan(
    path: Path,
    parts: Parts,
    *,
    sets: Sequence[str] = (),
    only: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> LoadedPlan:
    """Read and check a plan; `sets` and `only` are the texts after `--set` and `--only`. Raises PlanError with all mistakes."""
    problems: list[Problem] = []
    text = read_text(path)
    root = compose(text, str(path), problems)
    if not isinstance(root, Keys):
        found = "is empty" if root is None else f"holds {shown(plain(root))}, not a plan"
        mark = root.mark if root is not None else Mark(str(path))
        raise PlanError(
            [*problems, Problem.at(mark, "", found, allowed=f"a mapping with the keys {listed(KEYS)}")]
        )
    problems.extend(_unknown_keys(root, parts))
    root = apply_sets(root.without(*(key for key in root.entries if key not in KEYS)), sets, parts, problems)
    problems.extend(secrets.problems_of(root, os.environ if env is None else env))
    head = _head(root, problems)
    expect = tuple(_expectations(root, problems))
    factors = read_factors(root, parts, problems)
    chosen = chosen_levels(only, factors, problems)
    root = with_monitors_by_name(root, parts, problems)
    resolver = Resolver(parts, expect)

    design = head.design if head else "full"
    base, base_problems = _base(root, factors, design, resolver)
    if design == "one-at-a-time":
        factors = tuple(_with_baseline(factor, root, base, resolver) for factor in factors)
    elif any(factor.crossed for factor in factors):
        problems.append(
            Problem.at(
                root.place("cross"),
                "cross",
                "has no meaning in a full design, where all is crossed",
                allowed="`design: one-at-a-time` with `cross:`, or the factor under `factors:`",
            )
        )
    factors, combinations = _chosen(factors, design, chosen, only, problems)
    problems.extend(_too_many(root, combinations))
    if problems and base is None:
        problems.extend(base_problems)
    if head is None or base is None or _count(combinations) > MOST_TREATMENTS:
        raise PlanError(in_order([*problems, *base_problems]))
    plan = LoadedPlan(
        path=path,
        text=text,
        name=_slug(path.stem),
        title=head.title or _slug(path.stem),
        question=head.question,
        base=base,
        factors=factors,
        design=design,
        repeats=head.repeats,
        order=head.order,
        seed=head.seed,
        expect=expect,
        sets=tuple(sets),
        only=tuple(only),
        _root=root,
        _resolver=resolver,
        _combinations=combinations,
    )
    for index in _to_check(len(combinations)):
        problems.extend(plan._resolve(index)[1])
    if problems:
        raise PlanError(in_order(problems))
    return plan


def _to_check(count: int) -> Iterator[int]:
    """Which of `count` treatments are checked when loading: all, or a thousand from the first to the last."""
    if count <= CHECKED_AT_ONCE:
        yield from range(count)
    else:
        yield from (index * (count - 1) // (CHECKED_AT_ONCE - 1) for index in range(CHECKED_AT_ONCE))


def _slug(stem: str) -> str:
    """A name for directories from a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "plan"


def _unknown_keys(root: Keys, parts: Parts) -> Iterator[Problem]:
    everything = settings(parts)
    for key, entry in root.entries.items():
        if key not in KEYS:
            deeper = [path for path in everything if path.rpartition(".")[2] == key]
            near = deeper[0] if deeper else nearest(key, KEYS)
            finding = f"there is no key {shown(key)} in a plan"
            yield Problem.at(entry.mark, key, finding, allowed=listed(KEYS), nearest=near)


def _head(root: Keys, problems: list[Problem]) -> Head | None:
    own = root.without(*(key for key in root.entries if key not in Head.model_fields))
    return read_model(Head, own, (), root.mark, problems)


def _expectations(root: Keys, problems: list[Problem]) -> Iterator[Expectation]:
    node = root.get("expect")
    if node is None or plain(node) is None:
        return
    if not isinstance(node, Items):
        problems.append(
            Problem.at(node.mark, "expect", f"found {shown(plain(node))}", allowed="a list (`[errors == 0]`)")
        )
        return
    for item in node.nodes:
        try:
            if not isinstance(item, Scalar):
                raise ExpectationError(f"found {shown(plain(item))}", allowed="text such as errors == 0")
            yield Expectation.parse(item.text)
        except ExpectationError as error:
            problems.append(
                Problem.at(item.mark, "expect", error.finding, allowed=error.allowed, nearest=error.nearest)
            )


def _base(
    root: Keys, factors: Sequence[Factor], design: DesignName, resolver: Resolver
) -> tuple[Resolved | None, list[Problem]]:
    """The plan's own settings; in a full design, a setting left out because a factor gives it is no mistake."""
    base, problems = resolver.resolve(root)
    if base is not None or design != "full" or not factors:
        return base, problems
    filled = root
    for factor in factors:
        first = factor.levels[0]
        missing = {keys: node for keys, node in first.sets.items() if at(filled, keys) is None}
        filled = replace(first, sets=missing).applied(filled)
    return resolver.resolve(filled)


def _with_baseline(factor: Factor, root: Keys, base: Resolved | None, resolver: Resolver) -> Factor:
    """The factor with its baseline known: the level that changes nothing in the plan, or one put before the others."""
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


def _chosen(
    factors: tuple[Factor, ...],
    design: DesignName,
    chosen: Mapping[str, tuple[Level, ...]],
    only: Sequence[str],
    problems: list[Problem],
) -> tuple[tuple[Factor, ...], Sequence[Combination]]:
    """What `--only` leaves: fewer levels in a full design, those treatments that have the levels in another."""
    if not chosen:
        return factors, Combinations(factors, design)
    if design == "full":
        factors = tuple(replace(factor, levels=chosen.get(factor.key, factor.levels)) for factor in factors)
        return factors, Combinations(factors, design)
    wanted = [{level.label for level in chosen.get(factor.key, factor.levels)} for factor in factors]
    every = Combinations(factors, design)
    kept = [
        combination
        for combination in (every if every.total <= MOST_TREATMENTS else ())
        if all(
            factor.levels[level].label in labels
            for factor, level, labels in zip(factors, combination, wanted, strict=True)
        )
    ]
    if not kept and every.total <= MOST_TREATMENTS:
        problems.append(
            Problem.at(
                Mark(f"--only {' --only '.join(only)}"),
                "",
                "leaves no treatment: one factor at a time differs from the plan's own values",
                allowed="levels that occur together; the plan's own values of the other factors",
            )
        )
    return factors, kept


def _count(combinations: Sequence[Combination]) -> int:
    """How many there are, even where that is more than len() can say."""
    return combinations.total if isinstance(combinations, Combinations) else len(combinations)


def _too_many(root: Keys, combinations: Sequence[Combination]) -> Iterator[Problem]:
    count = _count(combinations)
    if count > MOST_TREATMENTS:
        yield Problem.at(
            root.place("factors"),
            "factors",
            f"make {count:,} treatments",
            allowed=f"at most {MOST_TREATMENTS:,}; fewer levels, or `design: one-at-a-time`",
        )
