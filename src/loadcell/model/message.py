"""Messages: codes with typed arguments.

A part declares a `MessageCode` and calls it to make a `Message`; the texts lie in `messages.toml`
(`loadcell.model.catalogue`). Reasons, remarks, findings, problems and advice are messages. Standard library
only, because the worker raises them, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from loadcell.model import catalogue, numbers

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

Severity = Literal["good", "info", "caution", "problem"]
#: The value of an argument. A number's unit is the suffix of the argument's name (`UNITS`).
Argument = Union[str, int, float, "Message", Sequence["Message"], Sequence[str]]


class Count(int):
    """A number of things, written with thousands separators."""


class Number(float):
    """A number without a unit."""


class Bytes(int):
    """A size in bytes."""


class Seconds(float):
    """A duration in seconds."""


class Milliseconds(float):
    """A response time in milliseconds."""


class Microseconds(float):
    """A short time in microseconds."""


class Rate(float):
    """A number per second."""


class Share(float):
    """A part of a total, from 0 to 1."""


class Probability(float):
    """A probability by chance alone, from 0 to 1."""


class Change(float):
    """A relative change; 0.1 is 10 % more."""


class Factor(float):
    """A ratio of two values."""


class Megahertz(float):
    """A clock frequency in MHz."""


class MegatransfersPerSecond(float):
    """Speed of a memory module, in MT/s."""


class MegabitsPerSecond(float):
    """Speed of a network link, in Mbit/s."""


class ForeignText(str):
    """Text from outside (a server's error, a program's output); renderers escape it for their medium."""

    __slots__ = ()


#: The type of a number, which stands for its unit.
Unit: TypeAlias = type[float] | type[int]
#: The suffix of an argument's name -> its unit; the first that fits. Records are formatted by it long after
#: they were written.
UNITS: Mapping[str, Unit] = {
    "_per_s": Rate,
    "_ms": Milliseconds,
    "_us": Microseconds,
    "_share": Share,
    "_probability": Probability,
    "change": Change,
    "_bytes": Bytes,
    "_times": Factor,
    "_s": Seconds,
}
_WRITERS: Mapping[Unit, numbers.Write] = {
    Count: numbers.whole,
    Number: numbers.significant,
    Rate: numbers.rate,
    Milliseconds: numbers.milliseconds,
    Microseconds: numbers.microseconds,
    Share: numbers.share,
    Probability: numbers.probability,
    Change: numbers.change,
    Bytes: numbers.size,
    Factor: numbers.significant,
    Seconds: numbers.seconds,
    Megahertz: lambda value: f"{numbers.whole(value)} MHz",
    MegatransfersPerSecond: lambda value: f"{numbers.whole(value)} MT/s",
    MegabitsPerSecond: lambda value: f"{numbers.whole(value)} Mbit/s",
}

_declared: dict[str, MessageCode] = {}
_labels: list[Labels] = []


def declared() -> Mapping[str, MessageCode]:
    """Every message code of the modules imported so far."""
    return _declared


def labelled() -> frozenset[str]:
    """The codes of all labels of the modules imported so far."""
    return frozenset(labels(name) for labels in _labels for name in labels.names)


def unit_of(name: str) -> Unit | None:
    """The unit that an argument's name states."""
    return next((unit for suffix, unit in UNITS.items() if name.endswith(suffix)), None)


def with_unit(unit: Unit, value: float) -> str:
    """A number with its unit."""
    return _WRITERS[unit](value)


def format_number(name: str, value: float) -> str:
    """A numeric argument with its unit."""
    if (unit := unit_of(name)) is not None:
        return with_unit(unit, value)
    return numbers.whole(value) if isinstance(value, int) else numbers.significant(value)


@dataclass(frozen=True)
class Message:
    """A code with its arguments.

    `recorded` holds text and advice as a record or another process wrote them; they are shown where the
    catalogue lacks the code.
    """

    code: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    severity: Severity = "problem"
    recorded: tuple[str, str] | None = None

    def __hash__(self) -> int:
        return hash(self.code)

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """The message in English, for records and logs."""
        if self.recorded:
            return self.recorded[0]
        text = catalogue.texts()[self.code]["en"]
        return catalogue.fill(text, self._written)

    def _written(self, match: re.Match[str]) -> str:
        name = match["name"]
        return _in_english(name, self.arguments[name], enumerated=catalogue.is_enumerated(match))

    @property
    def advice(self) -> str:
        """The remedy in English; without one, that of the message it wraps as `why`."""
        return self.remedy.text if self.remedy else ""

    @property
    def remedy(self) -> Message | None:
        """The remedy as a message; without one, what it has as `allowed`, or that of the message it wraps
        as `why`.
        """
        if self.recorded:
            code = f"{self.code}.advice" if self.code else ""
            return (
                Message(code, self.arguments, recorded=(self.recorded[1], "")) if self.recorded[1] else None
            )
        if f"{self.code}.advice" in catalogue.texts():
            return Message(f"{self.code}.advice", self.arguments)
        allowed, why = self.arguments.get("allowed"), self.arguments.get("why")
        if isinstance(allowed, Message):
            return allowed
        return why.remedy if isinstance(why, Message) else None

    @property
    def call_remedy(self) -> Message | None:
        """The remedy for a load without a plan file; None where it is that of a plan."""
        code = f"{self.code}.advice.call"
        return Message(code, self.arguments) if code in catalogue.texts() else None

    @property
    def plain_arguments(self) -> JsonObject:
        """The arguments as JSON values."""
        return {name: _plain(value) for name, value in self.arguments.items()}

    def document(self) -> JsonObject:
        """The message as JSON, with its English text and advice."""
        return {
            "code": self.code or None,
            "args": self.plain_arguments,
            "finding": self.text,
            "advice": self.advice,
        }

    def rated(self, severity: Severity) -> Message:
        """The same message with another severity."""
        return replace(self, severity=severity)


def as_written(text: str, advice: str = "") -> Message:
    """A message without a code, in the words of its source."""
    return Message("", {}, recorded=(text, advice))


class MessageCode:
    """A declared code: severity and argument types. Declaring it registers it; calling it makes a message."""

    def __init__(self, code: str, severity: Severity = "problem", /, **arguments: type[Any]) -> None:
        """Raises ValueError for a code that is declared already or an argument whose name states another
        unit.
        """
        if code in _declared:
            raise ValueError(f"message code {code!r} is declared twice")
        for name, kind in arguments.items():
            if kind in UNITS.values() and unit_of(name) is not kind:
                raise ValueError(
                    f"{code}: the name of argument {name!r} does not end in the suffix of its unit"
                )
        self.code = code
        self.severity: Severity = severity
        self.arguments: Mapping[str, type[Any]] = arguments
        _declared[code] = self

    def __call__(self, **arguments: object) -> Message:
        """The message with these arguments. Raises TypeError for missing, unexpected or mistyped ones."""
        if arguments.keys() != self.arguments.keys():
            raise TypeError(f"{self.code} takes {sorted(self.arguments)}, not {sorted(arguments)}")
        values = {name: self._checked(name, value) for name, value in arguments.items()}
        return Message(self.code, values, self.severity)

    def pick(self, **arguments: object) -> Message:
        """The message with those of these arguments that it takes, for tables of codes with a common call."""
        return self(**{name: value for name, value in arguments.items() if name in self.arguments})

    def _checked(self, name: str, value: object) -> Argument:
        kind = self.arguments[name]
        if kind is list:
            if not isinstance(value, list | tuple):
                raise TypeError(f"{self.code}: argument {name!r} is no list")
            return type(value)(item if isinstance(item, Message) else str(item) for item in value)
        if isinstance(value, Message):
            return value
        if issubclass(kind, int | float):
            if not isinstance(value, int | float):
                raise TypeError(f"{self.code}: argument {name!r} is no number")
            return value
        if isinstance(value, list | tuple):
            raise TypeError(f"{self.code}: argument {name!r} is a list")
        return ForeignText(value) if kind is ForeignText else str(value)

    def __repr__(self) -> str:
        return f"MessageCode({self.code!r})"


class Labels:
    """Codes of texts that are a prefix and a name, where names are values of the program: states, stages.

    Called with a name they give its code. Names of records may have none; declaring the others registers
    them.
    """

    def __init__(self, prefix: str, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._prefix = prefix
        _labels.append(self)

    def __call__(self, name: str) -> str:
        """The code of a name's text."""
        return f"{self._prefix}.{name}"

    def __contains__(self, name: object) -> bool:
        return name in self.names


class MessageError(Exception):
    """Base of errors that carry a message."""

    def __init__(self, message: Message | str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = as_written(message, advice) if isinstance(message, str) else message

    @property
    def finding(self) -> str:
        """The text in English."""
        return self.message.text

    @property
    def advice(self) -> str:
        """The remedy in English."""
        return self.message.advice

    def __str__(self) -> str:
        return self.finding


def _in_english(name: str, value: Any, *, enumerated: bool = False) -> str:
    if isinstance(value, Message):
        return value.text
    if isinstance(value, Mapping):
        return str(value.get("finding", ""))
    if isinstance(value, list | tuple):
        between = "; " if any(isinstance(item, Message) for item in value) else ", "
        items = [_in_english(name, item) for item in value]
        if enumerated and len(items) > 1 and items[-1] != "…":
            return f"{between.join(items[:-1])} and {items[-1]}"
        return between.join(items)
    return value if isinstance(value, str) else format_number(name, value)


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return value.document()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


#: In place of the output of a program that printed nothing.
NO_OUTPUT = MessageCode("nothing-said")()
