"""Output that somebody quoted in a mail, or showed in Markdown: without the marks in front of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loadcell.ingest.text import decoded

#: `> ` as mail and Markdown write it, however deep.
_QUOTE = re.compile(r"(?: {0,3}> ?)+")
#: A line of Markdown that begins or ends code.
_FENCE = re.compile(r"(?P<indent>\s*)(`{3,}|~{3,})[\w+-]*\s*$")
#: Markdown's indentation of code.
_INDENT = re.compile(r" {4,}|\t+")
#: Marks count if this share of all lines that are not empty has them.
_MOST = 0.5


def plain(block: bytes) -> bytes | None:
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
