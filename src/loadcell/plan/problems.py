"""Mistakes in a plan with their positions: every mistake is a value, and all are shown at once."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from loadcell.model.message import Count, Message, MessageCode, MessageError

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

PROBLEM_ALLOWED = MessageCode("problem.allowed", allowed=Message)
PROBLEM_NEAREST = MessageCode("problem.nearest", nearest=str)
PROBLEM_HIDDEN = MessageCode("problem.hidden", count=Count)
PROBLEM_COUNT = MessageCode("problem.count", count=Count)
PROBLEM_ONE = MessageCode("problem.one")
SHOWN_MAPPING = MessageCode("shown.mapping", keys=list)
SHOWN_EMPTY_MAPPING = MessageCode("shown.empty-mapping")
SHOWN_LIST = MessageCode("shown.list", count=Count)
SHOWN_EMPTY_LIST = MessageCode("shown.empty-list")
SHOWN_NOTHING = MessageCode("shown.nothing")
ALLOWED_NAMES = MessageCode("allowed.names", names=list)
ALLOWED_NOTHING_INSTALLED = MessageCode("allowed.nothing-installed")
INVALID = MessageCode("plan.found", value=str, allowed=Message)
MISSING = MessageCode("plan.missing", allowed=Message)
UNKNOWN_SETTING = MessageCode("plan.unknown-setting", name=str, section=str, settings=list)
UNKNOWN_FACTOR = MessageCode("plan.unknown-factor", name=str, allowed=Message)

#: more than this many mistakes are counted, not listed: nobody reads the 51st before mending the first
SHOWN_AT_MOST = 50
_VALUE_SHOWN_AT_MOST = 60
_TEXT_SHOWN_AT_MOST = 2000

#: Writes a message in the reader's language.
Writer = Callable[[Message], str]


def in_english(message: Message) -> str:
    """The text of a message as it is recorded."""
    return message.text


class SettingError(MessageError, ValueError):
    """A value that a setting cannot have: its message is what was found and, as advice, what is allowed.

    `nearest` is the valid value or name that was probably meant.
    """

    def __init__(self, message: Message, nearest: str | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest

    def at(self, mark: Mark, path: str) -> Problem:
        """The same as a mistake in the plan."""
        return Problem(mark, path, self.message, self.nearest)


@dataclass(frozen=True)
class Mark:
    """A position in a plan: file, line and column from 1.

    Of a setting from the command line, only the option.
    """

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


@dataclass(frozen=True)
class Problem:
    """One mistake: its position, what was found and what is allowed, and the nearest valid name if there is
    one.

    `path` is the dotted path in the plan ("" when the mistake is not in one setting).
    """

    mark: Mark
    path: str
    message: Message
    nearest: str | None = None

    @property
    def finding(self) -> str:
        """The mistake, in English."""
        return self.message.text

    @property
    def allowed(self) -> str | None:
        """The allowed values, in English; None where the finding is enough."""
        return self.message.advice or None

    @property
    def missing(self) -> bool:
        """True if a setting that has no default was not given."""
        return self.message.code == MISSING.code

    def document(self) -> JsonObject:
        """Plain JSON values, for `--json`."""
        return {
            "file": self.mark.file,
            "line": self.mark.line,
            "column": self.mark.column,
            "path": self.path,
            "finding": self.finding,
            "allowed": self.allowed,
            "nearest": self.nearest,
            "code": self.message.code or None,
            "args": self.message.plain_arguments,
        }

    def written(self, write: Writer) -> str:
        """The mistake in lines for people."""
        in_mark = self.mark.file.endswith(f" {self.path}")  # --set load.duration
        subject = f"{self.path}: " if self.path and not in_mark else ""
        finding = _cut(write(self.message)).replace("\n", "\n    ")
        lines = [f"{self.mark}: {subject}{finding}"]
        if self.message.remedy is not None:
            lines.append(f"    {_cut(write(PROBLEM_ALLOWED(allowed=self.message.remedy)))}")
        if self.nearest:
            lines.append(f"    {write(PROBLEM_NEAREST(nearest=self.nearest))}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.written(in_english)


def _cut(text: str) -> str:
    """A text that lists no more than a person reads."""
    return text if len(text) <= _TEXT_SHOWN_AT_MOST else f"{text[: _TEXT_SHOWN_AT_MOST - 3]}..."


class PlanError(Exception):
    """The plan, or the call it was named in, has mistakes: all that could be found, in the order of the
    text.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(dict.fromkeys(problems))
        super().__init__(f"{len(self.problems)} mistakes in the plan")

    def written(self, write: Writer) -> str:
        """The mistakes in lines for people."""
        lines = [problem.written(write) for problem in self.problems[:SHOWN_AT_MOST]]
        hidden = len(self.problems) - SHOWN_AT_MOST
        if hidden > 0:
            lines.append(write(PROBLEM_HIDDEN(count=hidden)))
        count = len(self.problems)
        lines.append(write(PROBLEM_ONE() if count == 1 else PROBLEM_COUNT(count=count)))
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.written(in_english)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Once each, by position: the file's own first to last, then those of options."""
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda p: (p.mark.file.startswith("--"), p.mark.line or 0, p.mark.column or 0))


#: Similarity (`difflib`) of a name worth proposing, and of one whose meaning is beyond doubt: one letter
#: more, fewer or exchanged in a name of five.
SIMILAR, MISSPELT = 0.6, 0.8


def nearest(name: str, valid: Iterable[str], similarity: float = SIMILAR) -> str | None:
    """The valid name most like `name`, None when nothing is much like it."""
    return next(iter(close(name, valid, similarity)), None)


#: Names that a mistake lists of many.
MOST_LISTED = 6


def close(name: str, valid: Iterable[str], similarity: float = SIMILAR) -> list[str]:
    """The valid names most like `name`, the nearest first: few of many, or none."""
    folded = name.lower().replace("-", "_")
    by_folded = {candidate.lower().replace("-", "_"): candidate for candidate in valid}
    matches = difflib.get_close_matches(folded, list(by_folded), n=MOST_LISTED, cutoff=similarity)
    return [by_folded[match] for match in matches]


#: A number with a suffix or with separators of thousands; no longer one is meant.
_SHORT_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,9})?|\d{1,3}(?:[,_' ]\d{3}){1,4})\s{0,3}([kKmMgG]?)")
_SUFFIXES = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


def in_digits(text: str) -> str | None:
    """The whole number that `10k`, `1.5M` or `10,000` stands for, in digits; None for any other text."""
    match = _SHORT_NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    number = Decimal(re.sub(r"[,_' ]", "", match[1])) * _SUFFIXES[match[2].lower()]
    return str(int(number)) if number == int(number) and str(int(number)) != text else None


def listed(names: Iterable[str], empty: MessageCode = ALLOWED_NOTHING_INSTALLED) -> Sequence[str | Message]:
    """Names as the argument of a message."""
    return list(names) or [empty()]


def shown(value: Any) -> str | Message:
    """A value as found in a plan, short and on one line."""
    if isinstance(value, dict):
        return SHOWN_MAPPING(keys=list(value)[:4]) if value else SHOWN_EMPTY_MAPPING()
    if isinstance(value, list):
        return SHOWN_LIST(count=len(value)) if value else SHOWN_EMPTY_LIST()
    if value is None:
        return SHOWN_NOTHING()
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(text) > _VALUE_SHOWN_AT_MOST:
        text = text[: _VALUE_SHOWN_AT_MOST - 3] + "..."
    return text
