"""HTTP exchanges of a HAR file (HTTP Archive 1.2) as typed records."""

from __future__ import annotations

import base64
import binascii
import email.parser
import email.policy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from loadcell.drafting.contents import clean
from loadcell.drafting.draft import DraftError
from loadcell.model.message import Count, MessageCode

HAR_ENTRIES = MessageCode("har.entries", path=str)
HAR_MOST_ENTRIES = MessageCode("har.most-entries", path=str, count=Count, most=Count)
HAR_ENTRY = MessageCode("har.entry", path=str, number=str, key=str)

#: Values are read from responses of at most this length, as `body_limit` says.
LONGEST_RESPONSE = 1 << 20
#: A visit has some hundreds; more take minutes to be looked through.
_MOST_ENTRIES = 20_000
_LONGEST_MS = 3_600_000.0
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE_END = re.compile(r"[\r\n]+")
_TEXTS = ("json", "html", "xml", "text/", "javascript", "urlencoded", "graphql")


@dataclass(frozen=True)
class Body:
    """A request's body: `text`, `fields` of a form, `files` (field and name) that are not recorded.

    `size` is that of bytes that the recording has, and that are no text.
    """

    kind: str
    text: str = ""
    fields: tuple[tuple[str, str], ...] | None = None
    files: tuple[tuple[str, str], ...] = ()
    size: int = 0

    @property
    def is_form(self) -> bool:
        """True of a form that a plan can have as one: each field once."""
        if self.fields is None:
            return False
        return not self.text or len(dict(self.fields)) == len(self.fields)


@dataclass(frozen=True)
class Exchange:
    """A request and its response. `host` has the port, if the URL has one; times are in seconds."""

    method: str
    scheme: str
    host: str
    path: str
    query: str
    login: str
    headers: tuple[tuple[str, str], ...]
    body: Body | None
    status: int
    answer_headers: tuple[tuple[str, str], ...]
    answer_kind: str
    answer: str | None
    started_s: float | None
    duration_s: float

    def cookies(self) -> frozenset[str]:
        """Names of the cookies that the request has."""
        values = (value for name, value in self.headers if name.lower() == "cookie")
        return frozenset(
            pair.partition("=")[0].strip() for value in values for pair in value.split(";") if pair
        )

    def cookies_set(self) -> frozenset[str]:
        """Names of the cookies that the response sets."""
        values = (value for name, value in self.answer_headers if name.lower() == "set-cookie")
        return frozenset(
            line.partition("=")[0].strip() for value in values for line in value.split("\n") if "=" in line
        )


def exchanges(document: Any, path: str) -> Iterator[Exchange]:
    """The exchanges of a HAR document in the order of their beginning. Raises DraftError."""
    entries = document["log"]["entries"]
    if not isinstance(entries, list) or not entries:
        raise DraftError(HAR_ENTRIES(path=path))
    if len(entries) > _MOST_ENTRIES:
        raise DraftError(HAR_MOST_ENTRIES(path=path, count=len(entries), most=_MOST_ENTRIES))
    for number, entry in enumerate(entries, 1):
        try:
            exchange = _exchange(entry)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            key = str(error) if isinstance(error, KeyError) else type(error).__name__
            raise DraftError(HAR_ENTRY(path=path, number=number, key=key)) from None
        if exchange is not None:
            yield exchange


def _exchange(entry: Any) -> Exchange | None:
    """One exchange; None for URLs of other schemes (`data:`, `blob:`, extensions)."""
    request, response = entry["request"], entry["response"]
    parts = urlsplit(clean(str(request["url"])))
    if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
        return None
    content = response.get("content") or {}
    login, _, host = parts.netloc.rpartition("@")
    time_ms = entry.get("time")
    return Exchange(
        method=_method(request["method"]),
        scheme=parts.scheme,
        host=host.lower(),
        path=parts.path or "/",
        query=parts.query,
        login=login,
        headers=_headers(request.get("headers")),
        body=_body(request.get("postData")),
        status=int(response["status"] or 0),
        answer_headers=_headers(response.get("headers")),
        answer_kind=str(content.get("mimeType") or "").partition(";")[0].strip().lower(),
        answer=_text(content),
        started_s=_seconds(entry.get("startedDateTime")),
        duration_s=_milliseconds(time_ms) / 1000,
    )


def _method(name: Any) -> str:
    """A method. Raises ValueError."""
    if not re.fullmatch(r"[A-Za-z-]{1,20}", str(name)):
        raise ValueError(name)
    return str(name).upper()


def _milliseconds(time: Any) -> float:
    """The time of an exchange as far as it is known; HAR has -1 where it is not."""
    return min(float(time), _LONGEST_MS) if isinstance(time, int | float) and time > 0 else 0.0


def _headers(fields: Any) -> tuple[tuple[str, str], ...]:
    """Header fields, without names that none can have (`:authority`) and without ends of lines in values."""
    return tuple(
        (name, _LINE_END.sub(" ", value)) for name, value in _fields(fields) if _NAME.fullmatch(name)
    )


def _fields(fields: Any) -> tuple[tuple[str, str], ...]:
    return tuple((clean(str(field["name"])), clean(str(field["value"]))) for field in fields or ())


def _seconds(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _is_text(kind: str) -> bool:
    return any(word in kind.lower() for word in _TEXTS)


def _text(content: Any) -> str | None:
    """A response's text; None of a binary or a long one."""
    text = content.get("text")
    if not isinstance(text, str) or not _is_text(str(content.get("mimeType") or "")):
        return None
    if content.get("encoding") == "base64":
        if len(text) > LONGEST_RESPONSE * 4 // 3:
            return None
        try:
            text = base64.b64decode(text).decode("utf-8", "replace")
        except binascii.Error:
            return None
    return clean(text) if len(text) <= LONGEST_RESPONSE else None


def _body(data: Any) -> Body | None:
    if not data:
        return None
    mime = str(data.get("mimeType") or "")
    kind = mime.partition(";")[0].strip().lower()
    text = data.get("text") or ""
    parameters = data.get("params") or []
    if data.get("encoding") == "base64" and text:
        raw = base64.b64decode(text)
        if not _is_text(kind):
            return Body(kind, size=len(raw))
        text = raw.decode("utf-8", "replace")
    text = clean(str(text))
    if kind == "multipart/form-data":
        return _multipart(mime, text, parameters)
    if kind == "application/x-www-form-urlencoded":
        pairs = parse_qsl(text, keep_blank_values=True) if text else _fields(parameters)
        return Body(kind, text, tuple(pairs))
    if not text:
        return None
    has_bytes = "\0" in text or text.count("\N{REPLACEMENT CHARACTER}") > len(text) // 20
    return Body(kind, size=len(text)) if has_bytes else Body(kind, text)


def _multipart(mime: str, text: str, parameters: Any) -> Body:
    """Fields and names of files of a form; contents of files are not recorded by every browser."""
    fields: list[tuple[str, str]] = []
    files: list[tuple[str, str]] = []
    for parameter in parameters:
        name, file = clean(str(parameter["name"])), parameter.get("fileName")
        if file or parameter.get("contentType"):
            files.append((name, clean(str(file or name))))
        else:
            fields.append((name, clean(str(parameter.get("value") or ""))))
    if not parameters and text:
        parser = email.parser.BytesParser(policy=email.policy.HTTP)
        message = parser.parsebytes(f"Content-Type: {mime}\r\n\r\n{text}".encode("utf-8", "replace"))
        for part in message.iter_parts() if message.is_multipart() else ():
            name = clean(str(part.get_param("name", "field", header="content-disposition")))
            content = part.get_payload(decode=True)
            if part.get_filename() is not None:
                files.append((name, clean(str(part.get_filename()))))
            elif isinstance(content, bytes):
                fields.append((name, content.decode("utf-8", "replace")))
    return Body("multipart/form-data", fields=tuple(fields), files=tuple(files))
