"""Steps of a scenario from recorded exchanges."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, unquote_plus

from loadcell.drafting.bodies import Unquoted, is_secret, json_of
from loadcell.drafting.correlation import Correlation, looks_generated
from loadcell.drafting.document import Section
from loadcell.drafting.http_parts import OutsideTexts, authorization, basic, is_secret_member
from loadcell.drafting.http_request import AUTOMATIC
from loadcell.drafting.recording import Body, Exchange
from loadcell.model.message import Bytes, Message, MessageCode
from loadcell.plan.secret_patterns import is_secret_name

STEP_BODY_LEFT_OUT = MessageCode("har-step.body-left-out", "caution", size_bytes=Bytes, kind=str)
STEP_FILES = MessageCode("har-step.files", "caution")
STEP_FAILED = MessageCode("har-step.failed", "caution", status=str)

#: Header fields of browsers that decide nothing, and those of caches, whose answers would have no body.
_OF_BROWSERS = re.compile(
    r"^(sec-.*|user-agent|cache-control|pragma|if-.*|upgrade-insecure-requests|dnt|priority|cookie|:.*|accept-language"
    r"|x-client-data|keep-alive|proxy-.*)$",
    re.IGNORECASE,
)
#: Fields that some services compare with their own address, where something is changed.
_OF_CHANGES = ("origin", "referer")
_READING = ("GET", "HEAD")
#: A longer body makes a plan that nobody reads.
_LONGEST_BODY = 16 << 10
_DEEPEST_JSON = 15
_LONGEST_THINK_S, _SHORTEST_THINK_S = 60.0, 0.2
#: Names that results have for parts of requests, and for scenarios.
_TAKEN = ("connect", "first_byte", "transaction")


class Scenario:
    """Steps of exchanges, with variables for values of earlier responses."""

    def __init__(self, recorded: Sequence[Exchange], texts: OutsideTexts) -> None:
        self._exchanges = recorded
        self._texts = texts
        self._correlation = Correlation(texts)
        self._common = _common_headers(recorded)
        self._cookies: set[str] = set()
        self.foreign_cookies: dict[str, None] = {}
        self.think_s = 0.0

    def headers(self) -> dict[str, str]:
        """Header fields that all steps have."""
        return {name: self._texts.text(value) for name, value in self._common}

    def steps(self) -> Section:
        """All steps by name."""
        made: list[tuple[str, Section, list[Message]]] = []
        names: set[str] = set(_TAKEN)
        for number, exchange in enumerate(self._exchanges):
            step, comments = self._step(exchange)
            made.append((_name(exchange, names), step, comments))
            self._correlation.add(number, exchange)
            self._cookies |= exchange.cookies_set()
        section = Section()
        for number, (name, step, comments) in enumerate(made):
            extractions = self._correlation.extractions.get(number)
            if extractions:
                step.put("extract", extractions)
            think = self._think(number)
            if think is not None:
                step.put("think", think)
            section.put(name, step, *comments)
        return section

    def _step(self, exchange: Exchange) -> tuple[Section, list[Message]]:
        step, comments = Section(), list[Message]()
        if exchange.method != ("POST" if exchange.body else "GET"):
            step.put("method", exchange.method)
        step.put("path", self._correlation.link(exchange) or self._path(exchange))
        sent = Section()
        if exchange.body is not None:
            comments += self._put_body(sent, exchange.body)
        self._put_headers(step, exchange, has_text=any(entry.key == "body" for entry in sent.entries))
        step.entries += sent.entries
        if exchange.status != 200:
            step.put("check", {"status": exchange.status})
        if exchange.status >= 400:
            comments.append(STEP_FAILED(status=exchange.status))
        foreign = exchange.cookies() - self._cookies
        self.foreign_cookies.update(dict.fromkeys(sorted(foreign)))
        return step, comments

    def _path(self, exchange: Exchange) -> str:
        write = self._correlation
        path = "/".join(write.segment(_encoded(segment)) for segment in exchange.path.split("/"))
        if not exchange.query:
            return path
        pairs = (pair.partition("=") for pair in exchange.query.split("&"))
        return f"{path}?" + "&".join(self._pair(*pair) for pair in pairs)

    def _pair(self, name: str, equals: str, value: str) -> str:
        """A parameter of a query or a field of a form, percent-encoded."""
        plain, key = unquote_plus(value), unquote_plus(name)
        written = self._correlation.value(plain, key)
        has_secret = is_secret_member(key) or self._texts.hides(plain)
        if written == self._texts.text(plain) and not has_secret:
            written = self._texts.text(_encoded(value))
        return f"{self._texts.text(_encoded(name))}{equals}{written}"

    def _put_headers(self, step: Section, exchange: Exchange, *, has_text: bool) -> None:
        headers: dict[str, str] = {}
        automatic = _automatic(exchange, has_text=has_text)
        for name, value in exchange.headers:
            if (name, value) in self._common or name.lower() in automatic or _OF_BROWSERS.match(name):
                continue
            if name.lower() != "authorization":
                headers[name] = self._correlation.value(value, name)
                continue
            scheme, _, token = value.partition(" ")
            variable = self._correlation.value(token.strip()) if token else ""
            if scheme.lower() == "bearer" and variable.startswith("${") and "env:" not in variable:
                step.put("auth", {"bearer": variable})
                continue
            key, credentials = authorization(value, self._texts)
            if key == "auth":
                step.put("auth", credentials)
            else:
                headers[name] = str(credentials)
        if exchange.login and not any(entry.key == "auth" for entry in step.entries):
            user, _, password = exchange.login.partition(":")
            step.put("auth", basic(unquote(user), unquote(password), self._texts))
        if headers:
            step.put("headers", headers)

    def _put_body(self, step: Section, body: Body) -> list[Message]:
        if body.size or len(body.text) > _LONGEST_BODY:
            step.put("body", {"file": "body.bin"}, active=False)
            return [STEP_BODY_LEFT_OUT(size_bytes=body.size or len(body.text), kind=body.kind or "?")]
        if body.is_form:
            if body.fields:
                form = {
                    self._texts.text(name): self._correlation.value(value, name)
                    for name, value in body.fields
                }
                step.put("form", form)
            if body.files:
                files = {
                    self._texts.text(field): {"file": re.sub(r"[^\w.-]", "_", name)}
                    for field, name in body.files
                }
                step.put("files", files, active=False)
                return [STEP_FILES()]
            return []
        document = json_of(body.text)
        if body.fields is not None:
            pairs = (pair.partition("=") for pair in body.text.split("&"))
            step.put("body", "&".join(self._pair(*pair) for pair in pairs))
        elif isinstance(document, dict | list) and _is_simple(document):
            self._put_json(step, document, is_json="json" in body.kind)
        else:
            step.put("body", self._correlation.inside(body.text))
        return []

    def _put_json(self, step: Section, document: Any, *, is_json: bool) -> None:
        """A body of JSON as YAML; as a text where it has variables for numbers, or another kind."""
        unquoted = Unquoted()
        written = self._json(document, "", unquoted)
        if is_json and not unquoted:
            step.put("json", written)
        else:
            step.put("body", unquoted.text(written))

    def _json(self, value: Any, key: str, unquoted: Unquoted) -> Any:
        if isinstance(value, dict):
            return {
                self._texts.text(name): self._json(inner, name, unquoted) for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self._json(inner, key, unquoted) for inner in value]
        if isinstance(value, str):
            return self._correlation.value(value, key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            variable = self._correlation.number(value)
            if variable is None and is_secret(key, value):
                variable = self._texts.secret(key, str(value))
            if variable is not None:
                return unquoted.mark(variable)
        if value is not None and is_secret_name(key):  # which a plan has as a reference alone
            return unquoted.mark(json.dumps(value))
        return value

    def _think(self, number: int) -> str | None:
        """The pause between the end of an exchange and the beginning of the next one, rounded."""
        if number + 1 >= len(self._exchanges):
            return None
        here, later = self._exchanges[number], self._exchanges[number + 1]
        if here.started_s is None or later.started_s is None:
            return None
        pause_s = min(later.started_s - here.started_s - here.duration_s, _LONGEST_THINK_S)
        if not pause_s >= _SHORTEST_THINK_S:
            return None
        step_s = 0.1 if pause_s < 1 else 0.5 if pause_s < 10 else 1.0
        rounded_s = math.floor(pause_s / step_s + 0.5) * step_s
        self.think_s += rounded_s
        return f"{round(rounded_s, 1):g}s"


def _encoded(text: str) -> str:
    """A part of a URL without characters that no request line can have."""
    return "".join(
        character if character.isascii() and character.isprintable() and character not in ' "<>\\`' else
        "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "replace"))
        for character in text
    )  # fmt: skip


def _automatic(exchange: Exchange, *, has_text: bool) -> frozenset[str]:
    """Fields that loadcell writes itself, or that decide nothing for this request.

    A body that is a text in the plan keeps its content type.
    """
    fields = set(AUTOMATIC)
    if exchange.method in _READING:
        fields.update(_OF_CHANGES)
    body = exchange.body
    if body is None or body.is_form or (body.kind == "application/json" and not has_text):
        fields.add("content-type")
    return frozenset(fields)


def _common_headers(recorded: Sequence[Exchange]) -> tuple[tuple[str, str], ...]:
    """Fields that every request has with the same value, and that are no secrets."""
    common = set(recorded[0].headers)
    for exchange in recorded:
        common &= set(exchange.headers)
    special = (*AUTOMATIC, *_OF_CHANGES, "content-type", "authorization")
    return tuple(
        (name, value)
        for name, value in recorded[0].headers
        if (name, value) in common
        and name.lower() not in special
        and not _OF_BROWSERS.match(name)
        and not is_secret_member(name)
    )


def _name(exchange: Exchange, names: set[str]) -> str:
    """A name by method and path that no other step has."""
    segments = [unquote(segment) for segment in exchange.path.split("/")]
    words = [
        segment for segment in segments if re.search("[A-Za-z]", segment) and not looks_generated(segment)
    ]
    word = re.sub(r"\.\w+$", "", words[-1]) if words else "index"
    word = re.sub(r"[^A-Za-z0-9]+", "_", word).strip("_") or "index"
    if exchange.method != "GET":
        word = f"{exchange.method.lower()}_{word}"
    base = (word if word[0].isalpha() else f"step_{word}")[:26]
    name, number = base, 2
    while name in names:
        name, number = f"{base}_{number}", number + 1
    names.add(name)
    return name


def _is_simple(document: Any, depth: int = 0) -> bool:
    """True of JSON that YAML can have: not too deep."""
    if depth > _DEEPEST_JSON:
        return False
    if isinstance(document, dict):
        return all(_is_simple(inner, depth + 1) for inner in document.values())
    return not isinstance(document, list) or all(_is_simple(inner, depth + 1) for inner in document)
