"""Ranges of levels: `{from: 5, to: 160, step: 5}` and, geometric, `{from: 1, to: 64, times: 2}`.

Both ends are included when met.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from loadcell.model.message import Count, Message, MessageCode
from loadcell.plan import units
from loadcell.plan.nodes import Keys, Node, Scalar, plain
from loadcell.plan.problems import INVALID, Mark, Problem, nearest, shown

ALLOWED_NUMBER_WITH_UNIT = MessageCode("allowed.number-with-unit")
ALLOWED_RANGE = MessageCode("allowed.range", steps=str, factors=str)
RANGE_UNKNOWN_KEY = MessageCode("plan.range-unknown-key", key=str, allowed=Message)
RANGE_MISSING = MessageCode("plan.range-missing", keys=list, allowed=Message)
RANGE_STEP_OR_TIMES = MessageCode("plan.range-step-or-times", allowed=Message)
RANGE_OTHER_UNIT = MessageCode("plan.range-other-unit", symbol=str, first_symbol=str)
RANGE_STEP_0 = MessageCode("plan.range-step-0")
RANGE_STEP_DOWN = MessageCode("plan.range-step-down", first=str, last=str, step=str)
RANGE_STEP_UP = MessageCode("plan.range-step-up", first=str, last=str, step=str)
RANGE_SMALL_STEP = MessageCode("plan.range-small-step", most=Count)
RANGE_SMALL_TIMES = MessageCode("plan.range-small-times", most=Count)
RANGE_TIMES_UNIT = MessageCode("plan.range-times-unit", symbol=str)
RANGE_TIMES_0 = MessageCode("plan.range-times-0", first=str, last=str)
RANGE_TIMES_DOWN = MessageCode("plan.range-times-down", first=str, last=str, times=str)
RANGE_TIMES_UP = MessageCode("plan.range-times-up", first=str, last=str, times=str)

KEYS = ("from", "to", "step", "times")
#: more levels than anyone can run; the guard is against a slip such as `step: 0.001`
MOST_LEVELS = 100_000

FORM = ALLOWED_RANGE(steps="{from: 5, to: 160, step: 5}", factors="{from: 1, to: 64, times: 2}")
_SIGNIFICANT_DIGITS = 6


class RangeError(Exception):
    """A mistake in a range."""

    def __init__(self, mark: Mark, path: str, message: Message, nearest: str | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(mark, path, message, nearest)


def looks_like_range(node: Node) -> bool:
    """True if a mapping was meant as a range."""
    return isinstance(node, Keys) and any(key in node.entries for key in KEYS)


def expand(node: Keys, path: str, problems: list[Problem]) -> list[Scalar]:
    """The levels of a range, each at the range's place; [] after adding to `problems`."""
    wrong = [key for key in node.entries if key not in KEYS]
    for key in wrong:
        message = RANGE_UNKNOWN_KEY(key=shown(key), allowed=FORM)
        problems.append(Problem(node.mark_of(key), f"{path}.{key}", message, nearest(key, KEYS)))
    if wrong:
        return []
    try:
        return _expand(node, path)
    except RangeError as error:
        problems.append(error.problem)
        return []


def _expand(node: Keys, path: str) -> list[Scalar]:
    missing = [key for key in ("from", "to") if node.get(key) is None]
    if missing or ("step" in node.entries) == ("times" in node.entries):
        code = RANGE_MISSING if missing else RANGE_STEP_OR_TIMES
        raise RangeError(node.mark, path, code.pick(keys=missing, allowed=FORM))
    first, unit = _number(node, "from", path)
    last, last_unit = _number(node, "to", path)
    if unit != last_unit:
        message = RANGE_OTHER_UNIT(symbol=shown(last_unit), first_symbol=shown(unit))
        raise RangeError(node.mark_of("to"), f"{path}.to", message)
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
        raise RangeError(node.mark, path, INVALID(value=shown(value), allowed=ALLOWED_NUMBER_WITH_UNIT()))
    return parts


def _steps(node: Keys, path: str, first: Decimal, last: Decimal, unit: str) -> Iterator[Decimal]:
    step, step_unit = _number(node, "step", path)
    mark, where = node.mark_of("step"), f"{path}.step"
    if step_unit != unit:
        raise RangeError(mark, where, RANGE_OTHER_UNIT(symbol=shown(step_unit), first_symbol=shown(unit)))
    if step == 0:
        raise RangeError(mark, where, RANGE_STEP_0())
    if (last - first) / step < 0:
        code = RANGE_STEP_DOWN if last > first else RANGE_STEP_UP
        raise RangeError(mark, where, code(first=first, last=last, step=step), str(-step) + unit)
    count = (last - first) / step + 1
    if count > MOST_LEVELS:
        raise RangeError(node.mark, path, RANGE_SMALL_STEP(most=MOST_LEVELS))
    return (first + step * index for index in range(int(count)))


def _times(node: Keys, path: str, first: Decimal, last: Decimal) -> Iterator[Decimal]:
    times, times_unit = _number(node, "times", path)
    mark, where = node.mark_of("times"), f"{path}.times"
    if times_unit:
        raise RangeError(mark, where, RANGE_TIMES_UNIT(symbol=shown(times_unit)))
    if first <= 0 or last <= 0:
        raise RangeError(node.mark, path, RANGE_TIMES_0(first=first, last=last))
    if times <= 0 or (last != first and ((times > 1) != (last > first) or times == 1)):
        code = RANGE_TIMES_DOWN if last >= first else RANGE_TIMES_UP
        raise RangeError(mark, where, code(first=first, last=last, times=times))
    if first == last:
        return iter([first])
    numbers = [first]
    while len(numbers) <= MOST_LEVELS:
        following = numbers[-1] * times
        if (following > last) if last > first else (following < last):
            return (_rounded(number) for number in numbers)
        numbers.append(following)
    raise RangeError(node.mark, path, RANGE_SMALL_TIMES(most=MOST_LEVELS))


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
