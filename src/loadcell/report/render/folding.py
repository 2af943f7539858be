"""Lines of texts that are wider than their place on a terminal: where words and long names are broken."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from loadcell.model.terminal import ANY_WIDTH

#: Text columns and words of headings are not cut to less.
LEAST_WIDTH = 10
#: Chinese words of headings are not broken up to this width.
MOST_CHINESE = 14
#: Width of two Chinese characters: a heading is not a column of single ones.
_CHINESE_PAIR = 4
#: Folds parts of names without a separator.
_FOLDING = Console(width=ANY_WIDTH)
#: Marks that do not begin a line.
_CLOSING = "，。；：、）》”！？,.;:)%"
#: Marks that do not end one.
_OPENING = "（《“(["
#: A part of a name with its separators.
_SEPARATED = re.compile(r"[^-_.]*[-_.]+|[^-_.]+")


def longest_word(title: str) -> int:
    """Width of a heading whose words are whole."""
    return max(map(cell_len, _words(title)), default=0)


def heading_width(title: str) -> int:
    """Least width of a heading: its longest word, at most `LEAST_WIDTH`, or `MOST_CHINESE`."""
    return max((min(_most(word), cell_len(word)) for word in _words(title)), default=0)


def narrowest_heading(title: str) -> int:
    """The same where Chinese words and long names are broken; at least two Chinese characters."""
    parts = [part for line in lines(Text(title), 1) for part in _SEPARATED.findall(line.plain)]
    least = _CHINESE_PAIR if cell_len(title) > len(title) else 0
    return max(least, min(LEAST_WIDTH, max(map(cell_len, parts), default=0)))


def _words(title: str) -> list[str]:
    """Words of a heading; Chinese ones end at spaces, before brackets and after a comma of a list."""
    return [word for word in re.split(r" |(?=（)|(?<=、)", title) if word]


def _most(word: str) -> int:
    return LEAST_WIDTH if cell_len(word) == len(word) else MOST_CHINESE


def heading(title: str, width: int) -> list[Text]:
    """Lines of a heading: broken between words, and within words that are longer than a line."""
    broken: list[str] = []
    for word in _words(title):
        between = "" if word.startswith("（") or (broken and broken[-1].endswith("、")) else " "
        if broken and cell_len(joined := f"{broken[-1]}{between}{word}") <= width:
            broken[-1] = joined
        else:
            broken += [part for line in lines(Text(word), width) for part in _parts(line.plain, width)]
    return [Text(line) for line in broken]


def folded(text: str, width: int) -> str:
    """A text in which names longer than a line are broken after their separators."""
    return re.sub(r"\S+", lambda word: "\n".join(_parts(word[0], width)), text)


def _parts(word: str, width: int) -> list[str]:
    """A word in parts that fit into a line: broken after `-`, `_` and `.`, within names only in need."""
    if cell_len(word) <= width:
        return [word]
    parts: list[str] = []
    for part in _SEPARATED.findall(word):
        if parts and cell_len(parts[-1] + part) <= width:
            parts[-1] += part
        else:
            parts += [line.plain for line in Text(part).wrap(_FOLDING, max(width, 2), overflow="fold")]
    return parts


def lines(text: Text, width: int, *, unbroken: int = 0) -> list[Text]:
    """Wrap at spaces and between Chinese characters (rich does not), but not within the last `unbroken`
    characters.
    """
    divided = text.divide(list(_breaks(text.plain, width, unbroken)))
    for line in divided:
        line.rstrip()
    return list(divided)


def _breaks(plain: str, width: int, unbroken: int) -> Iterator[int]:
    """Positions at which lines begin."""
    start, used, last = 0, 0, 0
    for position, character in enumerate(plain):
        before = plain[position - 1] if position > start else ""
        between = before == " " or cell_len(before) > 1 or cell_len(character) > 1
        inside = position > len(plain) - unbroken
        if before and between and not inside and character not in _CLOSING and before not in _OPENING:
            last = position
        used += cell_len(character)
        if used > width and character != " " and last > start:
            yield last
            start, used = last, cell_len(plain[last : position + 1])
