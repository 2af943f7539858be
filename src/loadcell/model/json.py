"""JSON of records: the one place that reads and writes them, with the errors of a file that is damaged.

A record is a frozen dataclass. Its JSON object has a key for each field; a field annotated with `OMITTED` has
none while it is None.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

#: Any JSON value.
JsonValue: TypeAlias = Any
#: A JSON object where JSON itself is the subject: settings of a plan, evidence of a check, facts of a target.
JsonObject: TypeAlias = dict[str, Any]

Record = TypeVar("Record")

#: Digits of the longest integer of 64 bits, with its sign.
_MOST_DIGITS = 20
#: Every digit as 0: a run of digits is then found by a search for bytes, ten times as fast as by a pattern.
_DIGITS_AS_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_NUMBER = b"0" * 19
_HALF_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _Omitted:
    """Marker of a field without a key while it is None."""


OMITTED = _Omitted()


class _Words:
    """Marker of a field that holds words, names and instants of loadcell, and never a secret."""


class _OfPlan:
    """Marker of a field with settings and labels as the plan has them, in which secrets are references."""


WORDS, OF_PLAN = _Words(), _OfPlan()
#: A word, a name or an instant of loadcell.
Word: TypeAlias = Annotated[str, WORDS]


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """First key of a document that does not fit its record: dotted `key`, `expected`, and the JSON that was
    `value`.
    """

    key: str
    expected: str
    value: str


class MismatchError(ValueError):
    """JSON that is not the record it should be; `mismatch` is None where the text is no JSON object."""

    def __init__(self, mismatch: Mismatch | None) -> None:
        super().__init__(mismatch)
        self.mismatch = mismatch


def read(kind: type[Record], text: bytes | str) -> Record:
    """Record of this kind from JSON text. Unknown keys are ignored. Raises MismatchError."""
    try:
        content = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        if _LONG_NUMBER in content.translate(_DIGITS_AS_ZEROS):
            parse(text)
        record: Record = _adapter(_class(kind)).validate_json(text, strict=True)
    except ValidationError as error:
        raise MismatchError(_mismatch(error)) from None
    return record


def parse(text: bytes | str) -> JsonValue:
    """Any JSON value, with the replacement character for half surrogates.

    Raises MismatchError for text that is no JSON, is nested too deeply, or holds an integer beyond 64 bits,
    which neither floats nor tables take.
    """
    try:
        content = text.decode("utf-8") if isinstance(text, bytes) else text
        value = json.loads(content, parse_int=_integer)
        if "\\u" in content and _HALF_SURROGATE.search(content):
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise MismatchError(None) from None
    except ValueError as error:
        raise error if isinstance(error, MismatchError) else MismatchError(None) from None
    return value


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS or abs(number := int(digits)) >= 2**63:
        raise MismatchError(None)
    return number


def convert(kind: type[Record], document: Mapping[str, JsonValue]) -> Record:
    """Record of this kind from a parsed JSON object. Raises MismatchError."""
    return read(kind, json.dumps(document))


def document(record: Any) -> JsonObject:
    """JSON object of a record."""
    value = _plain(record)
    assert isinstance(value, dict)
    return value


def schema(kind: type[Any]) -> JsonObject:
    """JSON Schema of a kind of record; each paragraph of a description is one line."""
    document: JsonObject = unwrapped(_adapter(_class(kind)).json_schema(mode="validation"))
    return document


def unwrapped(value: JsonValue, key: str = "") -> JsonValue:
    """JSON Schema with each paragraph of a description on one line."""
    if isinstance(value, dict):
        return {name: unwrapped(item, name) for name, item in value.items()}
    if key == "description" and isinstance(value, str):
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in value.split("\n\n"))
    return value


def _class(kind: Any) -> Any:
    return kind


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _mismatch(error: ValidationError) -> Mismatch | None:
    first = error.errors(include_url=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        return None
    key = ".".join(str(part) for part in first["loc"])
    value = "nothing" if first["type"] == "missing" else json.dumps(first["input"], default=str)[:60]
    return Mismatch(key, first["msg"], value)


@cache
def _fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    """Name of each field, and whether its key is left out while it is None."""
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in dataclasses.fields(kind)]
    return tuple((name, OMITTED in getattr(hints[name], "__metadata__", ())) for name in names)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((name, getattr(value, name), omitted) for name, omitted in _fields(type(value)))
        return {name: _plain(item) for name, item, omitted in fields if not (omitted and item is None)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
