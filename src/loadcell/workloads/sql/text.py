"""SQL texts: the statements of a text, and the parameters of a statement, without a grammar of SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["read", "write", "other"]
#: A value of a parameter.
Scalar = str | int | float | bool | None

#: A parameter begins where a value may stand: `::` is a cast, `[1:n]` a slice, `:=` an assignment.
_TOKENS = r"""
  (?P<comment>--[^\n]*|/\*.*?\*/{hash_comment})
| (?P<quoted>\b[eE]'(?:[^'\\]|\\.|'')*'|{string}|"(?:[^"]|"")*"|`[^`]*`
            |(?P<tag>\$(?:[A-Za-z_]\w*)?\$).*?(?P=tag))
| (?P<word>[^\W\d]\w*)
| (?P<parameter>(?<![\w\])":]):[^\W\d]\w*)
| (?P<end>;)
| (?P<unclosed>['"`]|/\*)
| [^\w'"`$;:\\/#-]+ | .
"""
_STRING = r"'(?:[^']|'')*'"
#: Strings of MySQL, in which a backslash escapes the next character.
_ESCAPED = r"'(?:[^'\\]|\\.|'')*'"


def _tokens(string: str, hash_comment: str = "") -> re.Pattern[str]:
    text = _TOKENS.replace("{string}", string).replace("{hash_comment}", hash_comment)
    return re.compile(text, re.VERBOSE | re.DOTALL)


_STANDARD, _MYSQL, _STANDARD_ESCAPED = _tokens(_STRING), _tokens(_ESCAPED, r"|\#[^\n]*"), _tokens(_ESCAPED)

_WRITES = frozenset({"insert", "update", "delete", "merge", "replace", "copy", "truncate", "load"})
_READS = frozenset({"select", "with", "values", "table", "show", "explain", "fetch", "describe"})
_NEUTRAL = frozenset(
    {
        *("begin", "start", "end", "commit", "rollback", "abort", "savepoint", "release", "set", "reset"),
        *("prepare", "deallocate", "discard", "declare", "move", "close", "analyze", "vacuum", "checkpoint"),
    }
)
_CHANGES = frozenset({"insert", "update", "delete", "merge"})
_OPENS = frozenset({"begin", "start"})
_CLOSES = frozenset({"commit", "rollback", "end", "abort"})


class UnclosedError(ValueError):
    """A quote or comment is never closed; `line` is where it begins."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


@dataclass(frozen=True)
class Piece:
    """A statement of a text, without its semicolon, and the line that it begins in."""

    text: str
    line: int


@dataclass(frozen=True)
class Place:
    """The place of a parameter in a statement."""

    name: str


class Splitter:
    """Gives the statements of a text one after the other; `at` is the position behind the last one.

    A line that begins with a backslash where a statement may begin is a piece by itself: a command of psql.
    With `mysql`, strings and comments are MySQL's, and `DELIMITER` is obeyed as its client does.
    """

    def __init__(self, text: str, *, mysql: bool = False) -> None:
        self.text = text
        self.at = 0
        self._mysql = mysql
        self._pattern = _MYSQL if mysql else _STANDARD
        self._delimiter = ";"
        self._counted = 0
        self._line = 1

    def line_of(self, position: int) -> int:
        """The line of a position, from 1. Positions may only grow."""
        self._line += self.text.count("\n", self._counted, position)
        self._counted = max(position, self._counted)
        return self._line

    def take_line(self) -> str:
        """Take the text up to the end of the line."""
        end = self.text.find("\n", self.at)
        line = self.text[self.at :] if end < 0 else self.text[self.at : end]
        self.at = len(self.text) if end < 0 else end + 1
        return line

    def next(self) -> Piece | None:
        """The next statement; None at the end. Raises UnclosedError."""
        start: int | None = None
        words: list[str] = []
        depth = 0
        while self.at < len(self.text):
            if self._delimiter != ";" and self.text.startswith(self._delimiter, self.at):
                end, self.at = self.at, self.at + len(self._delimiter)
                if start is not None:
                    return self._piece(start, end)
                continue
            match = self._pattern.match(self.text, self.at)
            assert match is not None
            symbol = match[0]
            if match["unclosed"]:
                raise UnclosedError(self.line_of(match.start()))
            is_blank = (match["comment"] and not symbol.startswith("/*!")) or symbol.isspace()
            if start is None and not is_blank:
                if symbol == "\\":
                    line = self.line_of(self.at)
                    return Piece(self.take_line().rstrip(), line)
                if self._mysql and match["word"] and symbol.lower() == "delimiter":
                    self._delimiter = self.take_line()[len(symbol) :].strip() or ";"
                    continue
                if match["end"]:
                    self.at = match.end()
                    continue
                start = match.start() + len(symbol) - len(symbol.lstrip())
            if match["word"]:
                depth = _depth(words, symbol.lower(), depth)
            self.at = match.end()
            if match["end"] and depth == 0 and self._delimiter == ";":
                return self._piece(start or 0, match.start())
        return None if start is None else self._piece(start, len(self.text))

    def _piece(self, start: int, end: int) -> Piece:
        return Piece(self.text[start:end].rstrip(), self.line_of(start))


def _depth(words: list[str], word: str, depth: int) -> int:
    """Depth of the blocks of a routine's body (`BEGIN ATOMIC ... END`), in which semicolons do not end it."""
    words.append(word)
    if words[0] != "create" or not {"function", "procedure"} & set(words[:5]):
        return 0
    if word == "begin" or (word == "case" and depth):
        return depth + 1
    return depth - 1 if word == "end" and depth else depth


def pieces(text: str) -> list[Piece]:
    """The statements of a short text. Raises UnclosedError."""
    splitter = Splitter(text)
    try:
        statements = list(iter(splitter.next, None))
    except UnclosedError:
        splitter = Splitter(text)
        splitter._pattern = _STANDARD_ESCAPED
        statements = list(iter(splitter.next, None))
    return statements


def is_balanced(statement: str) -> bool:
    """True if parentheses outside of quotes and comments are balanced, in one dialect at least."""
    return any(_closes_parentheses(statement, pattern) for pattern in (_STANDARD, _STANDARD_ESCAPED, _MYSQL))


def _closes_parentheses(statement: str, pattern: re.Pattern[str]) -> bool:
    depth = 0
    for match in pattern.finditer(statement):
        if match["comment"] or match["quoted"]:
            continue
        for symbol in match[0]:
            depth += (symbol == "(") - (symbol == ")")
            if depth < 0:
                return False
    return depth == 0


def parts(statement: str) -> list[str | Place]:
    """A statement as texts and places of parameters."""
    for pattern in (_STANDARD, _STANDARD_ESCAPED):
        segments: list[str | Place] = []
        copied = 0
        for match in pattern.finditer(statement):
            if match["unclosed"]:
                break
            if match["parameter"]:
                segments += [statement[copied : match.start()], Place(match[0][1:])]
                copied = match.end()
        else:
            return [part for part in [*segments, statement[copied:]] if part != ""]
    return [statement]


def places(statement: str) -> list[str]:
    """Names of a statement's parameters, in the order of the text."""
    return [part.name for part in parts(statement) if isinstance(part, Place)]


def filled(statement: str, values: dict[str, Scalar], *, mysql: bool) -> str:
    """The statement with values in the places of its parameters."""
    return "".join(
        part if isinstance(part, str) else literal(values[part.name], mysql=mysql)
        for part in parts(statement)
    )


def literal(value: Scalar, *, mysql: bool) -> str:
    """A value as SQL has it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f" {value}" if value < 0 else str(value)
    text = value.replace("'", "''")
    return "'" + (text.replace("\\", "\\\\") if mysql else text) + "'"


def words(statement: str) -> list[str]:
    """The words of a statement outside of quotes and comments, in lower case."""
    return [match["word"].lower() for match in _STANDARD.finditer(statement) if match["word"]]


def kind(statement: str) -> Kind:
    """Effect of a statement on rows. Functions that SELECT calls are trusted."""
    in_order = words(statement)
    first = in_order[0] if in_order else ""
    if first in _WRITES:
        return "write"
    if first in _READS:
        return "write" if first in ("with", "explain") and _CHANGES & set(in_order) else "read"
    return "other"


def leaves_data(statement: str) -> bool:
    """True if a statement certainly changes no rows and no tables."""
    return kind(statement) == "read" or (words(statement) or [""])[0] in _NEUTRAL


def leaves_block_open(statements: Sequence[str]) -> bool:
    """True if the statements begin a transaction block and do not end it."""
    is_open = False
    for statement in statements:
        in_order = words(statement)
        first = in_order[0] if in_order else ""
        if first in _OPENS:
            is_open = True
        elif first in _CLOSES and "to" not in in_order[1:3]:  # ROLLBACK TO a savepoint
            is_open = False
    return is_open
