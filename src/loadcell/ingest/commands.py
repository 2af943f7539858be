"""Commands that a text shows before the outputs of their executions, and the options in which they differ.

Tools do not print all of their options: a rate, a script or the device that was read differ in the command
alone, and executions that differ in it are no repeats of each other.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loadcell.ingest.base import Measured, NotItsOutputError, Reading
from loadcell.ingest.printed_numbers import UnusableNumberError
from loadcell.ingest.readers import Read
from loadcell.ingest.text import Output, copies_directory, decoded
from loadcell.plan.secret_patterns import is_secret_field, spans


@dataclass(frozen=True)
class Syntax:
    """A tool's command line: the pattern of its program's name, and names of options without dashes.

    Values of `secret` options are never stored. Repeats may differ in `no_levels`: where results are written,
    where random numbers begin, who logs in. An option takes the next word as its value if it is one of
    `valued`; of a tool with too many of these, unless it is one of `flags`.
    """

    program: str
    secret: frozenset[str] = frozenset()
    no_levels: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    flags: frozenset[str] | None = None

    def takes_value(self, name: str) -> bool:
        """True if the option's value may be the next word."""
        return name in self.valued if self.flags is None else name not in self.flags


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: By the tool's name, which is that of its reader.
SYNTAXES = {
    "ab": Syntax(
        "ab",
        secret=_names("A P H C"),
        no_levels=_names("g e"),
        valued=_names("n c t s b B p u T v x y z C H A P X g e m Z f E"),
    ),
    "dd": Syntax("dd"),
    "fio": Syntax(
        "fio",
        secret=_names("http_s3_key http_swift_auth_token http_pass"),
        no_levels=_names(
            "output write_bw_log write_lat_log write_iops_log write_hist_log aux-path randseed http_user "
            "http_swift_auth_user"
        ),
        flags=_names(
            "group_reporting time_based thread stonewall new_group minimal append-terse readonly debug "
            "parse-only bandwidth-log terse-version latency-log"
        ),
    ),
    "iperf3": Syntax(
        "iperf3",
        secret=_names("extra-data"),
        no_levels=_names("logfile T title I pidfile username"),
        flags=_names(
            "s R u J D V Z N 4 6 1 d bidir json json-stream udp reverse zerocopy no-delay one-off verbose "
            "sctp get-server-output server forceflush timestamps version4 version6 udp-counters-64bit debug"
        ),
    ),
    "mbw": Syntax("mbw", valued=_names("n t b")),
    "netperf": Syntax("netperf", secret=_names("Z"), no_levels=_names("o O k"), flags=frozenset()),
    "pgbench": Syntax(
        "pgbench",
        no_levels=_names("l log log-prefix random-seed U username"),
        valued=_names(
            "c j t T f b D M P R L s F h p U I client jobs time transactions file builtin define protocol "
            "progress rate latency-limit scale fillfactor host port username dbname log-prefix random-seed "
            "sampling-rate aggregate-interval partitions partition-method tablespace index-tablespace "
            "max-tries init-steps"
        ),
    ),
    "redis-benchmark": Syntax(
        "(?:redis|valkey)-benchmark",
        secret=_names("a u pass uri"),
        no_levels=_names("user seed"),
        valued=_names(
            "h p s a u c n d r P t k user pass uri dbnum threads precision seed sni cacert cacertdir cert "
            "key tls-ciphers tls-ciphersuites rps num-functions num-keys-in-fcall"
        ),
    ),
    "stress-ng": Syntax(
        "stress-ng",
        no_levels=_names("log-file yaml Y seed"),
        flags=_names(
            "M n q v k metrics metrics-brief verify aggressive times tz perf no-rand-seed maximize minimize "
            "verbose quiet dry-run keep-name ignite-cpu log-brief syslog skip-silent stdout pathological "
            "page-in oom-avoid oomable abort timestamp"
        ),
    ),
    "sysbench": Syntax("sysbench", no_levels=_names("rand-seed mysql-user pgsql-user")),
    "wrk": Syntax(
        "wrk2?",
        secret=_names("H header"),
        valued=_names("c d t R s H T connections duration threads rate script header timeout"),
    ),
}
#: The user and the password of a URL.
_LOGIN = re.compile(r"(?<=://)[^/\s]*@")
#: Up to a shell's prompt, or a date and time; commands that start another one.
_BEFORE = r"\s*(?:\S.*?[$#%>❯➜✗λ»]\s+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s+)?(?:[$#%>+]+\s+)?"
_STARTER = r"(?:(?:sudo|time|nohup|exec|numactl|taskset|nice|env)\b(?:\s+(?:-\S+|[\d,-]+|\w+=\S+))*\s+)*"
#: What is no part of the command: a pipe, another command, a redirection.
END_OF_COMMAND = re.compile(r"\d?>|[|;&<]|\s#\s")
_ARGUMENTS = "arguments"


def attached(reading: Reading, tool: str, text: bytes, read: Read) -> Reading:
    """The reading with the command of each execution, if the text shows it before the output.

    As many executions as the reader finds behind a command by itself are that command's. Where these are
    not all executions of the text, no command is attached. Commands are no lines that were not understood.
    """
    declared = SYNTAXES.get(tool)
    parts = _parts(decoded(text).splitlines(keepends=True), declared.program) if declared else []
    if not reading.measured or len(parts) < 2:
        return reading
    outputs = _reading("".join(lines for _, lines in parts), read)
    if outputs is not None and len(outputs.measured) == len(reading.measured):
        reading = replace(reading, unread=outputs.unread, examples=outputs.examples)
    readings = ((command, _reading(lines, read)) for command, lines in parts)
    commands = [command for command, of in readings if of is not None for _ in of.measured]
    if len(commands) != len(reading.measured):
        return reading
    measured = zip(reading.measured, commands, strict=True)
    return replace(reading, measured=tuple(replace(part, command=command) for part, command in measured))


def without_commands(reading: Reading, tool: str) -> Reading:
    """The reading without the tool's commands among its examples of unread lines; they may hold secrets."""
    if tool not in SYNTAXES or not reading.examples:
        return reading
    shape = _shape(SYNTAXES[tool].program)
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


def _reading(text: str, read: Read) -> Reading | None:
    """The reading of lines by themselves; None where they are no output of the tool."""
    if not text.strip():
        return None
    with copies_directory() as directory:
        file = directory / "output"
        file.write_text(text, encoding="utf-8", errors="replace")
        try:
            return read(Output((file,)))
        except (NotItsOutputError, UnusableNumberError):
            return None


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


@dataclass(frozen=True)
class Word:
    """An option without its dashes and with its value ("" without one), or an argument, which has no name.

    The value ends the word at `index`.
    """

    name: str
    value: str
    index: int = 0


def split_words(words: Sequence[str], syntax: Syntax) -> list[Word]:
    """The words behind the name of a program as options and arguments, in their order."""
    remaining = deque(enumerate(words))
    parts: list[Word] = []
    while remaining:
        index, word = remaining.popleft()
        name, equals, value = word.lstrip("-").partition("=")
        if re.match(r"-\w", word) and (word[1] in syntax.valued or not (equals and len(name) > 1)):
            letters, name, equals = word[1:], "", ""
            while letters:
                name, letters = letters[0], letters[1:]
                if syntax.takes_value(name) or not letters[:1].isalpha():
                    break
                parts.append(Word(name, "", index))
            value = letters
        elif not (word.startswith("-") or re.match(r"\w+=", word)) or word == "-":
            parts.append(Word("", word, index))
            continue
        secret = is_secret_option(syntax, name)
        takes_next = secret or (syntax.takes_value(name) and not (remaining and remaining[0][1][:1] == "-"))
        if not value and not equals and remaining and takes_next:
            index, value = remaining.popleft()
        parts.append(Word(name, value, index))
    return parts


def _options(command: str) -> dict[str, str]:
    """Values of options by their names without dashes, and what else the command names; without secrets."""
    program, *words = _words(command)
    tool = _syntax(program)
    split = split_words(words, tool)
    options = {
        name: _LOGIN.sub("", value) or "yes"
        for name, value in {word.name: word.value for word in split}.items()
        if name and name not in tool.secret | tool.no_levels and not _is_secret(name, value)
    }
    arguments = [word.value for word in split if not word.name and word.value]
    if arguments:
        public = (_LOGIN.sub("", argument) for argument in arguments if not _is_secret("", argument))
        options[_ARGUMENTS] = " ".join(public)
    return options


def _syntax(program: str) -> Syntax:
    return next(tool for tool in SYNTAXES.values() if re.fullmatch(tool.program, program))


def is_secret_option(syntax: Syntax, name: str) -> bool:
    """True if the values of a tool's option are secrets."""
    return name in syntax.secret or _is_secret(name, "")


def _is_secret(name: str, value: str) -> bool:
    """True if an option is called as secrets are, or its value holds one (a DSN)."""
    return is_secret_field(name) or bool(value and spans(value))


def _words(command: str) -> list[str]:
    """Words of a command up to a pipe or a redirection."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation without its end
        words = command.split()
    end = next((index for index, word in enumerate(words) if END_OF_COMMAND.match(word)), len(words))
    return words[:end]
