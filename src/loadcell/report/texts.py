"""Texts of a report in the reader's language, from the catalogue (`loadcell.model.catalogue`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from loadcell.analysis.failure_reasons import error_meaning
from loadcell.model import catalogue, numbers
from loadcell.model.catalogue import LANGUAGES, PLACEHOLDER, UNIT_WORDS, placeholders
from loadcell.model.message import Message, format_number

#: Between Chinese characters and what is written in Latin letters or figures stands a blank.
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-z0-9]")
#: Parameters that say what to do, whole sentences of them: to set these off would be to shout.
_SENTENCES = ("advice", "remedy")


class Texts:
    """The catalogue in one language, speaking of one kind of work: `unit` is one of `loadcell.analysis.unit.UNITS`.

    Response times stand in tables and pictures in milliseconds or, where `micro` says so, in microseconds.
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

    def __call__(self, key: str, **params: Any) -> str:
        """The text of `key`, its parameters filled in. Raises KeyError for an unknown key or a missing parameter."""
        return self._fill(catalogue.texts()[key][self.language], params)

    def message(self, message: Message) -> str:
        """A message as plain text; a recorded one in its own words where the catalogue lacks its code."""
        if message.recorded is None:
            return self(message.code, **message.arguments)
        return self.recorded(message)

    def parts(self, message: Message) -> list[tuple[str, bool]]:
        """A phrase in stretches, and whether each is a figure."""
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
        """The text of a key that need not be there."""
        entry = catalogue.texts().get(key)
        return None if entry is None else entry[self.language]

    def recorded(self, message: Message | None) -> str:
        """A sentence of a record in the reader's language; empty where there is none."""
        if message is None:
            return ""
        said = self._coded(message.code, message.arguments)
        return message.text if said is None else said

    def _coded(self, code: str, args: Mapping[str, Any]) -> str | None:
        """A reason's sentence by its code: the most exact one whose arguments are there; None where there is none."""
        if (said := self._complete(f"{code}.exact", args)) is not None:
            group = None if code.endswith(".advice") else args.get("group")
            return self("mark.in-group", group=group, said=said) if isinstance(group, str) else said
        if (said := self._complete(code, args)) is not None:
            return said
        return self._of_wrapped(code, args) or self._of_load(code, args)

    def _complete(self, code: str, args: Mapping[str, Any]) -> str | None:
        entry = catalogue.texts().get(code)
        if entry is None:
            return None
        params: dict[str, Any] = {}
        for name in placeholders(entry[self.language]):
            value = args.get(name)
            params[name] = self._reason(value) if isinstance(value, Mapping) else value
            if isinstance(value, Message):
                params[name] = self.message(value)
            if not isinstance(params[name], str | int | float | list):
                return None
        return self._fill(entry[self.language], params)

    def _reason(self, value: Mapping[str, Any]) -> str | None:
        """A reason within a reason's sentence."""
        said = self._coded(str(value.get("code")), _arguments(value))
        return value.get("finding") if said is None else said

    def _of_wrapped(self, code: str, args: Mapping[str, Any]) -> str | None:
        """What to do about a reason that only stands round another: what that one says."""
        why = args.get("why")
        if not code.endswith(".advice") or not isinstance(why, Mapping):
            return None
        return self._coded(f"{why.get('code')}.advice", _arguments(why))

    def _of_load(self, code: str, args: Mapping[str, Any]) -> str | None:
        """What stopped a load, by a code that only its server has: what that means, and the words that came with it."""
        kind, _, own = code.partition(".")
        if kind != "load":
            return None
        if own.endswith(".advice"):
            return self._coded("load.other.advice", args)
        meaning = self.value("meaning", error_meaning(own, ""))
        return self._coded("load.other", {**args, "meaning": meaning}) if meaning else None

    def value(self, name: str, value: Any) -> str:
        """A parameter as it is written in a sentence."""
        if isinstance(value, str):
            return value
        if isinstance(value, Message):
            text = self.message(value)
            return text if value.recorded is None else text.rstrip(".。")
        if isinstance(value, list | tuple):
            return self("mark.list").join(self.value(name, item) for item in value)
        if name.endswith("_ms"):
            return self.duration(value)
        return format_number(name, value)

    def _fill(self, text: str, params: Mapping[str, Any]) -> str:
        def written(match: re.Match[str]) -> str:
            found = self._one(match, params)
            return found.join(_blanks(match, found))

        return PLACEHOLDER.sub(written, text)

    def _one(self, match: re.Match[str], params: Mapping[str, Any]) -> str:
        if match["name"] in UNIT_WORDS:
            return self._word(match["name"])
        value = params[match["name"]]
        if match["by"]:
            return self._word("unit" if value == 1 else "units")
        if match["one"] is not None:
            return match["one"] if value in (1, "1") else match["many"]
        return self.value(match["name"], value)

    def _word(self, name: str) -> str:
        """What throughput counts, as this placeholder has it, or the unit of response times."""
        if name == "time_unit":
            return self("time-unit.microseconds" if self.micro else "time-unit.milliseconds")
        said = catalogue.texts()[f"unit.{self.unit}{UNIT_WORDS[name]}"][self.language]
        return said[0].upper() + said[1:] if name[0].isupper() else said


def _arguments(reason: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those of a reason in a record, which may have been written by anybody."""
    args = reason.get("args")
    return args if isinstance(args, Mapping) else {}


def _blanks(match: re.Match[str], written: str) -> tuple[str, str]:
    """The blanks that are missing before and behind what stands in a placeholder's place."""
    text = match.string
    before, after = text[max(match.start() - 1, 0) : match.start()], text[match.end() : match.end() + 1]
    return (
        " " if _HAN.match(before) and _LATIN.match(written[:1]) else "",
        " " if _HAN.match(after) and _LATIN.match(written[-1:]) else "",
    )
