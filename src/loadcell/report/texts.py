"""Texts of a report in the reader's language, from the catalogue (`loadcell.model.catalogue`), and spans of a
sentence: code (`a command`, `a.setting`) and numbers, which each format marks differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from loadcell.analysis.error_codes import error_meaning
from loadcell.model import catalogue, numbers
from loadcell.model.catalogue import LANGUAGES, PLACEHOLDER, UNIT_WORDS, placeholders
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, Message, format_number

#: Chinese characters and Latin letters or digits are separated by a space.
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-z0-9%]")
#: A number that is only known to be exceeded.
_ABOVE = re.compile(r">\d")
#: Parts of Chinese texts that count some of several, and what is written where they are all.
_SOME_OF_ALL = (
    (re.compile(r"\{(?P<of>\w+)\} 次试验中有 \{(?P<count>\w+)\} 次"), r"全部 {\g<of>} 次试验"),
    (
        re.compile(r"其余 \{(?P<of>\w+)\} 项数据中，(?P<subject>.*?)有 \{(?P<count>\w+)\} 项(?=更)"),
        r"其余 {\g<of>} 项数据中，\g<subject>都",
    ),
)
#: Arguments that are sentences of advice; they are not set off.
_SENTENCES = ("advice", "remedy")
#: States of a run.
STATE = Labels("state", ("running", "finished", "interrupted", "failed", "killed", "unknown"))
#: Arguments of a text by name: values, messages, and in records the JSON of messages.
Arguments: TypeAlias = Mapping[str, object]


class Texts:
    """The catalogue in one language for one unit of throughput (`loadcell.plan.workload.declare_unit`).

    Tables and charts have response times in milliseconds or, with `micro`, in microseconds.
    """

    def __init__(self, language: str, unit: str = "transaction", *, micro: bool = False) -> None:
        """Raises ValueError for a language that the catalogue does not have."""
        if language not in LANGUAGES:
            raise ValueError(f"no language {language!r}: there are {', '.join(LANGUAGES)}")
        self.language = language
        self.unit = unit
        self.micro = micro

    def in_unit(self, milliseconds: float) -> float:
        """A response time in the unit of tables and pictures."""
        return milliseconds * 1e3 if self.micro else milliseconds

    def time(self, milliseconds: float) -> str:
        """The same, written."""
        return numbers.significant(self.in_unit(milliseconds))

    def duration(self, milliseconds: float) -> str:
        """A response time with its unit: that of the tables, as far as it can be read in it."""
        return numbers.microseconds(milliseconds * 1e3) if self.micro else numbers.milliseconds(milliseconds)

    def __call__(self, key: str, /, **params: Any) -> str:
        """The text of `key`, its parameters filled in.

        Raises KeyError for an unknown key or a missing parameter.
        """
        return self._fill(catalogue.texts()[key][self.language], params)

    def joined(self, *sentences: str) -> str:
        """Sentences in a row: Chinese has no blank between them."""
        return ("" if self.language == "zh" else " ").join(sentences)

    def message(self, message: Message) -> str:
        """A message as plain text; a recorded one in its own words where the catalogue lacks its code."""
        if message.recorded is None:
            return self(message.code, **message.arguments)
        return self.recorded(message)

    def parts(self, message: Message) -> list[tuple[str, bool]]:
        """A message in pieces, each with whether it is a value to set off."""
        text = catalogue.texts()[message.code][self.language]
        parts, end = [], 0
        for match in PLACEHOLDER.finditer(text):
            written = self._one(match, message.arguments)
            before, after = _blanks(match, written)
            figure = (
                match["one"] is None and not match["by"] and match["name"] not in (*UNIT_WORDS, *_SENTENCES)
            )
            parts += [(text[end : match.start()] + before, False), (written, figure), (after, False)]
            end = match.end()
        return [*parts, (text[end:], False)]

    def or_none(self, key: str) -> str | None:
        """The text of a key; None for an unknown one."""
        entry = catalogue.texts().get(key)
        return None if entry is None else entry[self.language]

    def recorded(self, message: Message | None) -> str:
        """A recorded message in the reader's language; empty for None."""
        if message is None:
            return ""
        text = self._coded(message.code, message.arguments)
        return message.text if text is None else text

    def _coded(self, code: str, args: Arguments) -> str | None:
        """The most precise text of a code whose arguments are all present; None without one."""
        if (text := self._complete(f"{code}.exact", args)) is not None:
            group = None if code.endswith(".advice") else args.get("group")
            return self("mark.in-group", group=group, said=text) if isinstance(group, str) else text
        if (text := self._complete(code, args)) is not None:
            return text
        return self._of_wrapped(code, args) or self._of_load(code, args)

    def _complete(self, code: str, args: Arguments) -> str | None:
        entry = catalogue.texts().get(code)
        if entry is None:
            return None
        params = {name: self._argument(args.get(name)) for name in placeholders(entry[self.language])}
        if not all(isinstance(value, str | int | float | list) for value in params.values()):
            return None
        return self._fill(entry[self.language], params)

    def _argument(self, value: object) -> object:
        """An argument; a message, also a recorded one, as its text."""
        if isinstance(value, Message):
            return self.message(value)
        if not isinstance(value, dict):
            return value
        text = self._coded(str(value.get("code")), _arguments(value))
        return value.get("finding") if text is None else text

    def _of_wrapped(self, code: str, args: Arguments) -> str | None:
        """The advice of the message that this one wraps as `why`."""
        why = args.get("why")
        if not code.endswith(".advice") or not isinstance(why, dict):
            return None
        return self._coded(f"{why.get('code')}.advice", _arguments(why))

    def _of_load(self, code: str, args: Arguments) -> str | None:
        """The text of a load's failure with a code of its server: the code's meaning and its text."""
        kind, _, error = code.partition(".")
        if kind != "load":
            return None
        if error == "other.advice":
            return None
        if error.endswith(".advice"):
            return self._coded("load.other.advice", args)
        meaning = self.value("meaning", error_meaning(error, ""))
        return self._coded("load.other", {**args, "meaning": meaning}) if meaning else None

    def value(self, name: str, value: Any, *, enumerated: bool = False) -> str:
        """An argument as text; a list with "and" before its last item if it is `enumerated` in a sentence."""
        if isinstance(value, str):
            return value
        if isinstance(value, Message):
            text = self.message(value)
            return text if value.recorded is None else text.rstrip(".。")
        if isinstance(value, list | tuple):
            items = [self.value(name, item) for item in value]
            if any(isinstance(item, Message) and _has_list(item) for item in value):
                return self("mark.semicolon").join(items)
            if enumerated and len(items) > 1 and items[-1] != "…":
                return self("mark.list.and", before=self("mark.list").join(items[:-1]), last=items[-1])
            return self("mark.list").join(items)
        if name.endswith("_ms"):
            return self.duration(value)
        return format_number(name, value)

    def _fill(self, text: str, params: Arguments) -> str:
        def written(match: re.Match[str]) -> str:
            value = self._one(match, params)
            return value.join(_blanks(match, value))

        return PLACEHOLDER.sub(written, _with_all(text, params))

    def _one(self, match: re.Match[str], params: Arguments) -> str:
        if match["name"] in UNIT_WORDS:
            return self._word(match["name"])
        value = params[match["name"]]
        if match["by"]:
            return self._word("unit" if value == 1 else "units")
        if match["one"] is not None:
            return match["one"] if value in (1, "1") else match["many"]
        written = self.value(match["name"], value, enumerated=catalogue.is_enumerated(match))
        is_bound = self.language == "zh" and _ABOVE.match(written)
        return f"超过 {written[1:]}" if is_bound else written

    def _word(self, name: str) -> str:
        """The word for the unit of throughput or of response times."""
        if name == "time_unit":
            return self("time-unit.microseconds" if self.micro else "time-unit.milliseconds")
        word = catalogue.texts()[f"unit.{self.unit}{UNIT_WORDS[name]}"][self.language]
        return word[0].upper() + word[1:] if name[0].isupper() else word


def _with_all(text: str, params: Arguments) -> str:
    """A text without "6 of 6", which no Chinese sentence has."""

    def is_all(match: re.Match[str]) -> bool:
        count = params.get(match["count"])
        return count == params.get(match["of"]) and count != 1

    for some, everything in _SOME_OF_ALL:
        match = some.search(text)
        if match is not None and is_all(match):
            text = match.expand(everything).join((text[: match.start()], text[match.end() :]))
    return text


def _has_list(message: Message) -> bool:
    """True if an argument is a list itself, so that commas do not separate such messages."""
    return any(isinstance(value, list | tuple) for value in message.arguments.values())


def _arguments(reason: JsonObject) -> Arguments:
    """The arguments of a recorded message; empty where the record is malformed."""
    args = reason.get("args")
    return args if isinstance(args, dict) else {}


def _blanks(match: re.Match[str], written: str) -> tuple[str, str]:
    """The spaces missing before and after a placeholder's value, between Chinese and Latin characters."""
    text = match.string
    before, after = text[max(match.start() - 1, 0) : match.start()], text[match.end() : match.end() + 1]
    return (
        " " if _HAN.match(before) and _LATIN.match(written[:1]) else "",
        " " if _HAN.match(after) and _LATIN.match(written[-1:]) else "",
    )


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
    """A sentence split into spans; text alone is one span without numbers.

    Sentences are the catalogue's; what stands in the places of their parameters may be from outside. So that
    a backtick in there pairs with none of the sentence's own, the two are looked through apart.
    """
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
