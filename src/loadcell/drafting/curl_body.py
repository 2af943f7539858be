"""The body of a command line of curl: pieces of several options in their order, or one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from loadcell.drafting.command import CommandLine
from loadcell.drafting.draft import DraftError
from loadcell.ingest.commands import Word
from loadcell.model.message import Message, MessageCode

CURL_MIXED = MessageCode("draft-curl.mixed", option=str)
CURL_LINE_ENDS = MessageCode("draft-curl.line-ends", "caution", path=str)

_FORM, _JSON = "application/x-www-form-urlencoded", "application/json"
#: Options whose files curl sends without ends of lines.
_WITHOUT_LINE_ENDS = ("d", "data", "data-ascii")
_LINE_ENDS = b"\r\n\0"
OPTIONS = (*_WITHOUT_LINE_ENDS, "data-binary", "data-raw", "data-urlencode", "json")


@dataclass(frozen=True)
class CurlBody:
    """A body: its text, or the file that it is, as the plan names it."""

    kind: str
    text: str = ""
    file: str | None = None
    notes: tuple[Message, ...] = ()


def curl_body(line: CommandLine) -> CurlBody | None:
    """The body; None without one. Raises DraftError for a file that is only a part of it."""
    words = line.options(*OPTIONS)
    if not words:
        return None
    kind = _JSON if any(word.name == "json" for word in words) else _FORM
    if len(words) == 1 and _is_file(words[0]):
        return _of_file(line, words[0], kind)
    return CurlBody(kind, _text(words))


def _text(words: Sequence[Word]) -> str:
    text = ""
    for word in words:
        if _is_file(word):
            raise DraftError(CURL_MIXED(option=_written(word)))
        piece = _encoded(word) if word.name == "data-urlencode" else word.value
        text += f"&{piece}" if text and word.name != "json" else piece
    return text


def _is_file(word: Word) -> bool:
    return word.name not in ("data-raw", "data-urlencode") and word.value.startswith("@")


def _of_file(line: CommandLine, word: Word, kind: str) -> CurlBody:
    if word.value == "@-":
        raise DraftError(CURL_MIXED(option=_written(word)))
    name = word.value[1:]
    path = line.file(_written(word), name)
    changes = word.name in _WITHOUT_LINE_ENDS and any(
        octet in _LINE_ENDS for octet in Path(name).expanduser().read_bytes()
    )
    return CurlBody(kind, file=path, notes=(CURL_LINE_ENDS(path=path),) if changes else ())


def _encoded(word: Word) -> str:
    """`CONTENT`, `=CONTENT` or `NAME=CONTENT`, encoded. Raises DraftError for `@FILE` and `NAME@FILE`."""
    name, equals, content = word.value.partition("=")
    if not equals and "@" in word.value:
        raise DraftError(CURL_MIXED(option=_written(word)))
    if not equals:
        name, content = "", name
    return f"{name}={quote(content, safe='')}" if name else quote(content, safe="")


def _written(word: Word) -> str:
    return f"-{word.name}" if len(word.name) == 1 else f"--{word.name}"
