"""From a file to a tree with places: YAML 1.2, read so that no file, however odd, does more than earn a
message.

ruamel.yaml parses; values are resolved here by YAML 1.2's core schema, so `on`, `off`, `yes` and `no` are
text (as PostgreSQL's settings want them), dates are text, and no tag can construct anything.
"""

from __future__ import annotations

import math
import os
import re
import select
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from loadcell.model.message import Count, ForeignText, Message, MessageCode, Seconds
from loadcell.plan.nodes import Entry, Items, Keys, Node, Plain, Scalar
from loadcell.plan.problems import Mark, PlanError, Problem, nearest, shown

PLAN_UNREADABLE = MessageCode("plan.unreadable", reason=ForeignText)
PLAN_DIRECTORY = MessageCode("plan.directory")
PLAN_NO_FILE = MessageCode("plan.no-file")
PLAN_TOO_LARGE = MessageCode("plan.too-large", kibibytes=Count)
PLAN_NOT_UTF8 = MessageCode("plan.not-utf8", byte=str, offset=str)
PLAN_NOTHING_COMES = MessageCode("plan.nothing-comes", wait_s=Seconds)
PLAN_NUL_BYTE = MessageCode("plan.nul-byte")
PLAN_CONTROL_CHARACTER = MessageCode("plan.control-character", character=str)
YAML_TAB = MessageCode("plan.yaml-tab")
YAML_TAB_INSIDE = MessageCode("plan.yaml-tab-inside")
YAML_INVALID = MessageCode("plan.yaml-invalid", reason=ForeignText)
YAML_UNINTELLIGIBLE = MessageCode("plan.yaml-unintelligible")
YAML_SECOND_DOCUMENT = MessageCode("plan.yaml-second-document")
YAML_TOO_MANY_VALUES = MessageCode("plan.yaml-too-many-values", count=Count)
YAML_TOO_DEEP = MessageCode("plan.yaml-too-deep", depth=Count)
YAML_ALIAS = MessageCode("plan.yaml-alias", name=str)
YAML_TAG = MessageCode("plan.yaml-tag", tag=str)
YAML_SURROGATE = MessageCode("plan.yaml-surrogate")
YAML_KEY = MessageCode("plan.yaml-key")
YAML_REPEATED_KEY = MessageCode("plan.yaml-repeated-key", key=str, line=str)

#: a plan is a page or two of text; what is larger is some other file
LARGEST_BYTES = 256 * 1024
#: Seconds that a pipe may have nothing to read.
LONGEST_WAIT_S = 10
#: values after following every alias; a plan of ten factors has a few hundred
LARGEST_NODES = 50_000
DEEPEST = 40

_INT = re.compile(r"[-+]?[0-9]{1,30}|0o[0-7]{1,30}|0x[0-9a-fA-F]{1,30}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
_LEADING_TAB = re.compile(r"^[ ]*\t", re.MULTILINE)


def _content(path: Path) -> bytes | None:
    """The file up to the largest size of a plan; None where it waits for a writer. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        ready = select.poll()
        ready.register(descriptor, select.POLLIN)
        content = b""
        while len(content) <= LARGEST_BYTES:
            if not ready.poll(LONGEST_WAIT_S * 1000):
                return None
            if not (block := os.read(descriptor, LARGEST_BYTES + 1)):
                break
            content += block
        return content
    except BlockingIOError:
        return None
    finally:
        os.close(descriptor)


def read_text(path: Path) -> str:
    """The text of a plan file. Raises PlanError when it is missing, unreadable, too large or not text."""

    def refused(message: Message, line: int | None = None, column: int | None = None) -> PlanError:
        return PlanError([Problem(Mark(str(path), line, column), "", message)])

    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise refused(PLAN_DIRECTORY())
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
            raise refused(PLAN_NO_FILE())
        raw = _content(path)
        if raw is None:
            raise refused(PLAN_NOTHING_COMES(wait_s=LONGEST_WAIT_S))
    except (OSError, ValueError) as error:
        message = PLAN_UNREADABLE(reason=getattr(error, "strerror", None) or str(error))
        raise PlanError([Problem(Mark(str(path)), "", message, _similar_file(path))]) from None
    if len(raw) > LARGEST_BYTES:
        raise refused(PLAN_TOO_LARGE(kibibytes=LARGEST_BYTES // 1024))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        message = PLAN_NOT_UTF8(byte=f"{raw[error.start]:02x}", offset=str(error.start))
        raise refused(message, line, column) from None
    control = _CONTROL.search(text)
    if control:
        line, column = _place(text, control.start())
        code = PLAN_NUL_BYTE if control[0] == "\0" else PLAN_CONTROL_CHARACTER
        raise refused(code.pick(character=f"U+{ord(control[0]):04X}"), line, column)
    return text


def compose(text: str, file: str, problems: list[Problem], *, placed: bool = True) -> Node | None:
    """The tree of a YAML text, None when it holds nothing. Not `placed`: `file` is an option, without lines.

    Mistakes that leave a tree (a key given twice) are added to `problems`; those that do not raise PlanError.
    """
    events = _events(text, file)
    composer = _Composer(file, events, problems, placed)
    return composer.document()


def _similar_file(path: Path) -> str | None:
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
        Problem(Mark(file, *_place(text, match.end() - 1)), "", YAML_TAB())
        for match in _LEADING_TAB.finditer(text)
    ]
    if tabs:
        return tabs
    line, column, finding = 1, 1, YAML_UNINTELLIGIBLE()
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        if mark is not None:
            line, column = mark.line + 1, mark.column + 1
        message = " ".join(part for part in (error.context, error.problem) if part)
        if r"'\t'" in message:
            return [Problem(Mark(file, line, column), "", YAML_TAB_INSIDE())]
        finding = YAML_INVALID(reason=" ".join(message.split()))
    return [Problem(Mark(file, line, column), "", finding)]


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
                    raise self._stop(self._mark(event), YAML_SECOND_DOCUMENT())
                root = self._node(next(self.events), 0)
        if isinstance(root, Scalar) and root.value is None:
            return None
        return root

    def _mark(self, event: Any) -> Mark:
        if not self.placed:
            return Mark(self.file)
        return Mark(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _stop(self, mark: Mark, message: Message) -> PlanError:
        return PlanError([*self.problems, Problem(mark, "", message)])

    def _grow(self, mark: Mark, by: int) -> None:
        self.count += by
        if self.count > LARGEST_NODES:
            raise self._stop(mark, YAML_TOO_MANY_VALUES(count=LARGEST_NODES))

    def _node(self, event: Any, depth: int) -> Node:
        mark = self._mark(event)
        if depth > DEEPEST:
            raise self._stop(mark, YAML_TOO_DEEP(depth=DEEPEST))
        kind = type(event).__name__
        if kind == "AliasEvent":
            if event.anchor not in self.anchors:
                raise self._stop(mark, YAML_ALIAS(name=event.anchor))
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
            self.problems.append(Problem(mark, "", YAML_TAG(tag=shown(str(tag)))))

    def _scalar(self, event: Any, mark: Mark) -> Scalar:
        self._untagged(event, mark)
        text: str = event.value
        try:
            text.encode()
        except UnicodeEncodeError:
            self.problems.append(Problem(mark, "", YAML_SURROGATE()))
            text = text.encode("utf-8", "replace").decode()
        quoted = event.style is not None
        return Scalar(mark, text if quoted else resolve(text), text)

    def _mapping(self, mark: Mark, depth: int) -> Keys:
        entries: dict[str, Entry] = {}
        nodes = self._until("MappingEndEvent", depth)
        for key in nodes:
            value = next(nodes)
            if not isinstance(key, Scalar):
                self.problems.append(Problem(key.mark, "", YAML_KEY()))
                continue
            if key.text in entries:
                first = entries[key.text].mark
                message = YAML_REPEATED_KEY(key=shown(key.text), line=str(first.line))
                self.problems.append(Problem(key.mark, key.text, message))
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
