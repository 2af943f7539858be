"""Secrets in the commands that a text shows, of whatever tools: values of options that hold them.

Each line is searched once, so that the time is in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from loadcell.ingest.commands import END_OF_COMMAND, SYNTAXES, Syntax, is_secret_option, split_words
from loadcell.plan.secret_patterns import Span

#: Tools with secrets in options whose names alone do not say so.
_TOOLS = tuple(tool for tool in SYNTAXES.values() if tool.secret)
_PROGRAMS = "|".join(tool.program for tool in _TOOLS)
_COMMAND = re.compile(rf"(?<![\w.-])(?:{_PROGRAMS})(?=[ \t\\])")
#: How a program's name ends before its options: lines are found by these before the pattern is tried.
_SIGNS = tuple(
    f"{name}{space}"
    for name in ("ab", "fio", "iperf3", "netperf", "-benchmark", "wrk", "wrk2")
    for space in (" ", "\t", "\\")
)
_WORD = re.compile(r"(?:[^\s\"'\\]|\\[^\r\n]|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\"']|\\(?![\r\n]))+", re.DOTALL)
_QUOTING = re.compile(r"\\(.)|[\"']", re.DOTALL)
#: Lines of a command that is continued by backslashes.
_MOST_LINES = 50


def secrets_in(text: str) -> Iterator[Span]:
    """Places of the values of secret options in commands."""
    for begin, end in _lines(text):
        at, quotes = begin, 0
        while command := _COMMAND.search(text, at, end):
            quotes += text.count('"', at, command.start()) - text.count('\\"', at, command.start())
            at, words = _quotation(text, command.start(), end, quoted=quotes % 2 == 1)
            quotes += 1 if at < end else 0
            yield from _of_words(words, command.start())
            at = max(at, command.end())


def _lines(text: str) -> list[tuple[int, int]]:
    """Begin and end of each line that may show a command, with the lines that continue it."""
    starts = sorted({at for sign in _SIGNS for at in _positions(text, sign)})
    lines: list[tuple[int, int]] = []
    end = 0
    for start in starts:
        if start < end:
            continue
        begin = max(text.rfind("\n", end, start), text.rfind("\r", end, start), end - 1) + 1
        end = _end_of_line(text, start)
        for _ in range(_MOST_LINES):
            if not text.endswith("\\", begin, end):
                break
            end = _end_of_line(text, end + (2 if text.startswith("\r\n", end) else 1))
        lines.append((begin, end))
    return lines


def _positions(text: str, sign: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + len(sign))


_LINE_END = re.compile(r"[\r\n]|\Z")


def _end_of_line(text: str, at: int) -> int:
    match = _LINE_END.search(text, at)
    return match.start() if match else len(text)


def _quotation(text: str, begin: int, end: int, *, quoted: bool) -> tuple[int, str]:
    """End of a command and its text: up to the end of the quotation it stands in, or of the line."""
    before = text[max(0, begin - 1) : begin]
    quote = '"' if quoted else before if before == "'" else ""
    if not quote:
        return end, text[begin:end]
    closing = re.compile(rf"(?<!\\){quote}").search(text, begin, end)
    end = closing.start() if closing else end
    return end, text[begin:end].replace('\\"', ' "') if quote == '"' else text[begin:end]


def _of_words(command: str, offset: int) -> Iterator[Span]:
    """Places of secrets in commands that follow each other; a program's name begins one, a pipe ends it."""
    running: dict[str, tuple[Syntax, list[re.Match[str]]]] = {}
    for word in _WORD.finditer(command):
        written = word[0]
        if END_OF_COMMAND.match(written):
            yield from _of_commands(running, offset)
            continue
        name = written.rpartition("/")[2]
        program = next((tool for tool in _TOOLS if re.fullmatch(tool.program, name)), None)
        if program is not None:
            if program.program in running:
                yield from _of_command(*running.pop(program.program), offset)
            running[program.program] = (program, [])
        for tool, words in running.values():
            if tool is not program:
                words.append(word)
        if written.endswith(";") and not written.endswith("\\;"):
            yield from _of_commands(running, offset)
    yield from _of_commands(running, offset)


def _of_commands(running: dict[str, tuple[Syntax, list[re.Match[str]]]], offset: int) -> Iterator[Span]:
    for tool, words in running.values():
        yield from _of_command(tool, words, offset)
    running.clear()


def _of_command(tool: Syntax, words: list[re.Match[str]], offset: int) -> Iterator[Span]:
    for option in split_words([_QUOTING.sub(r"\1", word[0].removesuffix(";")) for word in words], tool):
        if option.value and is_secret_option(tool, option.name):
            word = words[option.index]
            begin = word[0].rfind(option.value)
            if begin < 0:  # quotation signs or backslashes stand in the value
                begin, length = word[0].find("=") + 1, len(word[0])
            else:
                length = begin + len(option.value.rstrip())
            yield Span(offset + word.start() + begin, offset + word.start() + length, option.name)
