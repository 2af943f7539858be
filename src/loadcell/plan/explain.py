"""From pydantic's errors to mistakes with a place in the text, in the words of a plan."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from loadcell.plan.nodes import Items, Keys, Node, plain
from loadcell.plan.paths import fields_at
from loadcell.plan.problems import Mark, Problem, listed, nearest, shown
from loadcell.plan.secrets import holds_literal, is_secret_key
from loadcell.plan.units import Duration, Fraction, Rate, Size

#: the finding of every setting that has no default and was not given
MISSING = "is missing"

_QUOTED = re.compile(r"'([^']*)'")

_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "bool": "true or false",
    "dict": "a mapping (`key: value`)",
    "model": "a mapping (`key: value`)",
    "list": "a list (`[a, b]`)",
    "tuple": "a list (`[a, b]`)",
    "set": "a list (`[a, b]`)",
    "path": "a path",
    "decimal": "a number",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least {}"),
    "greater_than": ("gt", "more than {}"),
    "less_than_equal": ("le", "at most {}"),
    "less_than": ("lt", "less than {}"),
    "string_too_short": ("min_length", "at least {} characters"),
    "string_too_long": ("max_length", "at most {} characters"),
    "too_short": ("min_length", "at least {} items"),
    "too_long": ("max_length", "at most {} items"),
    "multiple_of": ("multiple_of", "a multiple of {}"),
    "string_pattern_mismatch": ("pattern", "text that matches {}"),
}


def problems_of(
    error: ValidationError, model: type[BaseModel], node: Node, path: tuple[str, ...], mark: Mark
) -> list[Problem]:
    """One mistake for each place that `error` names; `node`, at `path` and `mark`, is what was validated as
    `model`.
    """
    by_place: dict[tuple[str | int, ...], list[Problem]] = {}
    for detail in _causes(error.errors(include_url=False)):
        keys, mark_found, model_node = _walk(
            node, mark, detail["loc"], at_key=detail["type"] == "extra_forbidden"
        )
        if detail["type"].endswith("_type"):
            mark_found = model_node.mark
        problem = _problem(detail, model, keys, (*path, *map(str, keys)), mark_found, model_node)
        by_place.setdefault((*keys, problem.path), []).append(problem)
    return [_merged(problems) for problems in by_place.values()]


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
    context: dict[str, Any] = detail.get("ctx", {})
    value = _shown(path, node)
    if kind == "missing":
        name = str(detail["loc"][-1])
        return Problem.at(mark, f"{where}.{name}", MISSING, allowed="a value: it has no default")
    if kind == "extra_forbidden":
        fields = fields_at(model, keys[:-1])
        parent, _, name = where.rpartition(".")
        near = nearest(name, fields)
        return Problem.at(
            mark,
            where,
            f"there is no setting {shown(name)} in {parent}",
            allowed=listed(fields, empty="nothing"),
            nearest=f"{parent}.{near}" if near else None,
        )
    if kind in ("literal_error", "enum"):
        choices = _QUOTED.findall(context.get("expected", ""))
        text = node.text if hasattr(node, "text") else ""
        return Problem.at(
            mark, where, f"found {value}", allowed=context.get("expected"), nearest=nearest(text, choices)
        )
    if kind == "value_error":
        cause = context.get("error")
        return Problem.at(
            mark,
            where,
            str(getattr(cause, "finding", cause)),
            allowed=getattr(cause, "allowed", None),
            nearest=getattr(cause, "nearest", None),
        )
    if kind in _BOUNDS:
        name, text = _BOUNDS[kind]
        return Problem.at(mark, where, f"found {value}", allowed=text.format(_bound(context.get(name), node)))
    wanted = _WANTED.get(kind.partition("_")[0])
    if wanted and kind.partition("_")[2] in (
        "type",
        "parsing",
        "from_float",
        "attributes_type",
        "parsing_size",
    ):
        return Problem.at(mark, where, f"found {value}", allowed=wanted)
    return Problem.at(mark, where, f"found {value}", allowed=detail["msg"])


def _bound(bound: Any, node: Node) -> Any:
    """A bound in the notation of plans: `100%` for a percentage, `512MiB` for a size."""
    text = getattr(node, "text", "")
    for quantity in (Duration, Rate, Size, Fraction):
        if isinstance(bound, int | float) and re.fullmatch(quantity.pattern, text):
            return quantity(bound).text
    return bound


def _merged(problems: list[Problem]) -> Problem:
    """Of a union every member complains: one mistake, allowing what any of them allows; of one that knew what
    it was given, what
    it says."""
    problems = [merged for merged in problems if not merged.finding.startswith("found ")] or problems
    first = problems[0]
    allowed = list(dict.fromkeys(problem.allowed for problem in problems if problem.allowed))
    near = next((problem.nearest for problem in problems if problem.nearest), None)
    return Problem(
        first.file, first.line, first.column, first.path, first.finding, " or ".join(allowed) or None, near
    )


def _shown(path: tuple[str, ...], node: Node) -> str:
    """The value found; never one that may be a secret."""
    value = plain(node)
    if any(is_secret_key(key) for key in path) or (isinstance(value, str) and holds_literal(value)):
        return "a value not shown here"
    return shown(value)
