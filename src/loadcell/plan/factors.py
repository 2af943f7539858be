"""Factors: the settings that are varied on purpose, and the levels they take.

Levels are written one by one or as a range: `{from: 5, to: 160, step: 5}` or, geometric,
`{from: 1, to: 64, times: 2}`. Both ends are included when met.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal

from loadcell.model import run_record
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode
from loadcell.plan import units
from loadcell.plan.nodes import Items, Keys, Node, Scalar, plain, put
from loadcell.plan.parts import Parts
from loadcell.plan.paths import locate
from loadcell.plan.problems import (
    ALLOWED_NAMES,
    INVALID,
    UNKNOWN_FACTOR,
    Mark,
    Problem,
    SettingError,
    listed,
    nearest,
    shown,
)

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
    """True if a mapping was meant as a range, whose values are quantities; named levels have settings."""
    return isinstance(node, Keys) and any(isinstance(node.get(key), Scalar) for key in KEYS)


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


ALLOWED_FACTORS = MessageCode("allowed.factors")
ALLOWED_FACTOR_OF_PLAN = MessageCode("allowed.factor-of-plan")
ALLOWED_LEVELS = MessageCode("allowed.levels", range=Message, named=str)
ALLOWED_LEVEL_SETTINGS = MessageCode("allowed.level-settings", example=str)
INVALID_NO_LEVELS = MessageCode("plan.found-no-levels", value=str, allowed=Message)
FACTOR_EMPTY = MessageCode("plan.factor-empty", allowed=Message)
FACTOR_TWICE = MessageCode("plan.factor-twice", factor=str, line=str)
FACTOR_SAME_SETTING = MessageCode("plan.factor-same-setting", path=str, factor=str)
FACTOR_PART = MessageCode("plan.factor-part", path=str, whole=str, factor=str)
FACTOR_PARENT = MessageCode("plan.factor-whole", path=str, part=str, factor=str)
LEVEL_TWICE = MessageCode("plan.level-twice", label=str)
LEVEL_SETS_TWICE = MessageCode("plan.level-sets-twice", path=str)

_FORMS = ALLOWED_LEVELS(range=FORM, named="small: {path: value}")


@dataclass(frozen=True)
class Level:
    """One value of a factor: `label` names it, `sets` says what it puts where (a tuple of keys for each
    path).
    """

    label: str
    sets: Mapping[tuple[str, ...], Node]
    mark: Mark

    @property
    def values(self) -> JsonObject:
        """Dotted path -> plain value."""
        return {".".join(keys): plain(node) for keys, node in self.sets.items()}

    def applied(self, root: Keys) -> Keys:
        """The plan with this level's settings in it."""
        tree: Node = root
        for keys, node in self.sets.items():
            tree = put(tree, keys, node)
        assert isinstance(tree, Keys)
        return tree


@dataclass(frozen=True)
class Factor:
    """Something varied: its `key` as written (a dotted path, or a name when its levels are named).

    `crossed`: in a one-at-a-time design it is combined with everything (it stands under `cross:`).
    `baseline`: in such a design, the index of the level that is the plan's own value; else None.
    """

    key: str
    levels: tuple[Level, ...]
    mark: Mark
    named: bool = False
    crossed: bool = False
    baseline: int | None = None

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """Every path any level sets, once."""
        return tuple(dict.fromkeys(keys for level in self.levels for keys in level.sets))

    def record(self) -> run_record.FactorRecord:
        """For run.json: each level's label with its `value`, or with what it `sets` when the levels are
        named.
        """
        levels = (
            run_record.LevelRecord(level.label, sets=dict(level.values))
            if self.named
            else run_record.LevelRecord(level.label, level.values.get(self.key))
            for level in self.levels
        )
        return run_record.FactorRecord(self.key, tuple(levels))


def read_factors(root: Keys, parts: Parts, problems: list[Problem]) -> tuple[Factor, ...]:
    """Every factor of the plan that could be read, those under `cross:` last."""
    factors = list(_section(root, "factors", parts, problems))
    cross = root.get("cross")
    if isinstance(cross, Items):
        factors = _crossed_by_name(cross, factors, problems)
    else:
        factors += [replace(factor, crossed=True) for factor in _section(root, "cross", parts, problems)]
    problems.extend(conflicts(factors))
    return tuple(sorted(factors, key=lambda factor: factor.crossed))


def _section(root: Keys, section: str, parts: Parts, problems: list[Problem]) -> Iterator[Factor]:
    node = root.get(section)
    if node is None or plain(node) is None:
        return
    if not isinstance(node, Keys):
        message = INVALID(value=shown(plain(node)), allowed=ALLOWED_FACTORS())
        problems.append(Problem(node.mark, section, message))
        return
    for key, entry in node.entries.items():
        factor = _factor(key, entry.mark, entry.node, f"{section}.{key}", parts, problems)
        if factor is not None:
            yield factor


def _factor(
    key: str, mark: Mark, node: Node, where: str, parts: Parts, problems: list[Problem]
) -> Factor | None:
    if isinstance(node, Keys) and not looks_like_range(node):
        levels = tuple(_named_levels(node, where, parts, problems, _setting(key, parts)))
        return Factor(key, levels, mark, named=True) if levels else None
    try:
        keys: tuple[str, ...] | None = locate(key, parts)
    except SettingError as error:
        problems.append(error.at(mark, where))
        keys = None
    if isinstance(node, Keys):
        nodes: list[Node] = list(expand(node, where, problems))
    elif isinstance(node, Items) and node.nodes:
        nodes = list(node.nodes)
    else:
        near = f"{key}: [{node.text}]" if isinstance(node, Scalar) and node.value is not None else None
        message = INVALID_NO_LEVELS(value=shown(plain(node)), allowed=_FORMS)
        problems.append(Problem(node.mark, where, message, near))
        return None
    if keys is None or not nodes:
        return None
    return of_levels(key, keys, nodes, where, mark, problems)


def of_levels(
    key: str, keys: tuple[str, ...], nodes: Sequence[Node], where: str, mark: Mark, problems: list[Problem]
) -> Factor:
    """A factor whose levels are values of the setting at `keys`."""
    levels = tuple(Level(_label(keys, level), {keys: level}, level.mark) for level in nodes)
    return Factor(key, tuple(_once(levels, where, problems)), mark)


def _setting(key: str, parts: Parts) -> tuple[str, ...] | None:
    """The setting that a factor's name is the path of; None if it is just a name."""
    try:
        return locate(key, parts)
    except SettingError:
        return None


def _named_levels(
    node: Keys, where: str, parts: Parts, problems: list[Problem], setting: tuple[str, ...] | None
) -> Iterator[Level]:
    """Levels with names; one that is no mapping is a value of `setting`, the factor's own."""
    if not node.entries:
        problems.append(Problem(node.mark, where, FACTOR_EMPTY(allowed=_FORMS)))
    for label, entry in node.entries.items():
        here = f"{where}.{label}"
        if setting is not None and not isinstance(entry.node, Keys):
            yield Level(label, {setting: entry.node}, entry.mark)
            continue
        if not isinstance(entry.node, Keys):
            message = INVALID(
                value=shown(plain(entry.node)),
                allowed=ALLOWED_LEVEL_SETTINGS(example="{dotted.path: value, ...}"),
            )
            problems.append(Problem(entry.node.mark, here, message))
            continue
        sets: dict[tuple[str, ...], Node] = {}
        for path, value in entry.node.entries.items():
            try:
                keys = locate(path, parts)
            except SettingError as error:
                problems.append(error.at(value.mark, f"{here}.{path}"))
                continue
            clash = next((other for other in sets if _overlap(keys, other)), None)
            if clash is not None:
                message = LEVEL_SETS_TWICE(path=".".join(clash))
                problems.append(Problem(value.mark, f"{here}.{path}", message))
            sets[keys] = value.node
        yield Level(label, sets, entry.mark)


def _once(levels: tuple[Level, ...], where: str, problems: list[Problem]) -> Iterator[Level]:
    seen: set[str] = set()
    for level in levels:
        if level.label in seen:
            problems.append(Problem(level.mark, where, LEVEL_TWICE(label=shown(level.label))))
            continue
        seen.add(level.label)
        yield level


def _label(keys: tuple[str, ...], node: Node) -> str:
    """Label of a level: as written; a target or workload by its name."""
    if isinstance(node, Scalar):
        return node.text or "null"
    if isinstance(node, Keys) and keys in (("target",), ("workload",)) and len(node.entries) == 1:
        name, entry = next(iter(node.entries.items()))
        if not plain(entry.node):
            return name
    return json.dumps(plain(node), ensure_ascii=False, separators=(",", ":"))


def _crossed_by_name(cross: Items, factors: list[Factor], problems: list[Problem]) -> list[Factor]:
    """`cross: [storage]`: which of the factors already given are crossed."""
    names: set[str] = set()
    for item in cross.nodes:
        value = plain(item)
        if value in [factor.key for factor in factors]:
            names.add(value)
        else:
            names_of_factors = listed((factor.key for factor in factors), ALLOWED_FACTOR_OF_PLAN)
            message = UNKNOWN_FACTOR(name=shown(value), allowed=ALLOWED_NAMES(names=names_of_factors))
            problems.append(Problem(item.mark, "cross", message))
    return [replace(factor, crossed=True) if factor.key in names else factor for factor in factors]


def _overlap(first: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """True if setting one path would change what the other sets."""
    shorter = min(len(first), len(other))
    return first[:shorter] == other[:shorter]


def conflicts(factors: Sequence[Factor]) -> Iterator[Problem]:
    """Factors that would overwrite each other."""
    owners: list[tuple[tuple[str, ...], Factor]] = []
    keys_seen: dict[str, Factor] = {}
    for factor in factors:
        first = keys_seen.setdefault(factor.key, factor)
        if first is not factor:
            message = FACTOR_TWICE(factor=shown(factor.key), line=str(first.mark.line))
            yield Problem(factor.mark, factor.key, message)
            continue
        for keys in factor.paths:
            for other_keys, other in owners:
                if other is factor or not _overlap(keys, other_keys):
                    continue
                code = FACTOR_PART if len(keys) > len(other_keys) else FACTOR_PARENT
                code = FACTOR_SAME_SETTING if keys == other_keys else code
                path, other_path = ".".join(keys), ".".join(other_keys)
                message = code.pick(path=path, whole=other_path, part=other_path, factor=shown(other.key))
                mark = next(level.mark for level in factor.levels if keys in level.sets)
                mark_of_factor = factor.mark if not factor.named else mark
                yield Problem(mark_of_factor, f"factors.{factor.key}", message)
        owners.extend((keys, factor) for keys in factor.paths)
