"""Ranges of levels: `{from: 5, to: 160, step: 5}` and, geometric, `{from: 1, to: 64, times: 2}`.

Both ends are included when met.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from loadcell.plan import units
from loadcell.plan.nodes import Keys, Node, Scalar, plain
from loadcell.plan.problems import Mark, Problem, listed, nearest, shown

KEYS = ("from", "to", "step", "times")
#: more levels than anyone can run; the guard is against a slip such as `step: 0.001`
MOST_LEVELS = 100_000
FORM = "{from: 5, to: 160, step: 5} or {from: 1, to: 64, times: 2}"
_SIGNIFICANT_DIGITS = 6


class RangeError(Exception):
    """A mistake, on its way out of the reading."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.finding)
        self.problem = problem


def looks_like_range(node: Node) -> bool:
    """True if a mapping was meant as a range."""
    return isinstance(node, Keys) and any(key in node.entries for key in KEYS)


def expand(node: Keys, path: str, problems: list[Problem]) -> list[Scalar]:
    """The levels of a range, each at the range's place; [] after adding to `problems`."""
    wrong = [key for key in node.entries if key not in KEYS]
    for key in wrong:
        problems.append(
            Problem.at(
                node.place(key),
                f"{path}.{key}",
                f"there is no {shown(key)} in a range",
                allowed=FORM,
                nearest=nearest(key, KEYS),
            )
        )
    if wrong:
        return []
    try:
        return _expand(node, path)
    except RangeError as found:
        problems.append(found.problem)
        return []


def _expand(node: Keys, path: str) -> list[Scalar]:
    missing = [key for key in ("from", "to") if node.get(key) is None]
    if missing or ("step" in node.entries) == ("times" in node.entries):
        finding = f"{listed(missing)} is missing" if missing else "a range has either `step` or `times`"
        raise RangeError(Problem.at(node.mark, path, finding, allowed=FORM))
    first, unit = _number(node, "from", path)
    last, last_unit = _number(node, "to", path)
    if unit != last_unit:
        raise RangeError(
            Problem.at(
                node.place("to"),
                f"{path}.to",
                f"has another unit than `from` ({shown(last_unit)}, {shown(unit)})",
                allowed="one unit in a range",
            )
        )
    if "step" in node.entries:
        numbers = list(_steps(node, path, first, last, unit))
    else:
        numbers = list(_times(node, path, first, last))
    integral = all(isinstance(plain(node.entries[key].node), int) for key in ("from", "to"))
    if integral and "times" in node.entries:
        numbers = list(dict.fromkeys(number.to_integral_value(ROUND_HALF_UP) for number in numbers))
    return [level(node.mark, number, unit) for number in numbers]


def _number(node: Keys, key: str, path: str) -> tuple[Decimal, str]:
    """The number and unit under `key`."""
    return number(node.entries[key].node, f"{path}.{key}")


def number(node: Node, path: str) -> tuple[Decimal, str]:
    """A value as its number and its unit ("" without one). Raises RangeError."""
    value = plain(node)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Decimal(str(value)), ""
    parts = units.split(value) if isinstance(value, str) else None
    if parts is None or not parts[1]:
        raise RangeError(
            Problem.at(
                node.mark, path, f"found {shown(value)}", allowed="a number, or a number with its unit"
            )
        )
    return parts


def _steps(node: Keys, path: str, first: Decimal, last: Decimal, unit: str) -> Iterator[Decimal]:
    step, step_unit = _number(node, "step", path)
    mark, where = node.place("step"), f"{path}.step"
    if step_unit != unit:
        finding = f"has another unit than `from` ({shown(step_unit)}, {shown(unit)})"
        raise RangeError(Problem.at(mark, where, finding, allowed="one unit in a range"))
    if step == 0:
        raise RangeError(Problem.at(mark, where, "a step of 0 gets nowhere", allowed="a step other than 0"))
    if (last - first) / step < 0:
        way = "up" if last > first else "down"
        raise RangeError(
            Problem.at(
                mark,
                where,
                f"the range is empty: {first} to {last} goes {way}, a step of {step} does not",
                allowed=f"a {'positive' if way == 'up' else 'negative'} step",
                nearest=str(-step) + unit,
            )
        )
    count = (last - first) / step + 1
    if count > MOST_LEVELS:
        raise RangeError(
            Problem.at(
                node.mark, path, f"the range has more than {MOST_LEVELS:,} levels", allowed="a larger step"
            )
        )
    return (first + step * index for index in range(int(count)))


def _times(node: Keys, path: str, first: Decimal, last: Decimal) -> Iterator[Decimal]:
    times, times_unit = _number(node, "times", path)
    mark, where = node.place("times"), f"{path}.times"
    if times_unit:
        raise RangeError(
            Problem.at(mark, where, f"has a unit ({shown(times_unit)})", allowed="a bare number, such as 2")
        )
    if first <= 0 or last <= 0:
        raise RangeError(
            Problem.at(
                node.mark,
                path,
                f"{first} to {last} cannot be multiplied through",
                allowed="from and to above 0",
            )
        )
    if times <= 0 or (last != first and ((times > 1) != (last > first) or times == 1)):
        needed = "above 1" if last >= first else "between 0 and 1"
        finding = f"the range is empty: {first} times {times} never gets to {last}"
        raise RangeError(Problem.at(mark, where, finding, allowed=f"a number {needed}"))
    if first == last:
        return iter([first])
    numbers = [first]
    while len(numbers) <= MOST_LEVELS:
        following = numbers[-1] * times
        if (following > last) if last > first else (following < last):
            return (_rounded(number) for number in numbers)
        numbers.append(following)
    raise RangeError(
        Problem.at(
            node.mark,
            path,
            f"the range has more than {MOST_LEVELS:,} levels",
            allowed="`times` farther from 1",
        )
    )


def _rounded(number: Decimal) -> Decimal:
    """To six significant digits, so that a level reads as a person would write it."""
    if number == number.to_integral_value():
        return number
    return round(number, _SIGNIFICANT_DIGITS - 1 - number.adjusted())


def level(mark: Mark, number: Decimal, unit: str) -> Scalar:
    """A level as a person would write it."""
    integral = number == number.to_integral_value()
    text = f"{int(number)}" if integral else f"{number.normalize():f}"
    if unit:
        return Scalar(mark, text + unit, text + unit)
    return Scalar(mark, int(number) if integral else float(number), text)
