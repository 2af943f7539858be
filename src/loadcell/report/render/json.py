"""Render documents as JSON: frozen dataclasses become objects with their fields as keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from loadcell.analysis.finding import Finding

if TYPE_CHECKING:
    from loadcell.report.texts import Texts


@runtime_checkable
class _Documented(Protocol):
    def document(self) -> Mapping[str, object]: ...


def render(document: object, texts: Texts | None = None) -> str:
    """JSON for people and scripts; with `texts` each finding has its sentence in their language, too.

    Paths become strings, tuples lists; an object with a method `document` decides its own keys.
    Raises TypeError for values that JSON cannot hold.
    """

    def plain(value: object) -> object:
        if isinstance(value, Finding) and texts is not None:
            return {**value.document(), "text": texts.message(value.message)}
        if isinstance(value, _Documented):
            return value.document()
        if is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in fields(value)}
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, Path):
            return str(value)
        raise TypeError(f"{type(value).__name__} is no JSON: {value!r}")

    return json.dumps(document, indent=2, ensure_ascii=False, default=plain)
