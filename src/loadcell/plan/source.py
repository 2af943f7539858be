"""From a file to a tree with places: YAML 1.2, read so that no file, however odd, does more than earn a
message.

ruamel.yaml parses; values are resolved here by YAML 1.2's core schema, so `on`, `off`, `yes` and `no` are
text (as PostgreSQL's settings want them), dates are text, and no tag can construct anything.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from loadcell.plan.nodes import Entry, Items, Keys, Node, Plain, Scalar
from loadcell.plan.problems import Mark, PlanError, Problem, shown

#: a plan is a page or two of text; what is larger is some other file
LARGEST_BYTES = 256 * 1024
#: values after following every alias; a plan of ten factors has a few hundred
LARGEST_NODES = 50_000
DEEPEST = 40

_INT = re.compile(r"[-+]?[0-9]{1,30}|0o[0-7]{1,30}|0x[0-9a-fA-F]{1,30}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
_LEADING_TAB = re.compile(r"^[ ]*\t", re.MULTILINE)


def read_text(path: Path) -> str:
    """The text of a plan file. Raises PlanError when it is missing, unreadable, too large or not text."""

    def refused(finding: str, allowed: str, line: int | None = None, column: int | None = None) -> PlanError:
        return PlanError([Problem(str(path), line, column, "", finding, allowed)])

    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise refused("is a directory", "a plan file (YAML)")
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
            raise refused("is not a file", "a plan file (YAML)")
        with path.open("rb") as file:
            raw = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        similar = _similar_file(path)
        raise PlanError(
            [Problem(str(path), None, None, "", f"cannot be read: {reason}", "a plan file (YAML)", similar)]
        ) from None
    if len(raw) > LARGEST_BYTES:
        raise refused("is too large for a plan", f"at most {LARGEST_BYTES // 1024} KiB of YAML text")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        raise refused(
            f"is not UTF-8 text (byte 0x{raw[error.start]:02x} at offset {error.start})",
            "UTF-8",
            line,
            column,
        ) from None
    control = _CONTROL.search(text)
    if control:
        line, column = _place(text, control.start())
        name = "a NUL byte" if control[0] == "\0" else f"the control character U+{ord(control[0]):04X}"
        raise refused(f"contains {name}", "YAML text", line, column)
    return text


def compose(text: str, file: str, problems: list[Problem], *, placed: bool = True) -> Node | None:
    """The tree of a YAML text, None when it holds nothing. Not `placed`: `file` is an option, without lines.

    Mistakes that leave a tree (a key given twice) are added to `problems`; those that do not raise PlanError.
    """
    events = _events(text, file)
    composer = _Composer(file, events, problems, placed)
    return composer.document()


def _similar_file(path: Path) -> str | None:
    from loadcell.plan.problems import nearest

    try:
        if path.exists():
            return None
        names = [p.name for p in path.parent.iterdir() if p.suffix in (".yaml", ".yml")]
    except (OSError, ValueError):
        return None
    similar = nearest(path.name, names) or nearest(path.stem, [Path(name).stem for name in names])
    if not similar:
        return None
    name = similar if similar in names else next(name for name in names if Path(name).stem == similar)
    return str(path.parent / name)


def _place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of a character."""
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _events(text: str, file: str) -> Iterator[Any]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except (
        YAMLError,
        ValueError,
        LookupError,
        RecursionError,
        AssertionError,
        TypeError,
        AttributeError,
    ) as error:
        raise PlanError(_syntax(error, text, file)) from None


def _syntax(error: Exception, text: str, file: str) -> list[Problem]:
    """Why the text is not YAML: a mistake for each tab used to indent, if that is the cause; else the
    parser's word.
    """
    tabs = [
        Problem(
            file,
            *_place(text, match.end() - 1),
            "",
            "a tab is used to indent",
            "spaces only (YAML allows no tabs here)",
        )
        for match in _LEADING_TAB.finditer(text)
    ]
    if tabs:
        return tabs
    line, column, finding = 1, 1, "cannot be understood as YAML"
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        if mark is not None:
            line, column = mark.line + 1, mark.column + 1
        message = " ".join(part for part in (error.context, error.problem) if part)
        if r"'\t'" in message:
            return [Problem(file, line, column, "", "a tab stands where only spaces may", "spaces")]
        finding = f"not YAML: {' '.join(message.split())}"
    return [Problem(file, line, column, "", finding, "YAML 1.2")]


class _Composer:
    """Builds a tree from a parser's events; follows aliases, but only as far as a plan can mean."""

    def __init__(self, file: str, events: Iterator[Any], problems: list[Problem], placed: bool) -> None:
        self.file = file
        self.placed = placed
        self.events = events
        self.problems = problems
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.count = 0

    def document(self) -> Node | None:
        """The only document of the stream."""
        root: Node | None = None
        for event in self.events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                if root is not None:
                    raise self._stop(self._mark(event), "a second document begins", "one plan in a file")
                root = self._node(next(self.events), 0)
        if isinstance(root, Scalar) and root.value is None:
            return None
        return root

    def _mark(self, event: Any) -> Mark:
        if not self.placed:
            return Mark(self.file)
        return Mark(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _stop(self, mark: Mark, finding: str, allowed: str) -> PlanError:
        return PlanError([*self.problems, Problem.at(mark, "", finding, allowed=allowed)])

    def _grow(self, mark: Mark, by: int) -> None:
        self.count += by
        if self.count > LARGEST_NODES:
            raise self._stop(
                mark,
                f"holds more than {LARGEST_NODES:,} values once aliases are followed",
                "a plan of ordinary size",
            )

    def _node(self, event: Any, depth: int) -> Node:
        mark = self._mark(event)
        if depth > DEEPEST:
            raise self._stop(mark, f"is nested more than {DEEPEST} deep", "a plan of ordinary depth")
        kind = type(event).__name__
        if kind == "AliasEvent":
            if event.anchor not in self.anchors:
                raise self._stop(
                    mark,
                    f"the alias *{event.anchor} names nothing above it",
                    f"an anchor &{event.anchor} before it",
                )
            node, size = self.anchors[event.anchor]
            self._grow(mark, size)
            return node
        before = self.count
        self._grow(mark, 1)
        if kind == "ScalarEvent":
            node = self._scalar(event, mark)
        elif kind == "SequenceStartEvent":
            self._untagged(event, mark)
            node = Items(mark, tuple(self._until("SequenceEndEvent", depth)))
        else:
            self._untagged(event, mark)
            node = self._mapping(mark, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, self.count - before)
        return node

    def _until(self, end: str, depth: int) -> Iterator[Node]:
        for event in self.events:
            if type(event).__name__ == end:
                return
            yield self._node(event, depth + 1)

    def _untagged(self, event: Any, mark: Mark) -> None:
        tag = getattr(event, "tag", None)
        if tag not in (None, "!"):
            self.problems.append(
                Problem.at(
                    mark, "", f"the tag {shown(str(tag))} is used", allowed="plain values, without YAML tags"
                )
            )

    def _scalar(self, event: Any, mark: Mark) -> Scalar:
        self._untagged(event, mark)
        text: str = event.value
        try:
            text.encode()
        except UnicodeEncodeError:
            self.problems.append(
                Problem.at(
                    mark, "", "holds half a surrogate pair", allowed="text that can be written as UTF-8"
                )
            )
            text = text.encode("utf-8", "replace").decode()
        quoted = event.style is not None
        return Scalar(mark, text if quoted else resolve(text), text)

    def _mapping(self, mark: Mark, depth: int) -> Keys:
        entries: dict[str, Entry] = {}
        nodes = self._until("MappingEndEvent", depth)
        for key in nodes:
            value = next(nodes)
            if not isinstance(key, Scalar):
                self.problems.append(
                    Problem.at(key.mark, "", "a key is a list or a mapping", allowed="text as a key")
                )
                continue
            if key.text in entries:
                first = entries[key.text].mark
                self.problems.append(
                    Problem.at(
                        key.mark,
                        key.text,
                        f"the key {shown(key.text)} is given twice, first in line {first.line}",
                        allowed="each key once in a mapping",
                    )
                )
                continue
            entries[key.text] = Entry(key.mark, value)
        return Keys(mark, entries)


def resolve(text: str) -> Plain:
    """A plain scalar's value by YAML 1.2's core schema; infinities and NaN stay text: no setting can use
    them.
    """
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE"):
        return True
    if text in ("false", "False", "FALSE"):
        return False
    if _INT.fullmatch(text):
        return int(text, 8 if text.startswith("0o") else 16 if text.startswith("0x") else 10)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text
