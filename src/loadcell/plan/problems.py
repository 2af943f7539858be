"""Mistakes in a plan with their positions: every mistake is a value, and all are shown at once."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

#: more than this many mistakes are counted, not listed: nobody reads the 51st before mending the first
SHOWN_AT_MOST = 50
_VALUE_SHOWN_AT_MOST = 60


@dataclass(frozen=True)
class Mark:
    """A place in a plan: file, line and column from 1.

    Of what came from the command line, only which option it was.
    """

    file: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Problem:
    """One mistake: where it is, what was found, what is allowed, and the nearest valid name if there is one.

    `path` is the dotted path in the plan ("" when the mistake is not in one setting);
    `line` and `column` count from 1, None when the mistake has no place in a text.
    """

    file: str
    line: int | None
    column: int | None
    path: str
    finding: str
    allowed: str | None = None
    nearest: str | None = None

    @staticmethod
    def at(
        mark: Mark, path: str, finding: str, *, allowed: str | None = None, nearest: str | None = None
    ) -> Problem:
        """A mistake at `mark`."""
        return Problem(mark.file, mark.line, mark.column, path, finding, allowed, nearest)

    def document(self) -> dict[str, Any]:
        """Plain JSON values, for `--json`."""
        return asdict(self)

    def __str__(self) -> str:
        position = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        subject = f"{self.path}: " if self.path else ""
        lines = [f"{position}: {subject}{self.finding}"]
        if self.allowed:
            lines.append(f"    allowed: {self.allowed}")
        if self.nearest:
            lines.append(f"    did you mean: {self.nearest}")
        return "\n".join(lines)


class PlanError(Exception):
    """The plan, or the call it was named in, has mistakes: all that could be found, in the order of the text."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(dict.fromkeys(problems))
        super().__init__(f"{len(self.problems)} mistakes in the plan")

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:SHOWN_AT_MOST]]
        hidden = len(self.problems) - SHOWN_AT_MOST
        if hidden > 0:
            lines.append(f"... and {hidden:,} more of this kind.")
        count = "One mistake" if len(self.problems) == 1 else f"{len(self.problems):,} mistakes"
        lines.append(f"{count}; nothing was run.")
        return "\n".join(lines)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Once each, by place: the file's own first to last, then those of options."""
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda p: (p.file.startswith("--"), p.line or 0, p.column or 0))


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name most like `name`, None when nothing is much like it."""
    candidates = list(valid)
    by_folded = {candidate.lower().replace("-", "_"): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.lower().replace("-", "_"), list(by_folded), n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def listed(names: Iterable[str], *, empty: str = "nothing is installed") -> str:
    """Names as a sentence part: `a, b, c`."""
    return ", ".join(names) or empty


def shown(value: Any) -> str:
    """A value as found in a plan, short and on one line."""
    if isinstance(value, dict):
        kind = "a mapping"
        return f"{kind} with {listed(list(value)[:4])}" if value else "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(text) > _VALUE_SHOWN_AT_MOST:
        text = text[: _VALUE_SHOWN_AT_MOST - 3] + "..."
    return text
