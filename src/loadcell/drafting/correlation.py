"""Values of requests that come from responses before them: tokens, identifiers of created records, links.

A value becomes a variable if it looks generated, a response had it first, and no request had it before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from loadcell.drafting.http_parts import DOLLAR, OutsideTexts, is_secret_member
from loadcell.drafting.recording import Exchange

#: A text that a program may have generated: long, or with letters and digits.
_TOKEN = re.compile(r"[A-Za-z0-9+/_.~%-]{8,}={0,2}")
_GENERATED = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z]).{8,}|[A-Za-z0-9+/_=-]{20,}|[0-9]{10,}")
_IDENTIFIER = re.compile(r"(^|[_-])id$|[a-z]I[dD]$|^uuid$|^key$|^number$", re.IGNORECASE)
#: An element's beginning in front of a value, and parts of it that may change.
_CHANGING = re.compile(r"[A-Za-z0-9_-]{16,}|[0-9]{4,}")
_META = re.compile(r"([\\.+*?()\[\]{}|^$])")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"""\b(?:name|id)=["']?([A-Za-z][\w-]*)""")
_CREATING = ("POST", "PUT", "PATCH")
#: Shorter values are equal by chance.
_SHORTEST = 3
#: Values that are noted of one response.
_MOST_VALUES = 5_000
_DEEPEST = 30


@dataclass(frozen=True)
class _Appearance:
    """Place of a value in a response: the number of its step, the plan's extraction, and a name for it."""

    step: int
    extraction: dict[str, str]
    name: str


class Correlation:
    """Variables of a scenario. Steps are added in order; `extractions` are those that later steps need."""

    def __init__(self, texts: OutsideTexts) -> None:
        self.extractions: dict[int, dict[str, dict[str, str]]] = {}
        self._texts = texts
        self._values: dict[str, _Appearance] = {}
        self._identifiers: dict[str, _Appearance] = {}
        self._links: dict[str, _Appearance] = {}
        self._variables: dict[str, str] = {}
        self._names: set[str] = set()
        self._sent: set[str] = set()

    # -- values of requests

    def link(self, exchange: Exchange) -> str | None:
        """The variable that holds the whole path and query, as a response gave it."""
        link = _link(exchange.path, exchange.query)
        return None if link in self._sent else self._extracted(self._links.get(link), link)

    def value(self, text: str, name: str = "") -> str:
        """A value as the plan has it: a variable, a secret's reference, or the text."""
        variable = self._variable(text)
        if variable is not None:
            return variable
        if text and name and is_secret_member(name):
            return self._texts.secret(name, text)
        return self.inside(text)

    def segment(self, text: str) -> str:
        """A segment of a path, which is often an identifier, however short."""
        value = unquote(text)
        return (
            self._extracted(self._identifiers.get(value), value) or self._variable(value) or self.inside(text)
        )

    def number(self, value: float) -> str | None:
        """The variable of a number of JSON."""
        return self._variable(str(value))

    def inside(self, text: str) -> str:
        """A text with variables in the place of values that are part of it."""
        pieces: list[str] = []
        at = 0
        for match in _TOKEN.finditer(text):
            variable = self._variable(match[0])
            if variable is not None:
                pieces += [self._texts.text(text[at : match.start()]), variable]
                at = match.end()
        return "".join([*pieces, self._texts.text(text[at:])])

    def _variable(self, value: str) -> str | None:
        if value in self._sent:
            return None
        match = self._identifiers.get(value) if len(value) >= _SHORTEST else None
        if match is None and _GENERATED.fullmatch(value):
            match = self._values.get(value)
        variable = self._extracted(match, value)
        if variable is None:
            self._sent.add(value)
        return variable

    def _extracted(self, match: _Appearance | None, value: str) -> str | None:
        if value in self._variables and (match is not None or len(value) >= _SHORTEST):
            return f"${{{self._variables[value]}}}"
        if match is None:
            return None
        name = self._free(match.name)
        self._variables[value] = name
        self.extractions.setdefault(match.step, {})[name] = match.extraction
        return f"${{{name}}}"

    def _free(self, wanted: str) -> str:
        base = re.sub(r"[^a-z0-9_]", "_", wanted.lower()).strip("_")[:24] or "value"
        base = base if base[0].isalpha() else f"v_{base}"
        name, number = base, 2
        while name in self._names or name == DOLLAR:
            name, number = f"{base}_{number}", number + 1
        self._names.add(name)
        return name

    # -- values of responses

    def add(self, step: int, exchange: Exchange) -> None:
        """Note the values of the response of a step, whose request has been written."""
        self._sent.add(_link(exchange.path, exchange.query))
        for name, value in exchange.answer_headers:
            self._add_header(step, exchange, name, value)
        if exchange.answer is None:
            return
        if "json" in exchange.answer_kind:
            self._add_json(step, exchange)
        elif "html" in exchange.answer_kind or "xml" in exchange.answer_kind:
            self._add_markup(step, exchange.answer)

    def _add_header(self, step: int, exchange: Exchange, name: str, value: str) -> None:
        if name.lower() == "set-cookie":
            first = next(text for key, text in exchange.answer_headers if key.lower() == "set-cookie")
            cookie, _, content = value.partition(";")[0].partition("=")
            if value == first and content:
                pattern = f"^{_escaped(cookie.strip())}=([^;]*)"
                match = _Appearance(step, {"header": "Set-Cookie", "pattern": pattern}, cookie)
                self._values.setdefault(content, match)
            return
        match = _Appearance(step, {"header": name}, name)
        self._values.setdefault(value, match)
        if name.lower() == "location":
            self._add_link(exchange, value, match)

    def _add_link(self, exchange: Exchange, url: str, match: _Appearance) -> None:
        try:
            parts = urlsplit(url)
        except ValueError:  # `http://[`
            return
        if not parts.netloc or parts.netloc.lower() == exchange.host:
            self._links.setdefault(_link(parts.path, parts.query), match)

    def _add_json(self, step: int, exchange: Exchange) -> None:
        try:
            document = json.loads(exchange.answer or "")
        except (ValueError, RecursionError):
            return
        for path, key, value in _leaves(document):
            match = _Appearance(step, {"json": path}, key)
            self._values.setdefault(value, match)
            if exchange.method in _CREATING and _IDENTIFIER.search(key):
                self._identifiers.setdefault(value, match)
            if value.startswith(("/", "http://", "https://")):
                self._add_link(exchange, value, match)

    def _add_markup(self, step: int, text: str) -> None:
        for count, token in enumerate(_TOKEN.finditer(text)):
            if count >= _MOST_VALUES:
                return
            if token[0] in self._values or not _GENERATED.fullmatch(token[0]):
                continue
            appearance = _in_markup(step, text, token)
            if appearance is not None:
                self._values[token[0]] = appearance


def _in_markup(step: int, text: str, token: re.Match[str]) -> _Appearance | None:
    """The pattern of an attribute's value, by the element's beginning; None if it finds another one first."""
    quote = text[token.start() - 1 : token.start()]
    if quote not in ("'", '"') or text[token.end() : token.end() + 1] != quote:
        return None
    before = text[max(0, token.start() - 120) : token.start()]
    before = before[before.rfind("<") + 1 :] if "<" in before else before[-40:]
    for changing in _CHANGING.finditer(before):
        before_changing = changing.end()
        before = before[before_changing:]
        break
    pattern = f"{_escaped(before)}([^{quote}]*)"
    first = re.search(pattern, text) if len(before) > 3 else None
    if first is None or first[1] != token[0]:
        return None
    name = _NAME.search(before)
    return _Appearance(step, {"pattern": pattern}, name[1] if name else "value")


def looks_generated(text: str) -> bool:
    """True of an identifier or token, which is another one in each run."""
    return _GENERATED.fullmatch(text) is not None


def _escaped(text: str) -> str:
    """A text as a regular expression."""
    return _META.sub(r"\\\1", text)


def _link(path: str, query: str) -> str:
    return f"{path or '/'}?{query}" if query else path or "/"


def _leaves(document: Any) -> Iterator[tuple[str, str, str]]:
    """Path, key and text of each string and number of a JSON document, up to a number of them."""
    waiting: list[tuple[str, str, Any, int]] = [("$", "", document, 0)]
    count = 0
    while waiting and count < _MOST_VALUES:
        path, key, value, depth = waiting.pop()
        count += 1
        if isinstance(value, dict) and depth < _DEEPEST:
            members = [
                (
                    f"{path}.{name}" if _PLAIN_KEY.fullmatch(name) else f"{path}['{name}']",
                    name,
                    inner,
                    depth + 1,
                )
                for name, inner in value.items()
                if "'" not in name and "\\" not in name and "${" not in name
            ]
            waiting += reversed(members)
        elif isinstance(value, list) and depth < _DEEPEST:
            items = [(f"{path}[{index}]", key, inner, depth + 1) for index, inner in enumerate(value[:1000])]
            waiting += reversed(items)
        elif isinstance(value, str) and value:
            yield path, key or "value", value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield path, key or "value", str(value)
