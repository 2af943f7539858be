"""Text of tools' outputs: blocks of whole lines, tables of similar lines, JSON documents, Java properties.

Memory is that of one block, however long a text and its lines are. Text that somebody quoted in a mail or
showed in Markdown is read without the marks at the start of its lines.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from loadcell import _engine
from loadcell.ingest import columns
from loadcell.ingest.base import NotItsOutputError, Unread
from loadcell.ingest.printed_numbers import MOST, UnusableNumberError, integer, real, refused
from loadcell.linux import process_directories
from loadcell.model.message import Count, ForeignText, Message, MessageCode

if TYPE_CHECKING:
    from loadcell.ingest.columns import Column
    from loadcell.model.json import JsonObject

OUTPUT_JSON = MessageCode("output.json", how=str, key=str, trouble=Message)
OUTPUT_JSON_NONE = MessageCode("output.json.none", key=str)
OUTPUT_JSON_CUT_OFF = MessageCode("output.json.cut-off", begin=str, line=str)
OUTPUT_JSON_BROKEN = MessageCode("output.json.broken", begin=str, line=str, said=ForeignText)
OUTPUT_JSON_NUMBER = MessageCode("output.json.number", begin=str, line=str, trouble=Message)
OUTPUT_JSON_TOO_LONG = MessageCode("output.json.too-long", limit_mib=Count)
OUTPUT_JSON_TOO_DEEP = MessageCode("output.json.too-deep")

BLOCK_BYTES = 8 * 2**20
#: No tool prints longer lines; what is longer is no text, and its end is left out.
LONGEST_LINE = 2**16

#: Called with the bytes read, and the total if it is known.
OnProgress = Callable[[int, int | None], object]


@dataclass(frozen=True)
class Output:
    """One output, in a file or in several that follow each other; whoever reads it raises OSError where one
    cannot be read.
    """

    files: Sequence[Path]
    on_progress: OnProgress | None = None

    def first_line(self) -> bytes:
        """The first line."""
        with self.files[0].open("rb") as file:
            return file.readline(LONGEST_LINE)

    def blocks(self) -> Iterator[bytes]:
        """The files' blocks, one file after the other."""
        read = 0
        for path in self.files:
            with path.open("rb") as file:
                for block in blocks(file):
                    yield block
                    read += len(block)
                    self.went(read)

    @cached_property
    def _total_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files)

    def went(self, read_bytes: int) -> None:
        """So much is read by now."""
        if self.on_progress is not None:
            self.on_progress(read_bytes, self._total_bytes)

    def lines(self) -> Iterator[str]:
        """Every line."""
        return lines(self.blocks())

    def on_event(self, event: str) -> None:
        """Pass on the engine's progress while it reads the files."""
        if self.on_progress is not None:
            progress = json.loads(event)
            self.on_progress(progress["read_bytes"], progress["total_bytes"])


#: How names of directories of imports begin; a later import removes those of a killed one.
DIRECTORY_NAME = "loadcell-import"


@contextlib.contextmanager
def copies_directory() -> Iterator[Path]:
    """A directory of this process for copies, below TMPDIR or /var/tmp."""
    directory = process_directories.make_directory(
        DIRECTORY_NAME, Path(os.environ.get("TMPDIR") or process_directories.HOME)
    )
    try:
        directory.chmod(0o700)
        yield directory
    finally:
        process_directories.remove_directory(directory)


def blocks(file: BinaryIO, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Blocks that end where a line ends; the last one perhaps does not, and neither does one without any
    line's end.
    """
    remainder = b""
    while chunk := file.read(size):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield remainder + chunk[:end] if remainder else chunk[:end]
            remainder = chunk[end:]
        elif len(remainder) + len(chunk) > size:
            yield remainder + chunk
            remainder = b""
        else:
            remainder += chunk
    if remainder:
        yield remainder


def decoded(block: bytes) -> str:
    """As text: UTF-8, else the encoding of Chinese locales, else with marks for what is neither."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return block.decode(encoding)
        except UnicodeDecodeError:
            continue
    return block.decode("utf-8", "replace")


def lines(parts: Iterable[bytes]) -> Iterator[str]:
    """Every line, with its end as `\\n` whatever it was."""
    for part in parts:
        for line in io.StringIO(decoded(part), newline=None):
            yield line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE]


#: What the engine takes for a number.
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Table:
    """Lines that differ from the first of them in numbers alone, each of which stands at one of the `places`.

    `numbers` gives those of one place as doubles, and `text` the lines themselves, until the next part of the
    text is asked for.
    """

    first: str
    places: int
    numbers: Callable[[int], bytes]
    text: Callable[[], bytes]

    def columns(self, shape: re.Match[str]) -> Mapping[str, Column] | None:
        """By the names of the groups that matched the first line; None where one is no usable number."""
        places = {match.span(): index for index, match in enumerate(_NUMBER.finditer(shape.string))}
        named = {name: places.get(shape.span(name)) for name in shape.groupdict()}
        if len(places) != self.places or None in named.values():
            return None
        values = {
            name: columns.of_bytes(self.numbers(index)) for name, index in named.items() if index is not None
        }
        return values if all((column <= MOST).all() for column in values.values()) else None


def stretches(output: Output, begin: bytes) -> Iterator[bytes | Table]:
    """An output in its order, read ahead by the engine: tables of lines that begin so, and the lines between;
    few alike ones stay
    among the others."""
    parts = _engine.Stretches(list(output.files), begin)
    for text, places in parts:
        output.went(parts.read_bytes)
        if places:
            first = text.decode("utf-8", "replace").rstrip("\r\n")
            yield Table(first, places, parts.column, parts.text)
        else:
            yield text


#: No tool prints as much; a document is held in memory as a whole.
MOST_BYTES = 256 * 2**20
#: This many lines that begin like JSON and are none show that the text is another.
_MOST_FAILURES = 100


#: The escape of one half of a character of 32 bits without the other, which is no character.
_HALF = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def documents(lines: Iterable[str], key: str, how: str, unread: Unread) -> list[JsonObject]:
    """Every object that has `key`; `how` is the option that makes the tool write them.

    Other lines are unread.

    Raises NotItsOutputError when there is none, with the place where the text stops being JSON.
    """
    text = _HALF.sub(r"\\ufffd", _complete(lines))
    decoder = json.JSONDecoder(parse_float=real, parse_int=integer, parse_constant=refused)
    matching: list[JsonObject] = []
    at, failures, trouble = 0, 0, OUTPUT_JSON_NONE(key=key)
    while (begin := _begin(text, at)) >= 0 and failures < _MOST_FAILURES:
        _between(text[at:begin], unread)
        try:
            document, at = decoder.raw_decode(text, begin)
        except UnusableNumberError as error:
            failures += 1
            position = max(begin, text.find(error.text, begin))
            trouble = OUTPUT_JSON_NUMBER(
                begin=str(text.count("\n", 0, begin) + 1),
                line=str(text.count("\n", 0, position) + 1),
                trouble=error.message,
            )
            unread.add(trouble)
            at = _next(text, begin)
            continue
        except RecursionError:
            failures, at = failures + 1, _next(text, begin)
            unread.add(OUTPUT_JSON_TOO_DEEP())
            continue
        except json.JSONDecodeError as error:
            failures += 1
            line = text.count("\n", 0, error.pos) + 1
            cut = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
            trouble = (OUTPUT_JSON_CUT_OFF if cut else OUTPUT_JSON_BROKEN).pick(
                begin=str(text.count("\n", 0, begin) + 1), line=str(line), said=error.msg
            )
            unread.add(trouble)
            at = _next(text, begin)
            continue
        if isinstance(document, dict) and key in document:
            matching.append(document)
        else:
            unread.add(text[begin : begin + 80].partition("\n")[0])
    _between(text[at:], unread)
    if not matching:
        raise NotItsOutputError(OUTPUT_JSON(key=key, how=how, trouble=trouble))
    return matching


def _complete(lines: Iterable[str]) -> str:
    parts, length = [], 0
    for line in lines:
        parts.append(line)
        length += len(line)
        if length > MOST_BYTES:
            raise NotItsOutputError(OUTPUT_JSON_TOO_LONG(limit_mib=MOST_BYTES // 2**20))
    return "".join(parts)


def _begin(text: str, at: int) -> int:
    """Where the next line begins with a brace; at the very start it may stand anywhere."""
    if text.startswith("{", at):
        return at
    start = text.find("\n{", at)
    return start + 1 if start >= 0 else -1


def _next(text: str, begin: int) -> int:
    """After a document that is cut: the next line that begins another; all between belongs to the one that is
    cut.
    """
    start = text.find("\n{", begin + 1)
    return start + 1 if start >= 0 else len(text)


def _between(text: str, unread: Unread) -> None:
    for line in text.splitlines():
        unread.add(line)


def java_properties(text: str) -> dict[str, str]:
    """Java's property format: `key=value`, `key: value`, `#` and `!` comments, lines that go on after a
    backslash.

    `//` at the start of a line, which Java reads as a key, is what BenchmarkSQL's own files use for comments.
    """
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        match = re.match(r"((?:\\.|[^\\=:\s])+)[ \t\f]*[=:]?[ \t\f]*(.*)", line, re.DOTALL)
        if match:
            properties[_unescaped(match[1])] = _unescaped(match[2])
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Logical lines: comments left out, continued lines joined."""
    joined: str | None = None
    for raw in text.splitlines():
        line = raw.lstrip(" \t\f")
        if joined is None and (not line or line.startswith(("#", "!", "//"))):
            continue
        line = (joined or "") + line
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined = line[:-1]
        else:
            joined = None
            yield line
    if joined:
        yield joined


_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)

    text = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", character, text, flags=re.DOTALL)
    # Java's characters are of 16 bits: two escapes may be the halves of one; a half alone is no character.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


#: `> ` as mail and Markdown write it, however deep.
_QUOTE = re.compile(r"(?: {0,3}> ?)+")
#: A line of Markdown that begins or ends code.
_FENCE = re.compile(r"(?P<indent>\s*)(`{3,}|~{3,})[\w+-]*\s*$")
#: Markdown's indentation of code.
_INDENT = re.compile(r" {4,}|\t+")
#: Marks count if this share of all lines that are not empty has them.
_MOST = 0.5


def without_quotes(block: bytes) -> bytes | None:
    """A whole text without quotes, fences and indentation; None where it has none of them."""
    lines = decoded(block).splitlines()
    stripped = _unindented(list(_unfenced(_unquoted(lines))))
    return None if stripped == lines else "".join(f"{line}\n" for line in stripped).encode()


def _unquoted(lines: list[str]) -> list[str]:
    if not _are_most([_QUOTE.match(line) for line in lines if line.strip()]):
        return lines
    return [_QUOTE.sub("", line, count=1) if _QUOTE.match(line) else line for line in lines]


def _unfenced(lines: list[str]) -> Iterator[str]:
    """Lines without those that begin or end code, and code without the indentation of its fence, as within a
    list.
    """
    fence: re.Match[str] | None = None
    for line in lines:
        if (match := _FENCE.match(line)) is not None:
            fence = match if fence is None else None
        else:
            yield line if fence is None else line.removeprefix(fence["indent"])


def _unindented(lines: list[str]) -> list[str]:
    indents = [_INDENT.match(line) for line in lines if line.strip()]
    if not _are_most(indents):
        return lines
    least = min((match[0] for match in indents if match is not None), key=len)
    return [line.removeprefix(least) for line in lines]


def _are_most(matches: list[re.Match[str] | None]) -> bool:
    return bool(matches) and sum(match is not None for match in matches) >= _MOST * len(matches)
