"""Spans of a sentence: code (`a command`, `a.setting`) and numbers; each format marks them differently.

Sentences are the catalogue's; what stands in the places of their parameters may be from outside. So that a
backtick in there pairs with none of the sentence's own, the two are looked through apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

#: Between single backticks, on one line, no blank inside of either.
_CODE = re.compile(r"(?<!`)`(?!`)(\S|\S[^`\n]*?\S)`(?!`)")
#: In the place of a parameter's backticks while the sentence's own are looked for.
_OTHER = "\0"

#: A span of a sentence; true if it is a number.
Part = tuple[str, bool]


@dataclass(frozen=True)
class Piece:
    """A stretch of a sentence that is alike throughout, without the backticks."""

    text: str
    figure: bool = False
    code: bool = False


def pieces(parts: str | Iterable[Part]) -> list[Piece]:
    """A sentence split into spans; text alone is one span without numbers."""
    pairs = [(parts, False)] if isinstance(parts, str) else list(parts)
    joined = "".join(text for text, _ in pairs)
    figure = [is_figure for text, is_figure in pairs for _ in text]
    code, gone = [False] * len(joined), set[int]()
    for start, end in _spans(pairs):
        if not code[start]:
            gone |= {start, end - 1}
            code[start:end] = [True] * (end - start)
    indices = (index for index in range(len(joined)) if index not in gone)
    return [
        Piece("".join(joined[index] for index in places), *kind)
        for kind, places in groupby(indices, key=lambda index: (figure[index], code[index]))
    ]


def _spans(parts_list: Iterable[Part]) -> Iterator[tuple[int, int]]:
    """Where code begins and ends, backticks included: the sentence's own first."""
    parts_list = list(parts_list)
    masked = "".join(text.replace("`", _OTHER) if figure else text for text, figure in parts_list)
    yield from (match.span() for match in _CODE.finditer(masked))
    begun = 0
    for text, figure in parts_list:
        if figure:
            yield from ((begun + match.start(), begun + match.end()) for match in _CODE.finditer(text))
        begun += len(text)
