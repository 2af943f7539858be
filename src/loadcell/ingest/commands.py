"""Commands that a text shows before the outputs of their executions, and the options in which they differ.

Tools do not print all of their options: a rate, a script or the device that was read differ in the command
alone, and executions that differ in it are no repeats of each other.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadcell.ingest.base import Measured, NotItsOutputError, Reading
from loadcell.ingest.printed_numbers import UnusableNumberError
from loadcell.ingest.readers import Read
from loadcell.ingest.text import Output, decoded


@dataclass(frozen=True)
class _Tool:
    """A tool's command line: the pattern of its program's name, and names of options without dashes.

    Values of `secret` options are never stored.
    """

    program: str
    secret: frozenset[str] = frozenset()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: By the reader of their output.
_TOOLS = {
    "ab": _Tool("ab", secret=_names("A P H C")),
    "dd": _Tool("dd"),
    "fio": _Tool("fio", secret=_names("http_s3_key http_swift_auth_token http_pass")),
    "iperf3": _Tool("iperf3", secret=_names("extra-data")),
    "mbw": _Tool("mbw"),
    "netperf": _Tool("netperf", secret=_names("Z")),
    "pgbench": _Tool("pgbench"),
    "redis-benchmark": _Tool("(?:redis|valkey)-benchmark", secret=_names("a u pass uri")),
    "stress-ng": _Tool("stress-ng"),
    "sysbench": _Tool("sysbench"),
    "wrk": _Tool("wrk2?", secret=_names("H header")),
}
#: Options of any tool, and settings in a value (a DSN), that hold secrets by their names.
_SECRET_NAME = re.compile(r"passw|pwd|secret|token|authorization", re.IGNORECASE)
#: The user and the password of a URL.
_LOGIN = re.compile(r"(?<=://)[^/\s]*@")
#: Up to a shell's prompt, or a date and time; commands that start another one.
_BEFORE = r"\s*(?:\S.*?[$#%>❯➜✗λ»]\s+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s+)?(?:[$#%>+]+\s+)?"
_STARTER = r"(?:(?:sudo|time|nohup|exec|numactl|taskset|nice|env)\b(?:\s+(?:-\S+|[\d,-]+|\w+=\S+))*\s+)*"
#: Options in which repeats differ: where results are written, where random numbers begin, who logs in.
_NO_LEVELS = re.compile(r"-*\S*(output|log|out-?file|seed|passw|secret|user)\S*$|-?(of|o|g|e)$")
#: What is no part of the command: a pipe, another command, a redirection.
_END = re.compile(r"\d?>|[|;&<]|\s#\s")
_ARGUMENTS = "arguments"


def attached(reading: Reading, tool: str, text: bytes, read: Read) -> Reading:
    """The reading with the command of each execution, if the text shows it before the output.

    As many executions as the reader finds behind a command by itself are that command's. Where these are
    not all executions of the text, no command is attached.
    """
    declared = _TOOLS.get(tool)
    parts = _parts(decoded(text).splitlines(keepends=True), declared.program) if declared else []
    if not reading.measured or len(parts) < 2:
        return reading
    commands = [command for command, lines in parts for _ in range(_executions(lines, read))]
    if len(commands) != len(reading.measured):
        return reading
    measured = zip(reading.measured, commands, strict=True)
    return replace(reading, measured=tuple(replace(part, command=command) for part, command in measured))


def without_commands(reading: Reading, tool: str) -> Reading:
    """The reading without the tool's commands among its examples of unread lines; they may hold secrets."""
    if tool not in _TOOLS or not reading.examples:
        return reading
    shape = _shape(_TOOLS[tool].program)
    # a line that begins with an option continues a command
    examples = (
        line for line in reading.examples if not (shape.match(line) or re.match(r"--?[A-Za-z]", line))
    )
    return replace(reading, examples=tuple(examples))


def _shape(program: str) -> re.Pattern[str]:
    return re.compile(rf"{_BEFORE}{_STARTER}(?:\S*/)?(?P<command>{program}\s+(?:\S.*)?)$")


def _parts(lines: Sequence[str], program: str) -> list[tuple[str, str]]:
    """Each command with the lines behind it; the lines before the first have none."""
    shape = _shape(program)
    parts: list[tuple[str, list[str]]] = [("", [])]
    continued = False
    for line in lines:
        words = line.strip()
        if continued:
            command, _ = parts[-1]
            parts[-1] = (f"{command.removesuffix(chr(92))} {words}", [])
            continued = words.endswith("\\")
        elif (match := shape.match(words)) is not None and _is_command(match["command"]):
            parts.append((match["command"], []))
            continued = words.endswith("\\")
        else:
            parts[-1][1].append(line)
    return [(command, "".join(below)) for command, below in parts]


def _is_command(text: str) -> bool:
    """True if there is an option, a file or a URL, or nothing but numbers: not the head of an output."""
    words = _words(text)[1:]
    return any(word.startswith("-") or "=" in word or "://" in word for word in words) or (
        bool(words) and all(word.isdecimal() for word in words)
    )


def _executions(text: str, read: Read) -> int:
    """Count the executions that a reader finds in lines by themselves."""
    if not text.strip():
        return 0
    with tempfile.TemporaryDirectory(prefix="loadcell-import-") as directory:
        file = Path(directory) / "output"
        file.write_text(text, encoding="utf-8", errors="replace")
        try:
            return len(read(Output((file,))).measured)
        except (NotItsOutputError, UnusableNumberError):
            return 0


def levels(measured: Sequence[Measured]) -> Sequence[Mapping[str, str]]:
    """The options in which the commands of a tool differ, of each execution.

    An option is left out if it says what the text says anyway: the clients, or a setting of that value.
    """
    options = [_options(part.command) if part.command else {} for part in measured]
    programs = [_words(part.command)[0] if part.command else "" for part in measured]
    names = dict.fromkeys(name for named in options for name in named)
    differing: list[dict[str, str]] = [{} for _ in measured]
    for name in names:
        for program in dict.fromkeys(filter(None, programs)):
            mine = [index for index, other in enumerate(programs) if other == program]
            values = {index: options[index].get(name, "no") for index in mine}
            printed = all(_is_printed(measured[index], name, values[index]) for index in mine)
            if len(set(values.values())) > 1 and not printed:
                for index, value in values.items():
                    differing[index][name] = value
    return differing


def _is_printed(measured: Measured, name: str, value: str) -> bool:
    """True if the text has it as the number of clients, as a setting or as the name of the test."""
    printed = {str(setting) for setting in measured.settings.values()}
    title = {measured.title.lower(), *re.split(r"\W+", measured.title.lower())}
    if name in measured.settings or value in printed or value == str(measured.clients):
        return True
    return value.lower().removesuffix(" run") in title


def _options(command: str) -> dict[str, str]:
    """Values of options by their names without dashes, and what else the command names."""
    options: dict[str, str] = {}
    arguments: list[str] = []
    program, *words = _words(command)
    tool = next(tool for tool in _TOOLS.values() if re.fullmatch(tool.program, program))
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word.startswith("--") and not equals and words and not words[0].startswith("-"):
            value = words.pop(0)
        elif re.match(r"-\w", word) and not equals:
            name, value = word[:2], word[2:]
            if not value and words and not words[0].startswith("-"):
                value = words.pop(0)
        elif not (word.startswith("-") or re.match(r"\w+=", word)):
            arguments.append(word)
            continue
        name = name.lstrip("-")
        if (
            name
            and name not in tool.secret
            and _NO_LEVELS.match(name) is None
            and not _is_secret(name, value)
        ):
            options[name] = _LOGIN.sub("", value) or "yes"
    if arguments:
        public = (_LOGIN.sub("", argument) for argument in arguments if not _is_secret("", argument))
        options[_ARGUMENTS] = " ".join(public)
    return options


def _is_secret(name: str, value: str) -> bool:
    """True if the name of an option, or a setting in its value, is one of a secret."""
    return _SECRET_NAME.search(name) is not None or _SECRET_NAME.search(value) is not None


def _words(command: str) -> list[str]:
    """Words of a command up to a pipe or a redirection."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation without its end
        words = command.split()
    end = next((index for index, word in enumerate(words) if _END.match(word)), len(words))
    return words[:end]
