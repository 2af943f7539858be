"""Differences of two JSON documents: of a plan and its resumption, of plans and machines of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadcell.model.json import JsonValue
from loadcell.model.message import Message, MessageCode

VALUE_NOT_SET = MessageCode("value.not-set")


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """Values of two documents that differ at a dotted path; None where a document has no value there."""

    path: str
    before: JsonValue
    after: JsonValue


def differences(before: JsonValue, after: JsonValue, path: str = "") -> Iterator[ValueDifference]:
    """Every path below `path` where two documents differ, in the order of their keys.

    Objects are compared key by key; a list is one value.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            below = f"{path}.{key}" if path else str(key)
            yield from differences(before.get(key), after.get(key), below)
    elif before != after:
        yield ValueDifference(path, before, after)


def written(value: JsonValue) -> str | Message:
    """A value of a difference for a message."""
    return VALUE_NOT_SET() if value is None else str(value)
