"""Contents of a file that a plan is drafted from: a document of JSON or YAML, or a text, of bounded size."""

from __future__ import annotations

import gc
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from loadcell.model.message import Bytes, ForeignText, MessageCode, MessageError

CONTENTS_TOO_LARGE = MessageCode("contents.too-large", path=str, size_bytes=Bytes, most_bytes=Bytes)
CONTENTS_UNREADABLE = MessageCode("contents.unreadable", path=str, reason=ForeignText)
CONTENTS_NO_TEXT = MessageCode("contents.no-text", path=str)
CONTENTS_EMPTY = MessageCode("contents.empty", path=str)
CONTENTS_NO_JSON = MessageCode("contents.no-json", path=str, line=str, reason=ForeignText)
CONTENTS_TOO_DEEP = MessageCode("contents.too-deep", path=str)

#: A document is read as a whole, which takes about five times its size in memory, and a second for 30 MB.
LARGEST_JSON_BYTES = 512 << 20
#: YAML is read at about 100 kB per second.
LARGEST_YAML_BYTES = 4 << 20
#: Halves of surrogate pairs, as characters with NUL, and as JSON escapes them.
_UNWRITABLE = re.compile("[\ud800-\udfff\0]")
_HALF_PAIR = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


class ContentsError(MessageError):
    """The file cannot be read as what its name or beginning promises."""


@dataclass(frozen=True)
class Contents:
    """A file: `document` is what it holds as JSON or YAML, None where it is another text."""

    path: Path
    text: str
    document: Any

    @property
    def keys(self) -> frozenset[str]:
        """Keys of the document at its top, if it is a mapping."""
        return frozenset(self.document) if isinstance(self.document, dict) else frozenset()


def read_contents(path: Path) -> Contents:
    """Read a file. Raises ContentsError."""
    try:
        size = path.stat().st_size
        _check_size(path, size, LARGEST_JSON_BYTES)
        raw = path.read_bytes()
    except OSError as error:
        raise ContentsError(CONTENTS_UNREADABLE(path=path, reason=error.strerror)) from None
    head = raw[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head:
        raise ContentsError(CONTENTS_EMPTY(path=path))
    if head[:1] in (b"{", b"["):
        return Contents(path, "", _json(path, raw))
    _check_size(path, size, LARGEST_YAML_BYTES)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = ""
    if not text or "\0" in text:
        raise ContentsError(CONTENTS_NO_TEXT(path=path))
    return Contents(path, text, _yaml(path, text))


def _check_size(path: Path, size: int, most: int) -> None:
    if size > most:
        raise ContentsError(CONTENTS_TOO_LARGE(path=path, size_bytes=size, most_bytes=most))


def _json(path: Path, raw: bytes) -> Any:
    collects = gc.isenabled()
    gc.disable()  # searches for cycles take half of the time of a large document, which has none
    try:
        text = raw.decode("utf-8-sig", "replace")
        return json.loads(_HALF_PAIR.sub(r"\\ufffd", text) if b"\\ud" in raw or b"\\uD" in raw else text)
    except json.JSONDecodeError as error:
        raise ContentsError(CONTENTS_NO_JSON(path=path, line=error.lineno, reason=error.msg)) from None
    except RecursionError:
        raise ContentsError(CONTENTS_TOO_DEEP(path=path)) from None
    finally:
        if collects:
            gc.enable()


def _yaml(path: Path, text: str) -> Any:
    """The YAML document; None of a text of another kind."""
    try:
        return YAML(typ="safe", pure=True).load(text)
    except RecursionError:
        raise ContentsError(CONTENTS_TOO_DEEP(path=path)) from None
    except (YAMLError, ValueError):
        return None


def clean(text: str) -> str:
    """A text of a document without NUL and halves of surrogate pairs, which no plan can have."""
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
