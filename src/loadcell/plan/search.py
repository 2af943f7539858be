"""`design: {search: {...}}`: which factor is searched, over which levels, for what.

The levels are laid out here, as those of any factor; which of them are measured is decided during the run
(`loadcell.design.search`).

The lowest rate must make enough requests for the percentiles of the bounds: a percentile beyond which no
request lies is unknown, and the search would end there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from loadcell.model import run_record
from loadcell.model.message import Count, Message, MessageCode, Seconds
from loadcell.plan import rate
from loadcell.plan.expect import QUANTILES, Expectation, needed
from loadcell.plan.factors import Factor, RangeError, conflicts, of_levels
from loadcell.plan.factors import level as level_of
from loadcell.plan.factors import number as number_of
from loadcell.plan.nodes import Items, Keys, Node, Scalar, at, plain
from loadcell.plan.parts import Options, Parts
from loadcell.plan.paths import locate
from loadcell.plan.problems import (
    ALLOWED_NAMES,
    INVALID,
    MISSING,
    Mark,
    Problem,
    SettingError,
    nearest,
    shown,
)
from loadcell.plan.reading import read_model
from loadcell.plan.units import Fraction

if TYPE_CHECKING:
    from loadcell.plan.model import Load


SEARCH_TOO_FEW_REQUESTS = MessageCode(
    "plan.search-too-few-requests", low=str, requests=Count, percentile=str, needed=Count, duration_s=Seconds
)
ALLOWED_STEP_OR_PERCENTAGE = MessageCode("allowed.step-or-percentage")
ALLOWED_STEP_WITH_UNIT_OR_PERCENTAGE = MessageCode("allowed.step-with-unit-or-percentage", symbol=str)
ALLOWED_STEP_ABOVE_0 = MessageCode("allowed.step-above-0")
ALLOWED_DESIGN = MessageCode("allowed.design", search=str)
SEARCH_NO_BOUND = MessageCode("plan.search-no-bound", factor=str)
SEARCH_CHOOSES_LEVELS = MessageCode("plan.search-chooses-levels")
SEARCH_UNITS = MessageCode("plan.search-units", symbol=str, other=str)
SEARCH_FALLING = MessageCode("plan.search-falling", low=str, high=str)
SEARCH_TOO_MANY_LEVELS = MessageCode("plan.search-too-many-levels", most=Count)
SEARCH_PERCENTAGE_OF_0 = MessageCode("plan.search-percentage-of-0", low=str)

_FORM = "{search: {factor: load.clients, between: [1, 256], objective: max throughput}}"
#: objectives of a search: metrics of which more is better
MAXIMA = ("throughput", "queries", "tpmC", "tpmTotal")
#: the factor whose highest level needs no other bound: a target keeps up with a rate, or does not
RATE = "load.rate"
#: most levels of a search: far more than measurements can distinguish
MOST_LEVELS = 2_000
#: how far apart levels are without a `step`: a curve is flat at its top, a bound is sharp
_STEPS = {"maximum": Decimal("0.05"), "bound": Decimal("0.02")}
_DIGITS = 3
_WHERE = ("design", "search")


class SearchOptions(Options, use_attribute_docstrings=True):
    """Looks for the best level of one factor in a handful of trials, instead of measuring all of them."""

    factor: str
    """The factor that is searched: the dotted path of a setting with a number, such as `load.clients` or
    `load.rate`."""
    between: Annotated[list[int | float | str], Field(min_length=2, max_length=2)]
    """The lowest and the highest level."""
    step: int | float | str | None = None
    """The distance of levels: a number, or a percentage of the level. Default: 5%, for a highest level
    2%."""
    objective: str = "max throughput"
    """`max throughput` (or `queries`, `tpmC`, `tpmTotal`); `max load.rate`: the highest level that meets the
    bounds."""
    subject_to: str | list[str] = Field(default=[], alias="subject to")
    """Bounds that the answer has to meet, written as expectations."""
    trials: Annotated[int, Field(ge=3, le=100)] | None = None
    """The most trials before the answer is confirmed. Default: 10, for a highest level what halving
    needs."""
    tolerance: Annotated[Fraction, Field(gt=0, le=0.5)] = Fraction(0.02)
    """Throughputs less than this apart count as the same."""


@dataclass(frozen=True)
class Search:
    """A search as a plan asks for it.

    `labels` and `values` are its levels, from the lowest; `metric` is what is to be high, for a `bound` the
    throughput that is reported with it. `keeping_up` says that a level of a rate counts only when
    (nearly) all that was due was done. `trials` is None where it depends on the number of levels."""

    key: str
    kind: Literal["maximum", "bound"]
    metric: str
    bounds: tuple[Expectation, ...]
    labels: tuple[str, ...]
    values: tuple[float, ...]
    trials: int | None
    tolerance: float

    @property
    def keeping_up(self) -> bool:
        """True if a level has to be kept up with."""
        return self.kind == "bound" and self.key == RATE

    @property
    def objective(self) -> str:
        """As written in a plan."""
        return f"max {self.metric if self.kind == 'maximum' else self.key}"

    def record(self) -> run_record.SearchRecord:
        """For run.json."""
        return run_record.SearchRecord(
            factor=self.key,
            kind=self.kind,
            objective=self.objective,
            metric=self.metric,
            subject_to=tuple(bound.text for bound in self.bounds),
            levels=self.labels,
            values=self.values,
            trials=self.trials,
            tolerance=self.tolerance,
        )


def is_search(root: Keys) -> bool:
    """True if the plan's design is a search, or was meant to be."""
    node = root.get("design")
    return isinstance(node, Keys) or (isinstance(node, Scalar) and node.value == "search")


def read_search(
    root: Keys, factors: Sequence[Factor], parts: Parts, problems: list[Problem]
) -> tuple[Search, Factor] | None:
    """The search and its factor; None after adding to `problems`. `factors` are the plan's other ones."""
    node = at(root, _WHERE)
    mark = root.mark_of("design")
    design = root.get("design")
    if not isinstance(node, Keys) or (isinstance(design, Keys) and len(design.entries) > 1):
        code = MISSING if design is None else INVALID
        message = code.pick(value=shown(design and plain(design)), allowed=ALLOWED_DESIGN(search=_FORM))
        problems.append(Problem(mark, "design", message))
        return None
    options = read_model(SearchOptions, node, _WHERE, mark, problems)
    if options is None:
        return None
    before = len(problems)
    keys = _located(node, options.factor, parts, problems)
    aim = _objective(node, options, problems)
    bounds = tuple(_bounds(node, problems))
    if aim is not None and aim[0] == "bound" and options.factor != RATE and not bounds:
        message = SEARCH_NO_BOUND(factor=options.factor)
        problems.append(Problem(node.mark_of("objective"), "design.search.objective", message))
    if keys is None or aim is None or len(problems) > before:
        return None
    try:
        numbers, unit = _numbers(node, aim[0])
    except RangeError as error:
        problems.append(error.problem)
        return None
    levels = [level_of(node.mark_of("between"), number, unit) for number in numbers]
    factor = of_levels(
        options.factor, keys, levels, "design.search.between", node.mark_of("factor"), problems
    )
    problems.extend(conflicts([*factors, factor]))
    labels = tuple(level.label for level in factor.levels)
    values = tuple(map(float, numbers))
    return Search(
        options.factor, *aim, bounds, labels, values, options.trials, float(options.tolerance)
    ), factor  # fmt: skip


def names(key: str, text: str) -> bool:
    """True if the text after an `--only` names the factor that is searched."""
    return text.partition("=")[0].strip() in (key, key.rpartition(".")[2])


def useless(key: str, sets: Sequence[str], only: Sequence[str]) -> Iterator[Problem]:
    """`--set` and `--only` of the factor that is searched: the search chooses its levels itself."""
    settings = [f"--set {key}" for text in sets if text.partition("=")[0].strip() == key]
    settings += [f"--only {text.partition('=')[0]}" for text in only if names(key, text)]
    return (Problem(Mark(option), key, SEARCH_CHOOSES_LEVELS()) for option in settings)


def _located(node: Keys, key: str, parts: Parts, problems: list[Problem]) -> tuple[str, ...] | None:
    try:
        return locate(key, parts)
    except SettingError as error:
        problems.append(error.at(node.entries["factor"].node.mark, "design.search.factor"))
        return None


def _objective(
    node: Keys, options: SearchOptions, problems: list[Problem]
) -> tuple[Literal["maximum", "bound"], str] | None:
    """Kind of a search, and the metric it reports."""
    word, _, name = options.objective.partition(" ")
    name = name.strip()
    if word == "max" and name in MAXIMA:
        return "maximum", name
    if word == "max" and name in (options.factor, options.factor.rpartition(".")[2]):
        return "bound", "throughput"
    allowed_names = (*MAXIMA, options.factor)
    near = nearest(name or word, allowed_names)
    allowed = ALLOWED_NAMES(names=[f"max {goal}" for goal in allowed_names])
    message = INVALID(value=shown(options.objective), allowed=allowed)
    mark = node.mark_of("objective")
    problems.append(Problem(mark, "design.search.objective", message, f"max {near}" if near else None))
    return None


def _bounds(node: Keys, problems: list[Problem]) -> Iterator[Expectation]:
    condition = node.get("subject to")
    for item in (
        condition.nodes if isinstance(condition, Items) else () if condition is None else (condition,)
    ):
        text = plain(item)
        try:
            bound = Expectation.parse(str(text))
            yield bound
        except SettingError as error:
            problems.append(error.at(item.mark, "design.search.subject to"))


def _numbers(node: Keys, kind: str) -> tuple[list[Decimal], str]:
    """The levels as rising numbers, and their unit. Raises RangeError."""
    ends = node.entries["between"].node
    assert isinstance(ends, Items)
    where = "design.search.between"
    (low, unit), (high, other) = (number_of(end, where) for end in ends.nodes)
    if unit != other:
        raise RangeError(ends.mark, where, SEARCH_UNITS(symbol=shown(unit), other=shown(other)))
    if low >= high:
        raise RangeError(ends.mark, where, SEARCH_FALLING(low=low, high=high))
    integral = all(isinstance(plain(end), int) for end in ends.nodes)
    numbers = list(_laid_out(node, low, high, unit, integral, _STEPS[kind]))
    if len(numbers) > MOST_LEVELS:
        message = SEARCH_TOO_MANY_LEVELS(most=MOST_LEVELS)
        raise RangeError(node.mark_of("step"), "design.search.step", message)
    return numbers, unit


def _laid_out(
    node: Keys, low: Decimal, high: Decimal, unit: str, integral: bool, share: Decimal
) -> Iterator[Decimal]:
    """From the lower end to the upper one, which is always the last."""
    step, by_share = _step(node, unit, share)
    if by_share and low <= 0:
        mark = node.entries["between"].node.mark
        raise RangeError(mark, "design.search.between", SEARCH_PERCENTAGE_OF_0(low=low))
    number, count = low, 0
    while number < high and count <= MOST_LEVELS:
        yield number
        count += 1
        if not by_share:
            number += step
            continue
        grown = number * (1 + step)
        after = grown.to_integral_value() if integral else round(grown, _DIGITS - 1 - grown.adjusted())
        number = max(after, number + 1) if integral else after if after > number else grown
    yield high


def _step(node: Keys, unit: str, share: Decimal) -> tuple[Decimal, bool]:
    """The step, and whether it is a share of the level."""
    step_node: Node | None = node.get("step")
    if step_node is None or plain(step_node) is None:
        return share, True
    where = "design.search.step"
    step, width = number_of(step_node, where)
    if width not in (unit, "%") or step <= 0:
        code = ALLOWED_STEP_WITH_UNIT_OR_PERCENTAGE if unit else ALLOWED_STEP_OR_PERCENTAGE
        code = code if width not in (unit, "%") else ALLOWED_STEP_ABOVE_0
        message = INVALID(value=shown(plain(step_node)), allowed=code.pick(symbol=unit))
        raise RangeError(step_node.mark, where, message)
    return (step / 100, True) if width == "%" else (step, False)


def too_few(search: Search, load: Load) -> Message | None:
    """Message on the lowest level of a search if it has too few requests; None otherwise."""
    if search.key != RATE or load.rate is None or load.expected_s is None:
        return None
    requests = rate.requests(load.rate, load.expected_s)
    percentiles = [name for bound in search.bounds for name in QUANTILES if bound.metric.endswith(f".{name}")]
    percentile = max(percentiles, key=lambda name: QUANTILES[name], default=None)
    if percentile is None or requests >= needed(QUANTILES[percentile]):
        return None
    least = needed(QUANTILES[percentile])
    return SEARCH_TOO_FEW_REQUESTS(
        low=search.labels[0],
        requests=round(requests),
        percentile=percentile,
        needed=least,
        duration_s=math.ceil(load.expected_s * least / requests) if requests else math.inf,
    )
