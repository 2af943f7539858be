"""JSON of records: the one place that reads and writes them, with the errors of a file that is damaged.

A record is a frozen dataclass. Its JSON object has a key for each field, under the field's name or its `Field(alias=...)`;
a field annotated with `OMITTED` has no key while it is None.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, TypeVar, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

#: Any JSON value.
JsonValue: TypeAlias = Any
#: A JSON object where JSON itself is the subject: settings of a plan, evidence of a check, facts of a target.
JsonObject: TypeAlias = dict[str, Any]

Record = TypeVar("Record")


class _Omitted:
    """Marker of a field without a key while it is None."""


OMITTED = _Omitted()


def json_key(name: str) -> Any:
    """Annotation of a field whose JSON key is no Python name."""
    return Field(alias=name)


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """First key of a document that does not fit its record: dotted `key`, `expected`, and the JSON that was `found`."""

    key: str
    expected: str
    found: str


class MismatchError(ValueError):
    """JSON that is not the record it should be; `mismatch` is None where the text is no JSON object at all."""

    def __init__(self, mismatch: Mismatch | None) -> None:
        super().__init__(mismatch)
        self.mismatch = mismatch


def read(kind: type[Record], text: bytes | str) -> Record:
    """Record of this kind from JSON text. Unknown keys are ignored. Raises MismatchError."""
    try:
        record: Record = _adapter(_class(kind)).validate_json(text, strict=True)
    except ValidationError as error:
        raise MismatchError(_mismatch(error)) from None
    return record


def convert(kind: type[Record], document: Mapping[str, Any]) -> Record:
    """Record of this kind from a parsed JSON object. Raises MismatchError."""
    return read(kind, json.dumps(document))


def document(record: Any) -> JsonObject:
    """JSON object of a record."""
    value = _plain(record)
    assert isinstance(value, dict)
    return value


def schema(kind: type[Any]) -> JsonObject:
    """JSON Schema of a kind of record."""
    return _adapter(_class(kind)).json_schema(mode="validation")


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
    found = "nothing" if first["type"] == "missing" else json.dumps(first["input"], default=str)[:60]
    return Mismatch(key, first["msg"], found)


@cache
def _keys(kind: Any) -> tuple[tuple[str, str, bool], ...]:
    """Field name, JSON key, and whether the key is left out while the field is None."""
    hints = get_type_hints(kind, include_extras=True)
    keys = []
    for field in dataclasses.fields(kind):
        notes = getattr(hints[field.name], "__metadata__", ())
        aliases = [note.alias for note in notes if isinstance(note, FieldInfo) and note.alias]
        keys.append((field.name, aliases[0] if aliases else field.name, OMITTED in notes))
    return tuple(keys)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((key, getattr(value, name), omitted) for name, key, omitted in _keys(type(value)))
        return {key: _plain(item) for key, item, omitted in fields if not (omitted and item is None)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
