"""A small lexer of Rust: which parts of a source are comments, strings and code."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PART = re.compile(
    r"""
      (?P<line_comment>//[^\n]*)
    | (?P<block_comment>/\*)
    | (?P<raw>\b(?:b|c|br|cr)?r(?P<hashes>\#*)"(?:.|\n)*?"(?P=hashes))
    | (?P<string>\b[bc]?"(?:\\.|\\\n|[^"\\])*"|"(?:\\.|\\\n|[^"\\])*")
    | (?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]+\}|.)|[^'\\\n])')
    """,
    re.VERBOSE,
)


def parts(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (kind, start, end) of every comment ("comment") and string or character ("string"), in order."""
    position = 0
    while match := _PART.search(text, position):
        position = match.end()
        if match["block_comment"]:
            position = _block_comment_end(text, match.start())
        comment = match["line_comment"] or match["block_comment"]
        yield "comment" if comment else "string", match.start(), position


def _block_comment_end(text: str, start: int) -> int:
    """Position behind a block comment; block comments nest."""
    depth, position = 0, start
    for match in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if match[0] == "/*" else -1
        position = start + match.end()
        if depth == 0:
            return position
    return len(text)


def code(text: str) -> str:
    """The source with comments blanked and strings replaced by `x`; positions and lines stay."""
    pieces, position = [], 0
    for kind, start, end in parts(text):
        pieces.append(text[position:start])
        fill = " " if kind == "comment" else "x"
        pieces.append("".join("\n" if char == "\n" else fill for char in text[start:end]))
        position = end
    return "".join(pieces) + text[position:]


def item_end(code: str, start: int) -> int:
    """Position behind the item that begins at `start`: behind its `;`, or behind the brace that closes its
    body.
    """
    depth = 0
    for position in range(start, len(code)):
        char = code[position]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0 and char == "}":
                return position + 1
        elif char == ";" and depth == 0:
            return position + 1
    return len(code)
