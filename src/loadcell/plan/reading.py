"""Reading of a section of a plan as a model, with its mistakes at their positions."""

from __future__ import annotations

import json
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from loadcell.plan import explain
from loadcell.plan.files import PlanFiles
from loadcell.plan.nodes import Node, plain
from loadcell.plan.problems import Mark, Problem

M = TypeVar("M", bound=BaseModel)


def read_model(
    model: type[M],
    node: Node,
    path: tuple[str, ...],
    mark: Mark,
    problems: list[Problem],
    files: PlanFiles | None = None,
) -> M | None:
    """`node` as a `model`, strictly (text is no number, a number no text); None after adding to `problems`.

    Files that options name are found by `files` (`loadcell.plan.files.named_file`): validators get them as
    `info.context["files"]`, and the plan's directory as `info.context["directory"]`.
    """
    value = plain(node)
    try:
        return model.model_validate_json(
            json.dumps({} if value is None else value),
            strict=True,
            context={"directory": files and files.directory, "files": files},
        )
    except ValidationError as error:
        problems.extend(explain.problems_of(error, model, node, path, mark))
        return None
