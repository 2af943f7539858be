"""Bodies of requests as texts of a plan: secrets are found by the kind of the body, then by their looks."""

from __future__ import annotations

import json
import re
from typing import Any

from loadcell.drafting.http_parts import OutsideTexts, is_secret_member

#: A form without blanks and ends of lines.
_FORM = re.compile(r"[^\s=&<>{}\"]{1,200}=[^\s<>{}\"]*")
#: Beginnings of JSON and XML, which curl sends as a form by default. An empty text is none, too.
_NO_FORM = ("{", "[", "<", "")
#: Names of numbers that are no secrets, though they sound like it: `max_tokens`, `token_expires_in`.
_COUNT = re.compile(r"tokens$|expir|[-_](count|length|limit)$", re.IGNORECASE)


def body(text: str, texts: OutsideTexts, kind: str = "") -> str:
    """A body without secrets. `kind` is its content type, as far as it is known."""
    document = json_of(text)
    if isinstance(document, dict | list) and _has_secret(document, texts):
        return _json(document, texts, is_compact='": ' not in text)
    if _FORM.fullmatch(text) or ("urlencoded" in kind and text.lstrip()[:1] not in _NO_FORM):
        return "&".join(_field(pair, texts) for pair in text.split("&"))
    return texts.text(text)


def json_of(text: str) -> Any:
    """The document that a text is, if it is JSON; else None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_secret(name: str, value: object) -> bool:
    """True if a text or number of JSON is a secret by its name."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return False
    return is_secret_member(name) and (isinstance(value, str) or not _COUNT.search(name))


class Unquoted:
    """Values of JSON that are written without quotes: variables in the place of numbers."""

    def __init__(self) -> None:
        self._written: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._written)

    def mark(self, written: str) -> str:
        """The text that stands for the value until the document is written."""
        mark = f"\0{len(self._written)}\0"
        self._written[mark] = written
        return mark

    def text(self, document: object, *, is_compact: bool = False) -> str:
        """The document as JSON."""
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":") if is_compact else None)
        for mark, written in self._written.items():
            text = text.replace(json.dumps(mark), written)
        return text


def _has_secret(value: Any, texts: OutsideTexts, name: str = "") -> bool:
    if isinstance(value, dict):
        return any(_has_secret(inner, texts, key) for key, inner in value.items())
    if isinstance(value, list):
        return any(_has_secret(inner, texts, name) for inner in value)
    return is_secret(name, value) or (isinstance(value, str) and texts.hides(value))


def _json(document: Any, texts: OutsideTexts, *, is_compact: bool) -> str:
    unquoted = Unquoted()

    def written(value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {texts.text(key): written(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [written(inner, name) for inner in value]
        if is_secret(name, value):
            reference = texts.secret(name, str(value))
            return reference if isinstance(value, str) else unquoted.mark(reference)
        return body(value, texts) if isinstance(value, str) else value

    return unquoted.text(written(document, ""), is_compact=is_compact)


def _field(pair: str, texts: OutsideTexts) -> str:
    name, equals, value = pair.partition("=")
    return f"{texts.text(name)}{equals}{texts.encoded(name, value)}"
