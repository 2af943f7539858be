"""The text of a drafted plan: mappings and lists with comments, and entries that are commented out.

Texts from outside are quoted by ruamel.yaml, and made printable in comments, so that nothing in them ends a
line, a comment or a value.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Union

from rich.cells import cell_len
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from loadcell.model.message import Message
from loadcell.model.printable import printable
from loadcell.plan.problems import Writer

#: Columns of a comment, and of a mapping or list in one line.
_WIDTH = 100
_WIDE = r"\u2e80-\uffef"
_PIECE = re.compile(rf" ?[^ {_WIDE}]+|[{_WIDE}][，。；：、）”》！？]*| ")
#: A text that ruamel.yaml quotes only where it must be quoted.
_READABLE = re.compile(
    r"[A-Za-z0-9_/$(.+%{[<\"\u4e00-\u9fff-][^\x00-\x1f\x7f-\xa0\u2000-\u206f\ufeff\ud800-\udfff]{0,200}"
)
#: No line is folded: a folded text is valid, and hard to read.
_NO_FOLDING = 1 << 30

Value = Union[
    "Section", "Items", Message, Mapping[str, object], Sequence[object], str, int, float, bool, None
]  # fmt: skip


@dataclass(frozen=True)
class _Entry:
    """A key (None in a list) with its value, the comments before it, and whether it is commented out."""

    key: str | None
    value: Value
    comments: tuple[Message, ...]
    active: bool


class Section:
    """A mapping of a plan, in the order in which its entries are put."""

    def __init__(self, **values: Value) -> None:
        self.entries: list[_Entry] = []
        for key, value in values.items():
            self.put(key, value)

    def put(self, key: str, value: Value, *comments: Message, active: bool = True) -> None:
        """Add an entry with comments before it; not `active`, it is commented out itself."""
        self.entries.append(_Entry(key, value, comments, active))

    def __bool__(self) -> bool:
        return any(entry.active for entry in self.entries)


class Items:
    """A list of a plan."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []

    def add(self, value: Value, *comments: Message, active: bool = True) -> None:
        """Add an item, as `Section.put`."""
        self.entries.append(_Entry(None, value, comments, active))


def text(plan: Section, write: Writer) -> str:
    """The plan in YAML, its comments and titles written by `write`."""
    return "\n".join(_Renderer(write).section(plan)) + "\n"


def texts(value: Value | object) -> Iterator[str]:
    """All keys and texts of a plan, also of entries that are commented out; no comments and no titles."""
    if isinstance(value, Section | Items):
        for entry in value.entries:
            yield from texts(entry.key)
            yield from texts(entry.value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from texts(key)
            yield from texts(inner)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        for inner in value:
            yield from texts(inner)


def comment(message: str) -> list[str]:
    """A text as lines of a comment."""
    lines = [""]
    for word in _words(" ".join(printable(message).split())):
        if lines[-1] and cell_len(lines[-1]) + cell_len(word) > _WIDTH - 2:
            lines.append("")
        lines[-1] = (lines[-1] + word) if lines[-1] else word.lstrip()
    return [f"# {line}".rstrip() for line in lines]


def _words(message: str) -> Iterator[str]:
    """Pieces between which a line may end: words with the blank before them, and Chinese characters with
    the punctuation behind them.
    """
    return (match[0] for match in _PIECE.finditer(message))


class _Renderer:
    def __init__(self, write: Writer) -> None:
        self._write = write
        self._block, self._flow = YAML(), YAML()
        for yaml, flow in ((self._block, False), (self._flow, True)):
            yaml.default_flow_style = flow
            yaml.width = _NO_FOLDING
            yaml.allow_unicode = True

    def section(self, section: Section) -> list[str]:
        lines: list[str] = []
        for entry in section.entries:
            lines += [line for message in entry.comments for line in comment(self._write(message))]
            lines += _active(self._keyed(str(entry.key), entry.value), entry.active)
        return lines

    def _keyed(self, key: str, value: Value) -> list[str]:
        if isinstance(value, Section):
            head = self._dump({key: None})[0]
            return (
                [head, *(f"  {line}" for line in self.section(value))] if value.entries else [f"{head} {{}}"]
            )
        if isinstance(value, Items):
            return [self._dump({key: None})[0], *(f"  {line}" for line in self._items(value))]
        return self._dump({key: self._write(value) if isinstance(value, Message) else value})

    def _items(self, items: Items) -> list[str]:
        lines: list[str] = []
        for entry in items.entries:
            lines += [line for message in entry.comments for line in comment(self._write(message))]
            if isinstance(entry.value, Section):
                first, *others = self.section(entry.value)
                block = [f"- {first}", *(f"  {line}" for line in others)]
            else:
                block = self._dump([entry.value])
            lines += _active(block, entry.active)
        return lines

    def _dump(self, value: Mapping[str, object] | list[object]) -> list[str]:
        """Lines of a mapping with one key, or of a list with one item, whose value is in one line if it
        fits.
        """
        block = self._lines(self._block, value)
        inner = next(iter(value.values())) if isinstance(value, Mapping) else value[0]
        head = self._lines(self._block, {next(iter(value)): None}) if isinstance(value, Mapping) else ["-"]
        if isinstance(inner, Mapping | list) and len(head) == 1:
            flow = self._lines(self._flow, {"x": inner})
            line = f"{head[0]} {flow[0].removeprefix('{x: ').removesuffix('}')}"
            if len(flow) == 1 and cell_len(line) <= _WIDTH:
                return [line]
        return block

    def _lines(self, yaml: YAML, value: object) -> list[str]:
        out = io.StringIO()
        yaml.dump(_quoted(value), out)
        return out.getvalue().removesuffix("\n").split("\n")


def _quoted(value: object) -> object:
    """The value with quotes around each text that ruamel.yaml would write in a form that few can read."""
    if isinstance(value, Mapping):
        return {_quoted(key): _quoted(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_quoted(inner) for inner in value]
    if isinstance(value, str) and not _READABLE.fullmatch(value):
        return DoubleQuotedScalarString(value)
    return value


def _active(lines: list[str], active: bool) -> list[str]:
    return lines if active else [f"# {line}" for line in lines]
