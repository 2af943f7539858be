"""Changes of a plan on the command line: `--set path=value` and `--only factor=level,level`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from loadcell.model.message import Message, MessageCode
from loadcell.plan.factors import Factor, Level
from loadcell.plan.model import Head
from loadcell.plan.nodes import Keys, Node, Scalar, at, put
from loadcell.plan.parts import Parts
from loadcell.plan.paths import locate
from loadcell.plan.problems import (
    INVALID,
    UNKNOWN_FACTOR,
    Mark,
    PlanError,
    Problem,
    SettingError,
    listed,
    nearest,
    shown,
)
from loadcell.plan.resolve import with_monitors_by_name
from loadcell.plan.source import compose

ALLOWED_NO_FACTORS = MessageCode("allowed.no-factors")
ALLOWED_ASSIGNMENT = MessageCode("allowed.assignment")
ALLOWED_LEVEL_CHOICE = MessageCode("allowed.level-choice", factors=list)
ALLOWED_PATH_START_OR = MessageCode("allowed.path-start-or", allowed=Message, sections=list)
UNKNOWN_LEVEL = MessageCode("plan.unknown-level", label=str, labels=list)
FACTOR_SET_REPLACED = MessageCode("plan.factor-set-replaced", path=str)

_FACTOR_SECTIONS = ("factors", "cross")
_PROSE = ("title", "question")
_LABELS = ("labels", "about")
_SECTION = (*Head.model_fields, "expect", "profile", *_LABELS, *_FACTOR_SECTIONS)


def apply_sets(root: Keys, sets: Sequence[str], parts: Parts, problems: list[Problem]) -> Keys:
    """The plan with every `path=value` put in, in the order given; values are written as in the plan (prose
    without quotes).
    """
    changed: list[tuple[str, tuple[str, ...], Mark]] = []
    for text in sets:
        option = f"--set {text.partition('=')[0]}"
        path, equals, value = text.partition("=")
        path = path.strip()
        mark = Mark(option)
        if not equals or not path:
            problems.append(Problem(mark, "", INVALID(value=shown(path), allowed=ALLOWED_ASSIGNMENT())))
            continue
        try:
            node = _prose(value, mark) if path in _PROSE else compose(value, option, problems, placed=False)
            keys = _keys(path, root, parts)
        except PlanError as error:
            problems.extend(Problem(mark, path, problem.message) for problem in error.problems)
            continue
        except SettingError as error:
            problems.append(error.at(mark, path))
            continue
        root = _put(root, keys, node or Scalar(mark, None, ""), parts, problems)
        changed.append((path, keys, mark))
    for path, keys, mark in changed:
        problems.extend(_useless(root, path, keys, mark))
    return root


def _prose(value: str, mark: Mark) -> Node:
    """Text as it is: a title may hold `: ` or begin with `[`."""
    return Scalar(mark, value, value)


def _put(root: Keys, keys: tuple[str, ...], node: Node, parts: Parts, problems: list[Problem]) -> Keys:
    if keys[0] == "monitors" and len(keys) > 1:
        root = with_monitors_by_name(root, parts, problems)
    tree = put(root, keys, node)
    assert isinstance(tree, Keys)
    return tree


def _keys(path: str, root: Keys, parts: Parts) -> tuple[str, ...]:
    """Where in the plan a `--set` path leads; below `factors` the factors' own keys hold dots."""
    section, _, tail = path.partition(".")
    if section in _FACTOR_SECTIONS and tail:
        factors = root.get(section)
        keys = sorted(factors.entries, key=len, reverse=True) if isinstance(factors, Keys) else []
        for key in keys:
            if tail == key:
                return (section, key)
            if tail.startswith(key + "."):
                below = at(root, (section, key))
                inner = tail[len(key) + 1 :]
                if isinstance(below, Keys):
                    first, _, last = inner.partition(".")
                    return (section, key, first, last) if last else (section, key, inner)
        return (section, tail)
    if section in ("design", "profile") and tail:
        return tuple(path.split("."))
    if section in _LABELS and tail:
        return (section, tail)
    if path in _SECTION:
        return (path,)
    try:
        return locate(path, parts)
    except SettingError as error:
        near, message = error.nearest, error.message
        if not (near and near.endswith("." + path)):
            near = nearest(path, _SECTION) or near
        if "." not in path:
            allowed = ALLOWED_PATH_START_OR(allowed=message.arguments["allowed"], sections=_SECTION)
            message = replace(message, arguments={**message.arguments, "allowed": allowed})
        raise SettingError(message, near) from None


def _useless(root: Keys, path: str, keys: tuple[str, ...], mark: Mark) -> list[Problem]:
    """In a full design a factor's own levels replace what `--set` puts there: surely not what was meant."""
    factors = root.get("factors")
    design = at(root, ("design",))
    if not isinstance(factors, Keys) or path not in factors.entries or keys[0] in _FACTOR_SECTIONS:
        return []
    if isinstance(design, Scalar) and design.value == "one-at-a-time":
        return []
    return [Problem(mark, path, FACTOR_SET_REPLACED(path=path))]


def chosen_levels(
    only: Sequence[str], factors: Sequence[Factor], problems: list[Problem]
) -> dict[str, tuple[Level, ...]]:
    """The levels that `--only` leaves to each factor it names, by the factor's key; several for one factor
    add up.
    """
    names: dict[str, str] = {}
    for factor in factors:
        last = factor.key.rpartition(".")[2]
        names[last] = "" if last in names else factor.key
    names = {name: key for name, key in names.items() if key} | {factor.key: factor.key for factor in factors}
    by_key = {factor.key: factor for factor in factors}
    chosen: dict[str, list[Level]] = {}
    for text in only:
        name, equals, labels = text.partition("=")
        mark = Mark(f"--only {name}")
        if not equals or name.strip() not in names:
            allowed = ALLOWED_LEVEL_CHOICE(factors=listed(by_key, ALLOWED_NO_FACTORS))
            code = UNKNOWN_FACTOR if equals else INVALID
            message = code.pick(name=shown(name), value=shown(text), allowed=allowed)
            problems.append(Problem(mark, "", message, nearest(name.strip(), names)))
            continue
        factor = by_key[names[name.strip()]]
        levels = {level.label: level for level in factor.levels}
        wanted = (
            [labels.strip()] if labels.strip() in levels else [label.strip() for label in labels.split(",")]
        )
        for label in wanted:
            if label in levels:
                chosen.setdefault(factor.key, []).append(levels[label])
            else:
                labels_shown = [*list(levels)[:40], *(["..."] if len(levels) > 40 else [])]
                message = UNKNOWN_LEVEL(label=shown(label), labels=labels_shown)
                problems.append(Problem(mark, factor.key, message, nearest(label, levels)))
    return {
        key: tuple(level for level in by_key[key].levels if level in levels) for key, levels in chosen.items()
    }
