"""Why something could not be done, and what to do about it: a code with its arguments, and one sentence of each in the catalogue.

The sentences are in the `*.toml` beside this module: under a code why, in every language, and under its `advice` what to do. A
placeholder is `{name}`; the name of an argument says its unit (`limit_s`, `free_bytes`). Numbers are counted things: what only
names something (a process, a status) is text. The English ones are what a trial's
record and output.log hold; a report says the code again in its reader's language (`loadcell.report.texts`).
Standard library only: the worker raises such errors, too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Union

#: Numbers with their unit in the name, names, paths, what an outside program said, or a reason of its own.
Argument = Union[str, int, float, Sequence[str], "Reason"]

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Reason:
    """One reason. `words` is it, and what to do, in words of one's own: of who has no code, or more to say than its code."""

    code: str | None
    args: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, str] | None = None

    @property
    def finding(self) -> str:
        """What was found, in English."""
        return self.words[0] if self.words else _filled(texts()[str(self.code)]["en"], self.args)

    @property
    def advice(self) -> str:
        """What to do about it, in English: where the code says nothing of it, what to do about the reason that is its `why`."""
        if self.words:
            return self.words[1]
        entry, why = texts().get(f"{self.code}.advice"), self.args.get("why")
        if entry is None:
            return why.advice if isinstance(why, Reason) else ""
        return _filled(entry["en"], self.args)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as plain JSON."""
        return {name: _plain(value) for name, value in self.args.items()}

    def document(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"code": self.code, "args": self.arguments, "finding": self.finding, "advice": self.advice}


def because(code: str, /, **args: Any) -> Reason:
    """The reason with this code; what is no number, text, list or reason (a path, a name that is a number) is taken as written."""
    return Reason(code, {name: _argument(value) for name, value in args.items()})


def in_words(finding: str, advice: str = "") -> Reason:
    """A reason that has no code."""
    return Reason(None, {}, (finding, advice))


def of_load(code: str, finding: str, advice: str) -> Reason:
    """What stopped a load, by a code of who made it (the engine's own, or a server's), who says it in English words alone: what it was
    doing and what helps are in those of the catalogue, where they are among its `engine` and `remedy`."""
    words = finding, advice
    args: dict[str, Any] = dict(zip(("finding", "advice"), words, strict=True))
    if (doing := _of_engine(finding)) is not None:
        args["finding"] = doing
    if (remedy := _remedies().get(advice)) is not None:
        args["remedy"] = because(remedy)
    return Reason(f"load.{code}", args, words)


def remedy_of(protocol: str, code: str) -> str | None:
    """The code of what to do about a failure of this code: on this machine, in what the engine speaks, or in any."""
    known = (f"{SHORT_OF}{code}", f"remedy.{protocol}.{code}", f"remedy.{code}")
    return next((one for one in known if one in texts()), None)


def _of_engine(finding: str) -> Reason | None:
    """What the engine says it could not do, by its words."""
    for code, pattern in _doings().items():
        if (found := pattern.fullmatch(finding)) is not None:
            return because(code, **found.groupdict())
    return None


@cache
def _doings() -> Mapping[str, re.Pattern[str]]:
    """Code -> the English words of the engine with this code. A name ends at the first colon and blank."""
    found = {}
    for code, said in texts().items():
        if code.startswith("engine."):
            words = re.escape(said["en"]).replace(r"\{said\}", "(?P<said>.*)")
            found[code] = re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.*?)", words), re.DOTALL)
    return found


@cache
def _remedies() -> Mapping[str, str]:
    """What the engine says in English that is to be done -> a code that says the same in every language."""
    return {said["en"]: code for code, said in texts().items() if code.startswith("remedy.")}


#: Before the code of an error that this machine is to blame for: what to do about it.
SHORT_OF = "short-of."

#: In the place of a program's own words, where it has said none.
NOTHING_SAID = because("nothing-said")


class ReasonedError(Exception):
    """Something could not be done: what was found, and what to do about it."""

    def __init__(self, reason: Reason | str, *, advice: str = "") -> None:
        super().__init__(reason)
        self.reason = in_words(reason, advice) if isinstance(reason, str) else reason

    @property
    def finding(self) -> str:
        return self.reason.finding

    @property
    def advice(self) -> str:
        return self.reason.advice

    def __str__(self) -> str:
        return self.finding


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """Code -> language -> sentence; what to do stands under the code with `.advice` behind it."""
    found: dict[str, Mapping[str, str]] = {}
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        found |= flattened(tomllib.loads(file.read_text(encoding="utf-8")))
    return found


def flattened(table: Mapping[str, Any], prefix: str = "") -> dict[str, Mapping[str, str]]:
    """The texts of nested tables, each under the whole of its name."""
    found: dict[str, Mapping[str, str]] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            own = {language: text for language, text in value.items() if isinstance(text, str)}
            if own:
                found[prefix + name] = own
            found |= flattened(value, f"{prefix}{name}.")
    return found


def _filled(text: str, args: Mapping[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda match: _written(match[1], args[match[1]]), text)


def _written(name: str, value: Any) -> str:
    if isinstance(value, Reason):
        return value.finding
    if isinstance(value, list):
        return ", ".join(value)
    if name.endswith("_s"):
        return f"{value:g} s"
    if name.endswith("_bytes"):
        return f"{value / 2**30:.1f} GiB"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _argument(value: Any) -> Argument:
    if isinstance(value, Reason | str | int | float):
        return value
    return [str(item) for item in value] if isinstance(value, list | tuple) else str(value)


def _plain(value: Any) -> Any:
    return value.document() if isinstance(value, Reason) else value
