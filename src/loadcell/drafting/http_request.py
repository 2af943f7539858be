"""One request of HTTP as a plan has it, from the words of another tool."""

from __future__ import annotations

from collections.abc import Iterable

from loadcell.drafting.command import COMMAND_TITLE
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft
from loadcell.drafting.http_parts import Address, OutsideTexts, authorization
from loadcell.drafting.plan import load, plan
from loadcell.model.message import Message

#: Header fields that loadcell writes itself, or that belong to one connection.
AUTOMATIC = frozenset(
    {
        "host",
        "content-length",
        "connection",
        "transfer-encoding",
        "accept-encoding",
        "te",
        "upgrade",
        "expect",
    }
)


def put_headers(request: Section, fields: Iterable[tuple[str, str]], texts: OutsideTexts) -> None:
    """Put header fields, and the credentials among them, into a request or step."""
    headers: dict[str, str] = {}
    for name, value in fields:
        if not name or name.startswith(":") or name.lower() in AUTOMATIC:
            continue
        if name.lower() == "authorization":
            key, credentials = authorization(value, texts)
            if key == "auth":
                request.put("auth", credentials)
                continue
            headers[name] = str(credentials)
        else:
            headers[texts.text(name)] = texts.value(name, value)
    if headers:
        request.put("headers", headers)


def split_field(line: str) -> tuple[str, str]:
    """Name and value of `Name: value`."""
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


def draft(
    program: str,
    address: Address,
    request: Section,
    texts: OutsideTexts,
    settings: dict[str, Value],
    notes: tuple[Message, ...],
    target: dict[str, Value] | None = None,
) -> Draft:
    """The plan of one request, repeated. `target` are further options of the target."""
    if address.auth and not any(entry.key == "auth" for entry in request.entries):
        request.put("auth", address.auth)
    if texts.parameters():
        request.put("parameters", texts.parameters())
    section = plan(
        COMMAND_TITLE(command=program), Section(http=Section(url=address.base, **(target or {}))),
        Section(http=request), load(settings), levels=None,
    )  # fmt: skip
    return Draft(section, notes, texts.variables)
