"""A draft as the text of a plan that `loadcell check` accepts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from loadcell import __version__
from loadcell.drafting import document
from loadcell.drafting.draft import Draft, DraftError
from loadcell.model.message import Bytes, ForeignText, MessageCode
from loadcell.plan.load import load_text
from loadcell.plan.parts import Parts
from loadcell.plan.problems import PlanError, Writer
from loadcell.plan.secrets import references
from loadcell.plan.source import LARGEST_BYTES

DRAFT_HEAD = MessageCode("draft.head", "info", version=str, source=str)
DRAFT_REFUSED = MessageCode("draft.refused", source=str, problems=ForeignText)
DRAFT_FOREIGN_REFERENCE = MessageCode("draft.foreign-reference", source=str, references=list)
DRAFT_TOO_LONG = MessageCode("draft.too-long", source=str, size_bytes=Bytes, most_bytes=Bytes)

_MOST_PROBLEMS = 5
#: Stands for secrets whose variables are not set yet.
_ANY_SECRET = "to-be-set-before-the-run"  # noqa: S105


def text(draft: Draft, source: str, write: Writer) -> str:
    """The plan, with the source and the notes at its head. `source` is shown as it is."""
    head = document.comment(write(DRAFT_HEAD(version=__version__, source=source)))
    notes = [line for note in draft.notes for line in document.comment(f"- {write(note)}")]
    return "\n".join([*head, *notes, document.text(draft.plan, write)])


def check_references(draft: Draft, source: str, of_call: Iterable[str] = ()) -> None:
    """Raises DraftError for a reference to a variable that neither the draft nor the call (`of_call`) has.

    The source has brought it along, and a run would send its value to the server that the source names.
    Entries that are commented out count, too: they are there to be used.
    """
    texts = "\n".join(document.texts(draft.plan))
    allowed = draft.variables.union(of_call)
    foreign = [f"${{env:{name}}}" for name in dict.fromkeys(references(texts)) if name not in allowed]
    if foreign:
        raise DraftError(DRAFT_FOREIGN_REFERENCE(source=source, references=foreign))


def check(plan: str, source: str, path: Path, parts: Parts, write: Writer) -> None:
    """Raises DraftError unless `loadcell check` will accept the plan as the file `path`, its secrets set."""
    size = len(plan.encode("utf-8", "replace"))
    if size > LARGEST_BYTES:
        raise DraftError(DRAFT_TOO_LONG(source=source, size_bytes=size, most_bytes=LARGEST_BYTES))
    env = {**dict.fromkeys(references(plan), _ANY_SECRET), **os.environ}
    try:
        load_text(plan, path, parts, env=env)
    except PlanError as error:
        problems = "; ".join(
            f"{problem.path}: {write(problem.message)}" for problem in error.problems[:_MOST_PROBLEMS]
        )
        raise DraftError(DRAFT_REFUSED(source=source, problems=problems)) from None


def missing_variables(plan: str, env: Mapping[str, str]) -> list[str]:
    """Variables of the plan's secrets that are not set."""
    active = "\n".join(line for line in plan.splitlines() if not line.lstrip().startswith("#"))
    return [name for name in dict.fromkeys(references(active)) if name not in env]
