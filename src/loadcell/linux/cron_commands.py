"""Commands of cron that set the wall clock, by their place in a line of shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

#: Words of a line before its command: five fields or `@daily`, and the user in files of the system.
_SCHEDULE: Final = re.compile(r"(?:@\w+|[\d*]\S*(?:\s+[\w*]\S*){4})\s+(?P<command>.*)")
_SYSTEM: Final = re.compile(r"/etc/(?:crontab$|cron\.d/)")
_SCRIPTS: Final = re.compile(r"/etc/cron\.(?!d/)\w+/")
_SEPARATORS: Final = frozenset("();<>|&")
_KEYWORDS: Final = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{"})
#: Programs that start the program of a later word.
_STARTERS: Final = frozenset({"sudo", "nice", "ionice", "timeout", "env", "nohup", "time", "chronic", "flock",
                              "setsid", "exec", "command", "chrt", "taskset", "systemd-cat"})  # fmt: skip
_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "ksh"})
_ASSIGNMENT: Final = re.compile(r"\w+=")
#: Options with which a program sets the clock.
_SETTING: Final = {
    "date": re.compile(r"-[uR]*s.*|--set(?:=.*)?"),
    "hwclock": re.compile(r"-[a-zA-Z]*s|--hctosys"),
    "sntp": re.compile(r"-\w*[sS]"),
    "ntpd": re.compile(r"-\w*q|--quit"),
    "chronyd": re.compile(r"-\w*q"),
}
#: Options with which a program that sets the clock does not.
_QUERYING: Final = {"ntpdate": re.compile(r"-\w*[qd]"), "rdate": re.compile(r"-\w*p\w*")}


def setting_clock(row: str, path: str) -> Iterator[str]:
    """Programs, with their option, that set the clock in a line of a file of cron."""
    if row.lstrip().startswith("#"):
        return
    command = row
    if not _SCRIPTS.match(path):
        schedule = _SCHEDULE.match(row.strip())
        if schedule is None:
            return
        command = schedule["command"]
        if _SYSTEM.match(path):
            command = "".join(command.split(maxsplit=1)[1:])
    yield from _of_shell(command)


def _of_shell(text: str) -> Iterator[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        for word in lexer:
            if set(word) <= _SEPARATORS:
                yield from _of_words(words)
                words = []
            else:
                words.append(word)
    except ValueError:  # a quotation that a later line closes
        pass
    yield from _of_words(words)


def _of_words(words: list[str]) -> Iterator[str]:
    """The program of a simple command, or that which it starts."""
    while words and (words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if not words:
        return
    program, options = words[0].rpartition("/")[2], words[1:]
    if program in _STARTERS:
        for index, word in enumerate(options):
            name = word.rpartition("/")[2]
            if name in _SETTING or name in _QUERYING or name in _SHELLS:
                yield from _of_words(options[index:])
                return
    elif program in _SHELLS:
        if len(options) > 1 and options[0].startswith("-") and options[0].endswith("c"):
            yield from _of_shell(options[1])
    elif program in _QUERYING:
        if not any(_QUERYING[program].fullmatch(option) for option in options):
            yield program
    elif program in _SETTING:
        for option in options:
            if _SETTING[program].fullmatch(option):
                yield f"{program} {option.partition('=')[0]}"
                return
