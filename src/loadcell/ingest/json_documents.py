"""JSON that a tool printed: one document, or several one after the other with other lines between, as a shell
loop makes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from loadcell.ingest.base import NotItsOutputError, Unread
from loadcell.ingest.messages import (
    OUTPUT_JSON,
    OUTPUT_JSON_BROKEN,
    OUTPUT_JSON_CUT_OFF,
    OUTPUT_JSON_NONE,
    OUTPUT_JSON_TOO_DEEP,
    OUTPUT_JSON_TOO_LONG,
)

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

#: No tool prints as much; a document is held in memory as a whole.
MOST_BYTES = 256 * 2**20
#: This many lines that begin like JSON and are none show that the text is another.
_MOST_FAILURES = 100


def documents(lines: Iterable[str], key: str, how: str, unread: Unread) -> list[JsonObject]:
    """Every object that has `key`; `how` is the option that makes the tool write them.

    Other lines are unread.

    Raises NotItsOutputError when there is none, with the place where the text stops being JSON.
    """
    text = _complete(lines)
    decoder = json.JSONDecoder()
    documents_found: list[JsonObject] = []
    at, failures, trouble = 0, 0, OUTPUT_JSON_NONE(key=key)
    while (begin := _begin(text, at)) >= 0 and failures < _MOST_FAILURES:
        _between(text[at:begin], unread)
        try:
            document, at = decoder.raw_decode(text, begin)
        except RecursionError:
            failures, at = failures + 1, _next(text, begin)
            unread.add(OUTPUT_JSON_TOO_DEEP())
            continue
        except json.JSONDecodeError as error:
            failures += 1
            line = text.count("\n", 0, error.pos) + 1
            cut = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
            trouble = (OUTPUT_JSON_CUT_OFF if cut else OUTPUT_JSON_BROKEN).pick(
                begin=str(text.count("\n", 0, begin) + 1),
                line=str(line),
                said=error.msg,
            )
            unread.add(trouble)
            at = _next(text, begin)
            continue
        if isinstance(document, dict) and key in document:
            documents_found.append(document)
        else:
            unread.add(text[begin : begin + 80].partition("\n")[0])
    _between(text[at:], unread)
    if not documents_found:
        raise NotItsOutputError(OUTPUT_JSON(key=key, how=how, trouble=trouble))
    return documents_found


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
