"""Every text a report shows, from one catalogue, in the reader's language.

The catalogue is `texts.toml` and, beside it, `texts-*.toml`. It holds each text in every language under one key. A placeholder is `{name}`; `{name|one|many}` puts the
first form where the number is 1, else the second. What throughput counts is `{unit}`, `{units}` or, by a number,
`{count:units}`; `{time_unit}` is that of response times in tables and pictures; `{Units}` begins a heading, `{unit_short}` is for where there is little room. The name of a parameter says its unit, and so how it is written:
`p99_ms`, `throughput_per_s`, `spread_share`, `low_change`, `duration_s`, `size_bytes`, `factor_times`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from loadcell import reasons
from loadcell.analysis.phrase import FigureName, Meaning, Phrase, Recorded
from loadcell.model import numbers
from loadcell.reasons import Reason
from loadcell.report import figures

LANGUAGES = ("en", "zh")

_PLACEHOLDER = re.compile(r"\{(?P<name>\w+)(?:\|(?P<one>[^|{}]*)\|(?P<many>[^|{}]*)|(?P<by>:units))?\}")
#: Between Chinese characters and what is written in Latin letters or figures stands a blank.
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-z0-9]")
#: Placeholders that are not parameters: the words for what throughput counts -> the key's ending.
_WORDS = {"unit": "", "units": ".many", "Units": ".many", "unit_short": ".short", "time_unit": ""}
#: Parameters that say what to do, whole sentences of them: to set these off would be to shout.
_SENTENCES = ("advice", "remedy")
_UNITS: dict[str, Callable[[float], str]] = {
    "_per_s": numbers.rate,
    "_us": numbers.microseconds,
    "_share": numbers.share,
    "change": numbers.change,
    "_bytes": numbers.size,
    "_times": numbers.significant,
    "_s": numbers.seconds,
}


@cache
def catalogue() -> Mapping[str, Mapping[str, str]]:
    """Key -> language -> text."""
    found: dict[str, Mapping[str, str]] = {}

    for file in sorted(files(__package__).iterdir(), key=lambda one: one.name):
        if file.name.startswith("texts") and file.name.endswith(".toml"):
            found |= reasons.flattened(tomllib.loads(file.read_text(encoding="utf-8")))
    found |= {f"reason.{code}": texts for code, texts in reasons.texts().items()}
    return found


def placeholders(text: str) -> frozenset[str]:
    """The names of the parameters a text takes."""
    return frozenset(match["name"] for match in _PLACEHOLDER.finditer(text) if match["name"] not in _WORDS)


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
        return self._fill(catalogue()[key][self.language], params)

    def say(self, phrase: Phrase) -> str:
        """A phrase of the analysis as plain text."""
        return self(phrase.key, **phrase.params)

    def parts(self, phrase: Phrase) -> list[tuple[str, bool]]:
        """A phrase in stretches, and whether each is a figure."""
        text = catalogue()[phrase.key][self.language]
        parts, end = [], 0
        for match in _PLACEHOLDER.finditer(text):
            written = self._one(match, phrase.params)
            before, after = _blanks(match, written)
            figure = match["one"] is None and not match["by"] and match["name"] not in (*_WORDS, *_SENTENCES)
            parts += [(text[end : match.start()] + before, False), (written, figure), (after, False)]
            end = match.end()
        return [*parts, (text[end:], False)]

    def or_none(self, key: str) -> str | None:
        """The text of a key that need not be there."""
        entry = catalogue().get(key)
        return None if entry is None else entry[self.language]

    def recorded(self, sentence: Recorded | None) -> str:
        """A sentence of a record in the reader's language; empty where there is none."""
        if sentence is None:
            return ""
        said = self._coded(sentence.code, sentence.args)
        return sentence.recorded if said is None else said

    def reason(self, reason: Reason) -> str:
        """A reason that was found just now, in the reader's language."""
        return self.recorded(Recorded(reason.code or "", reason.arguments, reason.finding))

    def _coded(self, code: str, args: Mapping[str, Any]) -> str | None:
        """A reason's sentence by its code: the most exact one whose arguments are there; None where there is none."""
        if (said := self._complete(f"{code}.exact", args)) is not None:
            group = None if code.endswith(".advice") else args.get("group")
            return self("mark.in-group", group=group, said=said) if isinstance(group, str) else said
        if (said := self._complete(code, args)) is not None:
            return said
        return self._of_wrapped(code, args) or self._of_load(code, args)

    def _complete(self, code: str, args: Mapping[str, Any]) -> str | None:
        entry = catalogue().get(f"reason.{code}")
        if entry is None:
            return None
        params: dict[str, Any] = {}
        for name in placeholders(entry[self.language]):
            value = args.get(name)
            params[name] = self._reason(value) if isinstance(value, Mapping) else value
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
        meaning = self.value("meaning", Meaning(own, ""))
        return self._coded("load.other", {**args, "meaning": meaning}) if meaning else None

    def value(self, name: str, value: Any) -> str:
        """A parameter as it is written in a sentence."""
        if isinstance(value, str):
            return value
        if isinstance(value, Phrase):
            return self.say(value)
        if isinstance(value, Meaning):
            kind = (
                value.code[:6] if value.code.startswith("http-") else value.code[: 2 * (len(value.code) == 5)]
            )
            return (
                self.or_none(f"code.{value.code}")
                or (self.or_none(f"code.class-{kind}") if kind else None)
                or value.recorded
            )
        if isinstance(value, FigureName):
            return figures.name(value.name, self)
        if isinstance(value, Recorded):
            return self.recorded(value).rstrip(".。")
        if isinstance(value, list | tuple):
            return self("mark.list").join(self.value(name, item) for item in value)
        if name.endswith("_ms"):
            return self.duration(value)
        for suffix, write in _UNITS.items():
            if name.endswith(suffix):
                return write(value)
        return numbers.whole(value) if isinstance(value, int) else numbers.significant(value)

    def _fill(self, text: str, params: Mapping[str, Any]) -> str:
        def written(match: re.Match[str]) -> str:
            found = self._one(match, params)
            return found.join(_blanks(match, found))

        return _PLACEHOLDER.sub(written, text)

    def _one(self, match: re.Match[str], params: Mapping[str, Any]) -> str:
        if match["name"] in _WORDS:
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
        said = catalogue()[f"unit.{self.unit}{_WORDS[name]}"][self.language]
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
