"""Documents and plans without secrets: every text passes a function that replaces them.

Numbers, instants, keys and loadcell's own words stay. Which these are is declared by the types of records
(`WORDS`, `OF_PLAN`, enumerations); a field that declares nothing holds text from outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from loadcell.model.json import OF_PLAN, WORDS, JsonObject, Word, document
from loadcell.model.message import Message

#: Takes the secrets out of one value.
Redact = Callable[[str], str]

_WORD = re.compile(r"[^\W\d][\w.%-]*")
_QUANTITY = re.compile(r"[+-]?\d[\d.]*[a-zA-Z/%]{0,8}")
#: A value in a plan's YAML: what stands between the signs of its structure.
_PLAN_VALUE = re.compile(r"[^\s,\[\]{}][^,\[\]{}\n]*")
_PLAN_KEY = re.compile(r"(?:- +)*[\"']?[\w.%-]+[\"']?\s*:(?:\s+|$)")


@dataclass(frozen=True)
class _Event:
    """Keys of every event; others hold what it reports."""

    event: Word
    phase: Word
    utc: Word


@dataclass(frozen=True)
class _Field:
    """Declaration of a field: words of loadcell, values of the plan, or records (`named`: by their names)."""

    words: bool
    of_plan: bool
    record: type[Any] | None
    named: bool


def redacted_record(record: Any, redact: Redact) -> JsonObject:
    """JSON object of a record, without secrets."""
    return _of_record(document(record), type(record), redact)


def redacted_event(event: JsonObject, redact: Redact) -> JsonObject:
    """Event without secrets."""
    return _of_record(event, _Event, redact)


def redacted(value: Any, redact: Redact) -> Any:
    """The same plain JSON value with every text in it passed through `redact`; of keys, those that are no
    names.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {_key(str(key), redact): redacted(item, redact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(item, redact) for item in value]
    return value


def redacted_message(message: Message, redact: Redact) -> Message:
    """A message for the screen, with secrets neither in its text nor in its arguments."""
    return replace(
        message,
        arguments={name: redacted(value, redact) for name, value in message.plain_arguments.items()},
        recorded=(redact(message.text), redact(message.advice)),
    )


def redacted_plan(text: str, redact: Redact) -> str:
    """A plan with its values passed through `redact`; keys and single words stay."""

    def value(match: re.Match[str]) -> str:
        key = _PLAN_KEY.match(match[0])
        written = match[0][key.end() if key else 0 :]
        return (key[0] if key else "") + _of_plan(written, redact)

    return _PLAN_VALUE.sub(value, text)


@cache
def _fields(kind: Any) -> Mapping[str, _Field]:
    """Declarations of a record's fields."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: _field(list(_parts(hint))) for name, hint in hints.items()}


def _field(parts: list[Any]) -> _Field:
    texts = [part for part in parts if part is str]
    choices = [part for part in parts if get_origin(part) is Literal or _is(part, Enum)]
    record = next((part for part in parts if is_dataclass(part)), None)
    words = WORDS in parts or (bool(choices) and not texts)
    return _Field(words, OF_PLAN in parts, record if isinstance(record, type) else None, Mapping in parts)


def _parts(hint: Any) -> Iterator[Any]:
    """All that a type is made of: members of unions, containers and their items, and markers."""
    if get_origin(hint) is Annotated:
        yield from hint.__metadata__
        yield from _parts(hint.__origin__)
    elif get_origin(hint) is Literal or not get_args(hint):
        yield hint
    else:
        yield get_origin(hint)
        for argument in get_args(hint):
            yield from _parts(argument)


def _is(part: Any, kind: type[Any]) -> bool:
    return isinstance(part, type) and issubclass(part, kind)


def _of_record(value: JsonObject, kind: Any, redact: Redact) -> JsonObject:
    fields = _fields(kind)
    return {_key(str(key), redact): _of_field(item, fields.get(key), redact) for key, item in value.items()}


def _of_field(value: Any, field: _Field | None, redact: Redact) -> Any:
    if field is None:
        return redacted(value, redact)
    if field.of_plan or (field.words and isinstance(value, Mapping)):
        return redacted(value, lambda text: _of_plan(text, redact))
    if field.words:
        return value
    if field.record is None or value is None:
        return redacted(value, redact)
    if field.named:
        return {_key(str(key), redact): _of_record(item, field.record, redact) for key, item in value.items()}
    if isinstance(value, list):
        return [_of_record(item, field.record, redact) for item in value]
    return _of_record(value, field.record, redact)


def _of_plan(text: str, redact: Redact) -> str:
    return text if _WORD.fullmatch(text) or _QUANTITY.fullmatch(text) else redact(text)


def _key(key: str, redact: Redact) -> str:
    return key if _WORD.fullmatch(key) else redact(key)
