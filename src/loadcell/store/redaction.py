"""Redaction of stored values: secrets become references, but numbers, instants, keys and separators stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

#: Takes the secrets out of one value.
Redact = Callable[[str], str]

#: Keys and columns that hold words, names and instants of loadcell.
_WORDS = frozenset({
    "arm", "arrivals", "block", "code", "design", "event", "file", "files", "id", "kind", "name", "operation",
    "order", "phase", "plan_name", "reason_code", "advice_code", "resumed_by", "role", "stage", "state",
    "status", "tables", "text_columns", "treatment", "unit", "utc", "verdict",
})  # fmt: skip
#: Keys with values from outside, whatever they are called.
_FOREIGN = frozenset({"args", "command", "detail", "reason_args", "target", "data_set", "settings", "values"})
#: Columns of samples of which a monitor decides what they hold.
_SAMPLED = frozenset({"file", "id", "name", "role", "code"})
#: Keys with settings and labels as the plan has them: secrets are references there.
_PLAN = frozenset({"levels", "settings", "values"})
_WORD = re.compile(r"[^\W\d][\w.%-]*")
_QUANTITY = re.compile(r"[+-]?\d[\d.]*[a-zA-Z/%]{0,8}")
#: A value in a plan's YAML: what stands between the signs of its structure.
_PLAN_VALUE = re.compile(r"[^\s,\[\]{}][^,\[\]{}\n]*")
_PLAN_KEY = re.compile(r"(?:- +)*[\"']?[\w.%-]+[\"']?\s*:(?:\s+|$)")


def is_vocabulary(column: str) -> bool:
    """True if cells of this column are written by loadcell and hold no text from outside."""
    return column in _WORDS - _SAMPLED or column.endswith("_utc")


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


def redacted_record(value: Any, redact: Redact) -> Any:
    """The document of a record with its texts passed through `redact`, except loadcell's own words."""
    if isinstance(value, Mapping):
        return {_key(str(key), redact): _value(str(key), item, redact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_record(item, redact) for item in value]
    return redact(value) if isinstance(value, str) else value


def redacted_plan(text: str, redact: Redact) -> str:
    """A plan with its values passed through `redact`; keys and single words stay."""

    def value(match: re.Match[str]) -> str:
        key = _PLAN_KEY.match(match[0])
        written = match[0][key.end() if key else 0 :]
        return (key[0] if key else "") + _of_plan(written, redact)

    return _PLAN_VALUE.sub(value, text)


def _value(key: str, item: Any, redact: Redact) -> Any:
    is_word = key in _WORDS or key.endswith("_utc")
    if is_word and isinstance(item, str):
        return item
    if key in _PLAN or (is_word and isinstance(item, Mapping)):
        return redacted(item, lambda text: _of_plan(text, redact))
    return redacted(item, redact) if key in _FOREIGN else redacted_record(item, redact)


def _of_plan(text: str, redact: Redact) -> str:
    return text if _WORD.fullmatch(text) or _QUANTITY.fullmatch(text) else redact(text)


def _key(key: str, redact: Redact) -> str:
    return key if _WORD.fullmatch(key) else redact(key)
