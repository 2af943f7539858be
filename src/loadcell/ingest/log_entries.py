"""Parts of a log entry: its level, its thread or job, and its message without the values in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from loadcell.ingest.log_requests import request_of
from loadcell.ingest.log_times import Stamps, read_text
from loadcell.ingest.printed_numbers import digits
from loadcell.model.application_log import LogLevel
from loadcell.model.json import JsonObject

#: Characters of a line that are examined; what is longer carries data.
EXAMINED: Final = 2_000
#: Characters of a message, and of the name of a thread.
_LONGEST_MESSAGE: Final = 200
_LONGEST_NAME: Final = 80
#: Forms of lines whose parts are retained; a log has few, unless its messages are texts of users.
_MOST_FORMS: Final = 20_000
#: Bytes of them: messages may be long.
_MOST_FORM_BYTES: Final = 8 * 2**20
#: Lengths of heads that are compared.
_MOST_LENGTHS: Final = 8

_ERRORS: Final = frozenset({
    "error", "err", "severe", "fatal", "critical", "crit", "alert", "emerg", "emergency", "panic", "dpanic",
    "e", "f", "错误", "严重", "致命",
})  # fmt: skip
_WARNINGS: Final = frozenset({"warn", "warning", "w", "警告"})
_OTHERS: Final = frozenset({
    "trace", "debug", "debug1", "verbose", "info", "information", "informational", "notice", "note", "log",
    "config", "fine", "finer", "finest", "statement", "detail", "hint", "system", "i", "d", "v", "t",
    "信息", "调试",
})  # fmt: skip
_LONG: Final = sorted(
    (word for word in _ERRORS | _WARNINGS | _OTHERS if len(word) > 2), key=len, reverse=True
)
#: Chinese levels: in brackets, or right behind the stamp; elsewhere they are words of a message.
_CHINESE: Final = "|".join(sorted(word for word in _ERRORS | _WARNINGS | _OTHERS if not word.isascii()))
_WORDS: Final = "|".join(_LONG)
#: A level in the head of a line: in capitals, or in brackets, or before a colon.
_LEVEL: Final = re.compile(
    rf"\b({_WORDS.upper()})\b|[\[<(【](?:[a-z_]+:)?({_WORDS}|{_CHINESE})\d?[\])>】]|\b({_WORDS})\b(?=:? )"
    rf"|\b(?:level|lvl|severity)[=:]\"?(\w+)|(?<![\w.])({_WORDS.title()})\b(?=[:\]|])",
)
#: A level right behind the stamp, in any spelling, or as a letter; perhaps behind numbers of a process.
_FIRST: Final = re.compile(
    rf"[\s,|\]\-\d]*(?:(?P<letter>[EWIDFV])(?=[\s/|])|(?P<word>(?i:{_WORDS})|{_CHINESE})(?=[\s:：\]|,]|$))"
)
#: Levels stand before the message: later words of the same spelling are part of it.
_LEVEL_WITHIN: Final = 60
_THREADS: Final = (
    # Spring Boot: 1234 --- [app] [thread]
    re.compile(r"\d+ --- (?:\[[^\]]{1,80}\] (?=\[))?\[ *(?P<thread>[^\]]{1,80})\]"),
    # nginx: 1234#5678, with the number of a connection
    re.compile(r"(?<![\w.])(?P<thread>\d{1,7}#\d{1,10}):"),
    # Apache
    re.compile(r"\[(?P<thread>pid \d{1,9}(?::tid \d{1,20})?)\]"),
    re.compile(r"(?<![\w.])(?:thread|threadName|tid|job|worker)[=:] ?\"?(?P<thread>[\w.#@:/-]{1,80})"),
)
#: A thread in brackets or parentheses behind the stamp, before or behind the level.
_BRACKETED: Final = re.compile(
    r"[\s|:\-]*(?:[\[(<]?(?:\w+:)?(?P<level>[A-Za-z]{1,13})[\])>]?[\s|:\-]+)?"
    r"[\[(](?P<thread>(?:[A-Za-z0-9](?:[\w.#@:/+$= -]|\[[\w=.-]{0,40}\]){0,79}))[\])]"
)
#: MySQL, klog, HDFS, Android, TDengine: the number of a process or thread.
_NUMBERED: Final = re.compile(
    r"\s+(?P<thread>\d{1,10}(?:\s+\d{1,10})?)"
    rf"(?= \[| [\w./-]+:\d+\]|\s+(?:[EWIDFV]\s|[A-Z]{{3}}\s|(?:{_WORDS.upper()})\b))"
)
#: Names in brackets that are none of a thread: `MSGID: 17`, `file.c:123`, `org.foo.Bar`.
_PLACE: Final = re.compile(r": |\.\w{1,4}:\d|^\w+(?:\.[\w$]+){2,}\s*$")
#: syslog: host, program and its process
_PROGRAM: Final = re.compile(
    r" (?P<host>[\w.:-]{1,80}) (?P<thread>[\w./()@-]{1,60}(?:\[\d{1,10}\])?):(?= |$)"
)
_PRIORITY: Final = re.compile(r"<(\d{1,3})>(?:1 )?")
#: In front of the stamp: a container (`docker compose logs`), or a pod (`kubectl logs --prefix`).
_CONTAINER: Final = re.compile(r"(?P<bar>[\w.-]{1,80}) *\| *$|\[(?P<bracket>[\w./-]{1,160})\] *$")
_DAMAGE: Final = re.compile(r"\bpanic:|\bFATAL\b|\bSegmentation fault\b")

#: The message of a line of fields (logfmt).
_LOGGED: Final = re.compile(r"(?<!\S)(?:msg|message)=(?:\"(?P<text>(?:[^\"\\]|\\.){1,1000})\"|(?P<word>\S+))")
#: Brackets whose contents are the stamp, the level or the thread.
_EMPTY: Final = re.compile(r"[\[(<\"][\s:]*[\])>\"]")

#: Values in messages; a mark stands for each.
_VALUES: Final = re.compile(
    r"(?=[0-9A-Fa-f\"'@+-])(?:(?:\b|(?<=_))(?:"
    r"(?P<uuid>[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)"
    r"|(?P<time>\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d)?(?:[.,]\d+)?(?:Z\b|[+-]\d\d:?\d\d)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?)"
    r"|(?P<addr>\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b|(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}\b)"
    r"|(?P<hex>0x[0-9a-fA-F]+(?![0-9A-Za-z])"
    r"|(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{6,128}(?![0-9A-Za-z])))"
    r"|(?P<str>\"[^\"]{0,400}\"|(?<!\w)'[^']{0,400}'(?!\w))"
    r"|(?P<id>@[0-9a-f]{4,16}\b)"
    r"|(?P<n>(?:(?<=[\s=:(,])[-+])?\d+(?:[.,]\d+)*))",
    re.ASCII,
)
_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")
#: Identifiers in a text with all digits alike, as in `_VALUES`; a set of characters at the begin makes
#: the search fast.
_IDENTIFIERS: Final = re.compile(
    rb"[0a-fA-F](?<![0-9A-Za-z].)(?:[0a-fA-F]{7}-[0a-fA-F]{4}-[0a-fA-F]{4}-[0a-fA-F]{4}-[0a-fA-F]{12}"
    rb"|(?=[a-fA-F]*0|(?<=0))(?=0*[a-fA-F]|(?<=[a-fA-F]))[0a-fA-F]{5,127})(?![0-9A-Za-z])",
    re.DOTALL,
)


@dataclass(slots=True)
class Entry:
    """Parts of an entry."""

    instant_ns: int
    level: LogLevel
    thread: str
    message: str


@dataclass(frozen=True, slots=True)
class Form:
    """Parts of all lines that differ in digits alone: the thread by its place behind the stamp."""

    level: LogLevel
    message: str
    thread_begin: int = 0
    thread_end: int = 0
    host: str = ""
    #: lines of the same form may have another level, or another status of a request
    varies: bool = False


def level_of(word: str) -> LogLevel | None:
    """The level of a word or number, as pino and syslog print it; None of another."""
    word = word.strip().lower()
    if word in _ERRORS:
        return "error"
    if word in _WARNINGS:
        return "warning"
    if word in _OTHERS:
        return "other"
    if word.isdecimal() and len(word) <= 3:
        number = digits(word)
        if number >= 10:  # pino, bunyan: 40 warns
            return "error" if number >= 50 else "warning" if number >= 40 else "other"
        return "error" if number <= 3 else "warning" if number == 4 else "other"
    return None


def without_values(text: str) -> str:
    """A message with a mark in place of each value: numbers, addresses, identifiers, quotations."""
    masked = _VALUES.sub(lambda match: f"<{match.lastgroup}>", text[:EXAMINED])
    masked = " ".join(masked.split()).lstrip(" -:|,;])").rstrip(" -:|,;[(")
    return masked[:_LONGEST_MESSAGE].rstrip()


def _with_identifiers_alike(key: bytes) -> bytes:
    """The same with all identifiers alike; its length is that of the key."""
    return _IDENTIFIERS.sub(lambda match: b"x" * (match.end() - match.start()), key)


#: Messages without their values, by the text with all digits and identifiers alike.
_MASKED: dict[bytes, str] = {}
#: Longer texts are rarely alike.
_LONGEST_MASKED: Final = 400


def masked(text: str) -> str:
    """The same; texts that differ in digits alone are examined once."""
    if len(text) > _LONGEST_MASKED:
        return without_values(text)
    key = text.encode("utf-8", "surrogatepass").translate(_ALIKE)
    message = _MASKED.get(key)
    if message is None:
        key = _with_identifiers_alike(key)
        message = _MASKED.get(key)
    if message is None:
        if len(_MASKED) >= _MOST_FORMS:
            _MASKED.clear()
        message = _MASKED[key] = without_values(text)
    return message


@dataclass(frozen=True, slots=True)
class _Head:
    """Parts of a line in front of its message: their places in the line, relative to the end of its stamp."""

    level: LogLevel
    thread_begin: int
    thread_end: int
    host: str
    removed: tuple[tuple[int, int], ...]
    has_numeric_level: bool


class Forms:
    """Forms of the lines of one log; lines that differ in digits alone are examined once."""

    def __init__(self, stamp: str) -> None:
        self._stamp = stamp
        self._forms: dict[bytes, Form] = {}
        self._heads: dict[bytes, _Head] = {}
        self._lengths: list[int] = []
        self._bytes = 0

    def take(self, line: str, instant_ns: int, begin: int, end: int) -> Entry:
        """The entry of a line whose stamp is at this place."""
        behind = line[end : end + EXAMINED]
        is_access = self._stamp == "clf"
        form = (
            self._form(line, behind, begin, end, b"")
            if is_access
            else self._form_of(line, behind, begin, end)
        )
        thread = behind[form.thread_begin : form.thread_end].strip() if form.thread_end else ""
        if begin and (container := _CONTAINER.match(line, 0, begin)) is not None:
            thread = f"{container['bar'] or container['bracket']}{'/' if thread else ''}{thread}"
        return Entry(instant_ns, form.level, form.host + thread if thread else "", form.message)

    def _form_of(self, line: str, behind: str, begin: int, end: int) -> Form:
        """The form of a line, which is examined unless one like it was."""
        key = behind.encode("utf-8", "surrogatepass").translate(_ALIKE)
        if self._stamp == "klog":  # its letter is part of the stamp
            key += b"\0" + line[:1].encode("utf-8", "surrogatepass")
        elif begin:
            key += b"\0" + line[:begin].encode("utf-8", "surrogatepass").translate(_ALIKE)
        form = self._forms.get(key)
        if form is None:
            alike = _with_identifiers_alike(key)
            form = self._forms.get(alike)
        if form is None:
            form = self._form(line, behind, begin, end, key)
            if line[0] != "<" and not form.varies:
                self._bytes += len(key)
                if len(self._forms) >= _MOST_FORMS or self._bytes > _MOST_FORM_BYTES:
                    self._forms.clear()
                    self._bytes = len(key)
                self._forms[alike] = form
        return form

    def _form(self, line: str, behind: str, begin: int, end: int, key: bytes) -> Form:
        if self._stamp == "clf":
            request = request_of(behind, is_access=True)
            if request is None:
                return Form("other", without_values(f"{line[:begin]}{behind}"), varies=True)
            return Form("error" if request.is_error else "other", request.message, varies=True)
        head = self._head(line, behind, begin, end, key)
        pieces, at = [], -end
        for part_begin, part_end in head.removed:
            if part_begin > at:
                pieces.append(line[end + at : end + part_begin])
            at = max(at, part_end)
        pieces.append(behind[at:])
        text = "".join(pieces)
        if ("msg=" in text or "message=" in text) and (logged := _LOGGED.search(text)) is not None:
            text = logged["text"] or logged["word"]
        message = without_values(_EMPTY.sub(" ", text))
        varies, level = head.has_numeric_level, head.level
        if " HTTP/" in behind and (request := request_of(behind, is_access=False)) is not None:
            message, varies = request.message, True
            level = "error" if request.is_error else level
        return Form(level, message, head.thread_begin, head.thread_end, head.host, varies)

    def _head(self, line: str, behind: str, begin: int, end: int, key: bytes) -> _Head:
        """The head of a line; one with level and thread is examined once, and compared at its length."""
        before = (
            b""
            if not begin and self._stamp != "klog"
            else key[len(behind.encode("utf-8", "surrogatepass")) :]
        )
        for length in self._lengths:
            head = self._heads.get(key[:length] + before)
            if head is not None:
                return head
        level, level_begin, level_end = self._level(line, begin, end)
        thread = self._thread(line, end)
        parts = {(begin, end), *({(level_begin, level_end)} if level_end else ())}
        host = ""
        thread_begin = thread_end = end
        if thread is not None:
            thread_begin, thread_end = thread.span("thread")
            host = f"{thread['host']}/" if "host" in thread.re.groupindex else ""
            parts.add(thread.span() if host or thread.re is _NUMBERED else (thread_begin, thread_end))
        removed = tuple((part_begin - end, part_end - end) for part_begin, part_end in sorted(parts))
        is_numeric = line[level_begin:level_end].isdecimal()
        head = _Head(level or "other", thread_begin - end, thread_end - end, host, removed, is_numeric)
        # with the delimiter behind it: names and levels may begin alike
        length = max(level_end, thread_end) - end + 1
        is_certain = (
            level_end
            and not is_numeric
            and thread is not None
            and thread.re is _BRACKETED
            and behind[:length].isascii()
        )
        if is_certain:
            self._retain(key[:length] + before, length, head)
        return head

    def _retain(self, key: bytes, length: int, head: _Head) -> None:
        if length not in self._lengths:
            self._lengths = [length, *self._lengths][:_MOST_LENGTHS]
        if len(self._heads) >= _MOST_FORMS:
            self._heads.clear()
        self._heads[key] = head

    def _level(self, line: str, begin: int, end: int) -> tuple[LogLevel | None, int, int]:
        if self._stamp == "klog":
            return level_of(line[:1]), 0, 1
        if (match := _PRIORITY.match(line)) is not None:
            return level_of(str(digits(match[1]) % 8)), *match.span()
        if (match := _FIRST.match(line, end)) is not None:
            name = "letter" if match["letter"] else "word"
            return level_of(match[name]), *match.span(name)
        for match in (
            _LEVEL.search(line, end, end + _LEVEL_WITHIN + _LONGEST_NAME),
            _LEVEL.search(line, 0, begin),
        ):
            if match is not None:
                index = match.lastindex or 0
                level = level_of(match[index])
                if level is not None:
                    return level, *match.span(index)
        if _DAMAGE.search(line, end) is not None:
            return "error", 0, 0
        return None, 0, 0

    def _thread(self, line: str, end: int) -> re.Match[str] | None:
        match = _PROGRAM.match(line, end) if self._stamp in ("syslog", "iso") else None
        if match is not None and level_of(match["host"]) is None:
            return match
        for pattern in _THREADS:
            if (match := pattern.search(line, end, end + 300)) is not None:
                return match
        at = end + 1 if line[end : end + 1] in ("]", ")", "|", ">") else end
        for _ in range(3):
            match = _BRACKETED.match(line, at)
            if match is None:
                break
            level = match["level"]
            if level is not None and level_of(level) is None and not level.isupper():
                break  # a word; capitals are a zone
            name = match["thread"]
            is_name = name.isdecimal() or level_of(name.rpartition(":")[2]) is None
            if is_name and _PLACE.search(name) is None:
                return match
            at = match.end()
        return _NUMBERED.match(line, end)


#: Names of fields in JSON lines, the usual ones first.
_TIMES: Final = ("@timestamp", "timestamp", "time", "ts", "datetime", "date", "t", "eventTime", "asctime")
_LEVELS: Final = ("level", "severity", "lvl", "log.level", "levelname", "loglevel", "level_name", "s")
_THREAD_FIELDS: Final = ("thread", "thread_name", "threadName", "thread.name", "process.thread.name", "job",
    "worker", "goroutine", "tid", "pid")  # fmt: skip
_TEXTS: Final = ("msg", "message", "event", "error", "log")
_LOGGERS: Final = ("logger", "logger_name", "log.logger", "name", "component", "c")


def json_entry(line: str, stamps: Stamps, redact: Callable[[str], str] | None = None) -> Entry | None:
    """The parts of a JSON line, redacted before they are masked; None where it is none, or has no time."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    instant_ns = _json_instant(_first(document, _TIMES), stamps)
    if instant_ns is None:
        return None
    level = level_of(str(_first(document, _LEVELS) or ""))
    if (
        level is None
        and (match := _LEVEL.search(str(_first(document, _TEXTS)), 0, _LEVEL_WITHIN)) is not None
    ):
        level = level_of(match[match.lastindex or 0])
    thread = str(_first(document, _THREAD_FIELDS) or "")
    logger, text = _first(document, _LOGGERS), _first(document, _TEXTS)
    words = f"{logger} - {text}" if isinstance(logger, str) else str(text if text is not None else "")
    if redact is not None:
        return Entry(
            instant_ns, level or "other", redact(thread)[:_LONGEST_NAME], without_values(redact(words))
        )
    return Entry(instant_ns, level or "other", thread[:_LONGEST_NAME], masked(words))


def _first(document: JsonObject, names: tuple[str, ...]) -> object:
    for name in names:
        value = document.get(name)
        if isinstance(value, dict) and isinstance(value.get("$date"), str):
            value = value["$date"]  # MongoDB
        if value is None and "." in name:
            value = document
            for part in name.split("."):
                value = value.get(part) if isinstance(value, dict) else None
        if value is not None and not isinstance(value, dict | list):
            return value
    return None


def _json_instant(value: Any, stamps: Stamps) -> int | None:
    if isinstance(value, str):
        return read_text(value, stamps)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 4e18:
        return None
    for unit_ns in (10**9, 10**6, 10**3, 1):
        if 10**18 <= value * unit_ns < 4 * 10**18:
            return round(value * unit_ns)
    return None
