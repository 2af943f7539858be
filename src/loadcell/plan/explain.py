"""From pydantic's errors to mistakes with a position in the text, in the words of a plan."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import reduce
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from loadcell.model.message import Message, MessageCode, MessageError, as_written
from loadcell.plan.nodes import Items, Keys, Node, Scalar, plain
from loadcell.plan.paths import fields_at
from loadcell.plan.problems import (
    INVALID,
    MISSING,
    UNKNOWN_SETTING,
    Mark,
    Problem,
    SettingError,
    in_digits,
    listed,
    nearest,
    shown,
)
from loadcell.plan.secret_patterns import is_secret_name
from loadcell.plan.secrets import holds_literal
from loadcell.plan.units import Duration, Fraction, Rate, Size

SHOWN_SECRET = MessageCode("shown.secret")
ALLOWED_EITHER = MessageCode("allowed.either", first=Message, other=Message)
ALLOWED_CHOICE = MessageCode("allowed.choice", choices=list, last=str)
ALLOWED_NOTHING = MessageCode("allowed.nothing")
ALLOWED_VALUE = MessageCode("allowed.value")
ALLOWED_VALUE_SUCH_AS = MessageCode("allowed.value-such-as", example=str)
ALLOWED_AS_LEVELS = MessageCode("allowed.as-levels", allowed=Message, setting=str)
ALLOWED_INTEGER = MessageCode("allowed.whole-number")
ALLOWED_NUMBER = MessageCode("allowed.number")
ALLOWED_FINITE_NUMBER = MessageCode("allowed.finite-number")
ALLOWED_TEXT = MessageCode("allowed.text")
ALLOWED_TRUE_OR_FALSE = MessageCode("allowed.true-or-false")
ALLOWED_MAPPING = MessageCode("allowed.mapping")
ALLOWED_LIST = MessageCode("allowed.list")
ALLOWED_PATH = MessageCode("allowed.path")
ALLOWED_AT_LEAST = MessageCode("allowed.at-least", bound=str)
ALLOWED_MORE_THAN = MessageCode("allowed.more-than", bound=str)
ALLOWED_AT_MOST = MessageCode("allowed.at-most", bound=str)
ALLOWED_LESS_THAN = MessageCode("allowed.less-than", bound=str)
ALLOWED_MINIMUM_CHARACTERS = MessageCode("allowed.minimum-characters", bound=str)
ALLOWED_MAXIMUM_CHARACTERS = MessageCode("allowed.maximum-characters", bound=str)
ALLOWED_MINIMUM_ITEMS = MessageCode("allowed.minimum-items", bound=str)
ALLOWED_MAXIMUM_ITEMS = MessageCode("allowed.maximum-items", bound=str)
ALLOWED_MULTIPLE_OF = MessageCode("allowed.multiple-of", bound=str)
ALLOWED_PATTERN = MessageCode("allowed.pattern", bound=str)
RESTATED = MessageCode("plan.restated", finding=Message, allowed=Message)

#: Types of settings of which a list may have been meant as levels, by pydantic's names of errors.
_SCALARS = ("int", "float", "string", "bool")
#: Sections whose settings a factor may have.
_VARIED = ("target", "workload", "workloads", "load", "affinity")
#: Names of a server's address; each system has one of them.
_ADDRESSES = ("dsn", "url", "host", "uri", "address")
#: The choices in the context of pydantic's errors: `'a', 'b' or 3`.
_CHOICE = re.compile(r"'[^']*'|(?<!\S)(?!or\b)[^\s,']+")
#: What is allowed instead, by the first word of pydantic's type of error, and the last words of such types.
_WANTED = {
    "int": ALLOWED_INTEGER,
    "float": ALLOWED_NUMBER,
    "string": ALLOWED_TEXT,
    "bool": ALLOWED_TRUE_OR_FALSE,
    "dict": ALLOWED_MAPPING,
    "mapping": ALLOWED_MAPPING,
    "model": ALLOWED_MAPPING,
    "list": ALLOWED_LIST,
    "tuple": ALLOWED_LIST,
    "set": ALLOWED_LIST,
    "path": ALLOWED_PATH,
    "decimal": ALLOWED_NUMBER,
    "finite": ALLOWED_FINITE_NUMBER,
}
_WANTED_TYPES = ("type", "parsing", "from_float", "attributes_type", "parsing_size", "number", "unicode")
_BOUNDS = {
    "greater_than_equal": ("ge", ALLOWED_AT_LEAST),
    "greater_than": ("gt", ALLOWED_MORE_THAN),
    "less_than_equal": ("le", ALLOWED_AT_MOST),
    "less_than": ("lt", ALLOWED_LESS_THAN),
    "string_too_short": ("min_length", ALLOWED_MINIMUM_CHARACTERS),
    "string_too_long": ("max_length", ALLOWED_MAXIMUM_CHARACTERS),
    "too_short": ("min_length", ALLOWED_MINIMUM_ITEMS),
    "too_long": ("max_length", ALLOWED_MAXIMUM_ITEMS),
    "multiple_of": ("multiple_of", ALLOWED_MULTIPLE_OF),
    "string_pattern_mismatch": ("pattern", ALLOWED_PATTERN),
}


def problems_of(
    error: ValidationError, model: type[BaseModel], node: Node, path: tuple[str, ...], mark: Mark
) -> list[Problem]:
    """One mistake for each place that `error` names; `node`, at `path` and `mark`, is what was validated as
    `model`.

    Where one member of a union accepts the type and finds a mistake below, that of the others does not count.
    """
    by_place: dict[tuple[str | int, ...], list[Problem]] = {}
    mistyped: set[tuple[str | int, ...]] = set()
    lists: set[tuple[str | int, ...]] = set()
    for detail in _causes(error.errors(include_url=False)):
        keys, position, model_node = _walk(
            node, mark, detail["loc"], at_key=detail["type"] == "extra_forbidden"
        )
        if detail["type"].endswith("_type"):
            position = model_node.mark
        problem = _problem(detail, model, keys, (*path, *map(str, keys)), position, model_node)
        location = (*keys, problem.path)
        by_place.setdefault(location, []).append(problem)
        if detail["type"].endswith("_type"):
            mistyped.add(location)
            if isinstance(model_node, Items) and detail["type"].partition("_")[0] in _SCALARS:
                lists.add(location)
    below = {problem.path for problems in by_place.values() for problem in problems}
    wrong_member = {
        location for location in mistyped if any(path.startswith(f"{location[-1]}.") for path in below)
    }
    return [
        _as_levels(problems[0]) if location in lists and len(problems) == 1 else _merged(problems)
        for location, problems in by_place.items()
        if location not in wrong_member
    ]


def _as_levels(problem: Problem) -> Problem:
    """A list in the place of one value may have been meant as levels of a factor."""
    allowed = problem.message.arguments.get("allowed")
    if problem.path.partition(".")[0] not in _VARIED or not isinstance(allowed, Message):
        return problem
    value = problem.message.arguments["value"]
    levels = ALLOWED_AS_LEVELS(allowed=allowed, setting=problem.path)
    return replace(problem, message=INVALID(value=value, allowed=levels))


def _causes(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without those that only follow from others: a list is called too short when an item of it is wrong."""
    places = [detail["loc"] for detail in details]

    def follows(detail: ErrorDetails) -> bool:
        length = len(detail["loc"])
        below = any(len(loc) > length and loc[:length] == detail["loc"] for loc in places)
        return detail["type"] == "too_short" and below

    return [detail for detail in details if not follows(detail)]


def _walk(
    node: Node, mark: Mark, loc: tuple[str | int, ...], *, at_key: bool
) -> tuple[tuple[str | int, ...], Mark, Node]:
    """As far as `loc` leads into the tree; names that pydantic puts in for members of a union are passed
    over.

    The mark is that of the last value, or of its key.
    """
    keys: list[str | int] = []
    for step in loc:
        if isinstance(node, Keys) and isinstance(step, str) and step in node.entries:
            entry = node.entries[step]
            node, mark = entry.node, entry.mark if at_key else entry.node.mark
        elif isinstance(node, Items) and isinstance(step, int) and step < len(node.nodes):
            node = node.nodes[step]
            mark = node.mark
        else:
            continue
        keys.append(step)
    return tuple(keys), mark, node


def _example(model: type[BaseModel], keys: tuple[str | int, ...], name: str) -> Message:
    """The value that is missing, with the example that the setting declares."""
    field = None if keys else model.model_fields.get(name)
    if field is None or not field.examples:
        return ALLOWED_VALUE()
    return ALLOWED_VALUE_SUCH_AS(example=f"{name}: {json.dumps(field.examples[0], ensure_ascii=False)}")


def _problem(
    detail: ErrorDetails,
    model: type[BaseModel],
    keys: tuple[str | int, ...],
    path: tuple[str, ...],
    mark: Mark,
    node: Node,
) -> Problem:
    kind = detail["type"]
    where = ".".join(path)
    context = detail.get("ctx", {})
    value = _shown(path, node)
    if kind == "missing":
        name = str(detail["loc"][-1])
        return Problem(mark, f"{where}.{name}", MISSING(allowed=_example(model, keys, name)))
    if kind == "extra_forbidden":
        fields = fields_at(model, keys[:-1])
        parent, _, name = where.rpartition(".")
        near = nearest(name, fields)
        if near not in _ADDRESSES and nearest(name, _ADDRESSES) is not None:
            near = next((address for address in _ADDRESSES if address in fields), near)
        message = UNKNOWN_SETTING(name=shown(name), section=parent, settings=listed(fields, ALLOWED_NOTHING))
        return Problem(mark, where, message, f"{parent}.{near}" if near else None)
    if kind == "value_error":
        cause = context.get("error")
        message = cause.message if isinstance(cause, MessageError) else as_written(str(cause))
        return Problem(mark, where, message, cause.nearest if isinstance(cause, SettingError) else None)
    near = None
    word, _, type_of_error = kind.partition("_")
    if kind in ("literal_error", "enum"):
        choices = _CHOICE.findall(context.get("expected", ""))
        near = nearest(_text(node), [choice.strip("'") for choice in choices if "'" in choice])
        *others, last = choices
        allowed = ALLOWED_CHOICE(choices=others, last=last) if others else as_written(last)
    elif kind in _BOUNDS:
        name, code = _BOUNDS[kind]
        allowed = code(bound=_bound(context.get(name), node))
    elif word in _WANTED and type_of_error in _WANTED_TYPES:
        allowed = _WANTED[word]()
        near = in_digits(_text(node)) if word in ("int", "float") else None
    else:
        allowed = as_written(detail["msg"])
    return Problem(mark, where, INVALID(value=value, allowed=allowed), near)


def _text(node: Node) -> str:
    """A scalar as the plan has it; empty for any other node."""
    return node.text if isinstance(node, Scalar) else ""


def _bound(bound: Any, node: Node) -> Any:
    """A bound in the notation of plans: `100%` for a percentage, `512MiB` for a size."""
    text = _text(node)
    for quantity in (Duration, Rate, Size, Fraction):
        if isinstance(bound, int | float) and re.fullmatch(quantity.pattern, text):
            return quantity(bound).text
    return bound


def _merged(problems: list[Problem]) -> Problem:
    """One mistake of the complaints of all members of a union, allowing what any of them allows.

    A member that recognised what it was given is the only one that counts.
    """
    recognised = [problem for problem in problems if not problem.message.code.startswith(INVALID.code)]
    problems = recognised or problems
    first = problems[0]
    remedies = list(dict.fromkeys(problem.message.remedy for problem in problems if problem.message.remedy))
    near = next((problem.nearest for problem in problems if problem.nearest), None)
    if len(remedies) < 2:
        return replace(first, nearest=near)
    allowed = reduce(lambda first, other: ALLOWED_EITHER(first=first, other=other), remedies)
    if first.message.code == INVALID.code:
        message = INVALID(value=first.message.arguments["value"], allowed=allowed)
    else:
        message = RESTATED(finding=first.message, allowed=allowed)
    return replace(first, message=message, nearest=near)


def _shown(path: tuple[str, ...], node: Node) -> str | Message:
    """The value found; never one that may be a secret."""
    value = plain(node)
    if any(is_secret_name(key) for key in path) or (isinstance(value, str) and holds_literal(value)):
        return SHOWN_SECRET()
    return shown(value)
