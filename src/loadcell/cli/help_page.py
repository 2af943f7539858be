"""Help pages that fit any terminal: Chinese characters take two columns, and lines break between them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

import click

from loadcell.cli import click_texts

#: No line is shorter, however narrow the terminal is.
_LEAST_WIDTH = 30
#: Marks that begin no line, and marks that end none.
_CLOSING = "，。；：、）》”！？】…"
_OPENING = "（《“【"
#: Columns of the names of options, at most this part of the page.
_NAMES_SHARE = 0.45
_GAP = 2


def columns(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def wrapped(text: str, width: int, indent: str = "", first: str | None = None) -> str:
    """A paragraph as lines of at most `width` columns; `first` begins the first line, `indent` the others.

    A word that is too long for a line has its own.
    """
    lines: list[str] = []
    line, is_empty = indent if first is None else first, True
    for blank, word in parts(text):
        between = "" if is_empty else blank
        if not is_empty and columns(line) + columns(between + word) > width:
            lines.append(line)
            line, between = indent, ""
        line, is_empty = line + between + word, False
    return "\n".join([*lines, line])


def parts(text: str) -> Iterator[tuple[str, str]]:
    """Parts that no line break may split, each with the blank before it."""
    for word in re.finditer(r"(\s*)(\[[^\]]{1,14}\]$|\S+)", text):
        blank = " " if word[1] else ""
        if word[2].startswith("["):
            yield blank, word[2]
            continue
        if word[2].isascii():
            yield blank, word[2]
            continue
        part = ""
        for character in word[2]:
            breaks = part and (_is_wide(character) or _is_wide(part[-1]))
            if breaks and character not in _CLOSING and part[-1] not in _OPENING:
                yield blank, part
                blank, part = "", ""
            part += character
        yield blank, part


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


class Formatter(click.HelpFormatter):
    """Writes the parts of a help page; a block of lines that begin with four blanks stays as it is."""

    def __init__(
        self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None
    ) -> None:
        super().__init__(indent_increment, width, max_width)
        if width is None:
            # click makes no page narrower than 50 columns
            terminal = click.formatting.FORCED_WIDTH or _terminal_width()
            self.width = max(min(terminal, max_width or 80) - 1, _LEAST_WIDTH)

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage line."""
        heading = click_texts.translated("Usage:") if prefix is None else prefix.rstrip()
        first = f"{heading}{'' if _is_wide(heading[-1]) else ' '}{prog} "
        if columns(first) + 20 <= self.width or not args:
            self.write(f"{wrapped(args, self.width, ' ' * columns(first), first).rstrip()}\n")
        else:
            self.write(f"{first.rstrip()}\n{wrapped(args, self.width, ' ' * 4, ' ' * 4)}\n")

    def write_heading(self, heading: str) -> None:
        """Write the heading of a group of options."""
        self.write(f"{' ' * self.current_indent}{heading}{'：' if _is_wide(heading[-1]) else ':'}\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        indent = " " * self.current_indent
        for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip("\n"))):
            self.write("\n" if number else "")
            if paragraph.startswith("    "):
                self.write(f"{paragraph}\n")
            else:
                self.write(f"{wrapped(joined(paragraph), self.width, indent, indent)}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = _GAP) -> None:
        """Write names with their explanations in a second column, or below long names."""
        rows = list(rows)
        most = min(col_max, int(self.width * _NAMES_SHARE))
        names = max((columns(name) for name, _ in rows if columns(name) <= most), default=most)
        names = max(names, min(most, 12))
        indent = self.current_indent
        below = " " * (indent + names + col_spacing)
        for name, text in rows:
            if not text:
                self.write(f"{' ' * indent}{name}\n")
                continue
            if columns(name) <= names:
                first = f"{' ' * indent}{name}{' ' * (names - columns(name) + col_spacing)}"
            else:
                self.write(f"{' ' * indent}{name}\n")
                first = below
            self.write(f"{wrapped(joined(text), self.width, below, first)}\n")


def joined(paragraph: str) -> str:
    """The lines of a paragraph as one line, without blanks between Chinese characters."""
    return re.sub(
        r"(\S)[ \t]*\n[ \t]*(\S)",
        lambda ends: ends[1] + ("" if _is_wide(ends[1]) and _is_wide(ends[2]) else " ") + ends[2],
        paragraph.strip(),
    )


def _terminal_width() -> int:
    import shutil  # noqa: PLC0415 - only help pages need it

    return shutil.get_terminal_size().columns
