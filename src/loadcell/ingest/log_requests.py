"""Requests of HTTP in access logs: method, path without values, and class of the status."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: A request in quotes, with its status behind it: the common log format, and others that follow it.
_REQUEST: Final = re.compile(r'"(?P<request>[^"\\]*(?:\\.[^"\\]*)*)" (?P<status>[1-5]\d\d)(?=\s|$)')
_PARTS: Final = re.compile(r"(?P<method>[A-Z][A-Z-]{1,20}) (?P<target>.*?)(?P<version> HTTP/[\d.]{1,4})?")
#: Values in a path; the version of an interface (`/v2/`) is none.
_VALUES: Final = re.compile(
    r"(?<=/)v\d{1,2}(?=/|$)"
    r"|(?P<uuid>(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z]))"
    r"|(?<=/)(?P<id>(?=[^/\d]*\d)(?=[^/A-Za-z]*[A-Za-z])[\w~-]{20,}(?=/|$))"
    r"|(?P<hex>(?<![0-9A-Za-z])(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{6,128}(?![0-9A-Za-z]))"
    r"|(?P<str>(?:%[0-9A-Fa-f]{2}[^/%]*)+)"
    r"|(?P<n>\d+)",
    re.ASCII,
)
#: Characters of a path that are shown.
_LONGEST: Final = 120
_MOST_PATHS: Final = 20_000


#: Methods and paths without their values, by those with all digits and identifiers alike; None of no request.
_SHOWN: dict[tuple[bytes, tuple[str, ...], bool], str | None] = {}
_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")
#: As `hex` above, in a text with all digits alike.
_IDENTIFIERS: Final = re.compile(
    rb"[0a-fA-F](?<![0-9A-Za-z].)(?=[a-fA-F]*0|(?<=0))(?=0*[a-fA-F]|(?<=[a-fA-F]))"
    rb"[0a-fA-F]{5,127}(?![0-9A-Za-z])"
)
_VERSIONS: Final = re.compile(r"/v(\d{1,2})(?!\d)")


@dataclass(frozen=True, slots=True)
class Request:
    """A request as a message: `GET /api/item/<n> 5xx`."""

    message: str
    is_error: bool


def request_of(text: str, *, is_access: bool) -> Request | None:
    """The request in a text; one of another log than an access log states its version of HTTP."""
    match = _REQUEST.search(text)
    if match is None:
        return None
    request = match["request"]
    before, mark, _ = request.partition("?") if is_access else (request, "", "")
    alike = before.encode("utf-8", "surrogatepass").translate(_ALIKE)
    alike = _IDENTIFIERS.sub(lambda item: b"\0" * (item.end() - item.start()), alike)
    key = (alike + mark.encode(), tuple(_VERSIONS.findall(before)), is_access)
    shown = _SHOWN.get(key, "")
    if shown == "":
        if len(_SHOWN) >= _MOST_PATHS:
            _SHOWN.clear()
        shown = _SHOWN[key] = _without_values(request, is_access=is_access)
    if shown is None:
        return None
    status = match["status"][0]
    return Request(f"{shown} {status}xx", status == "5")


def _without_values(request: str, *, is_access: bool) -> str | None:
    """Method and path of a request; None where a log other than an access log has no request."""
    parts = _PARTS.fullmatch(request)
    if not is_access and (parts is None or parts["version"] is None):
        return None
    return "<str>" if parts is None else f"{parts['method']} {_path(parts['target'])}"


def _path(target: str) -> str:
    path = target.partition("?")[0].partition("#")[0]
    shown = _VALUES.sub(lambda match: f"<{match.lastgroup}>" if match.lastgroup else match[0], path)
    return " ".join(shown.split())[:_LONGEST]
