"""Factors: the settings that are varied on purpose, and the levels they take.

Three ways to write one: a list of values or a range under the dotted path of a setting, or named levels that
each set several paths.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loadcell.model import run_record
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode
from loadcell.plan import ranges
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
    shown,
)

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

_FORMS = ALLOWED_LEVELS(range=ranges.FORM, named="small: {path: value}")


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
    if isinstance(node, Keys) and not ranges.looks_like_range(node):
        levels = tuple(_named_levels(node, where, parts, problems))
        return Factor(key, levels, mark, named=True) if levels else None
    try:
        keys: tuple[str, ...] | None = locate(key, parts)
    except SettingError as error:
        problems.append(error.at(mark, where))
        keys = None
    if isinstance(node, Keys):
        nodes: list[Node] = list(ranges.expand(node, where, problems))
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


def _named_levels(node: Keys, where: str, parts: Parts, problems: list[Problem]) -> Iterator[Level]:
    if not node.entries:
        problems.append(Problem(node.mark, where, FACTOR_EMPTY(allowed=_FORMS)))
    for label, entry in node.entries.items():
        here = f"{where}.{label}"
        if not isinstance(entry.node, Keys):
            message = INVALID(
                value=shown(plain(entry.node)),
                allowed=ALLOWED_LEVEL_SETTINGS(example="{dotted.path: value, ...}"),
            )
            problems.append(Problem(entry.node.mark, here, message))
            continue
        sets: dict[tuple[str, ...], Node] = {}
        for path, setting in entry.node.entries.items():
            try:
                keys = locate(path, parts)
            except SettingError as error:
                problems.append(error.at(setting.mark, f"{here}.{path}"))
                continue
            clash = next((other for other in sets if _overlap(keys, other)), None)
            if clash is not None:
                message = LEVEL_SETS_TWICE(path=".".join(clash))
                problems.append(Problem(setting.mark, f"{here}.{path}", message))
            sets[keys] = setting.node
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
