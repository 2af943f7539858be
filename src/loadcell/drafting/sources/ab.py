"""A command line of ab."""

from __future__ import annotations

from loadcell.drafting.command import COMMAND_MISSING, CommandLine, numbers
from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.http_parts import OutsideTexts, address_of, basic
from loadcell.drafting.http_request import draft, put_headers, split_field
from loadcell.ingest.commands import SYNTAXES
from loadcell.model.message import MessageCode

AB_KEEP_ALIVE = MessageCode("draft-ab.keep-alive", "info")

_ALWAYS = ("q", "v", "w", "g", "e", "d", "S", "r", "l", "x", "y", "z", "V")


def _draft(origin: Origin) -> Draft:
    line = CommandLine(origin, SYNTAXES["ab"])
    line.needless(*_ALWAYS)
    texts = OutsideTexts()
    arguments = line.arguments()
    if not arguments:
        raise DraftError(COMMAND_MISSING(program="ab", argument="http://127.0.0.1:8080/"))
    address = address_of(arguments[0], texts)
    request = Section()
    body, upload = line.value("p"), line.value("u")
    method = line.value("m") or ("POST" if body else "PUT" if upload else "HEAD" if line.flag("i") else "GET")
    request.put("method", method)
    request.put("path", address.path)
    fields = [split_field(field) for field in line.values("H")]
    fields += [("Cookie", cookie) for cookie in line.values("C")[:1]]
    kind = line.value("T")
    if body or upload:
        fields.append(("Content-Type", kind or "text/plain"))
    put_headers(request, fields, texts)
    login = line.value("A")
    if login:
        user, _, password = login.partition(":")
        request.put("auth", basic(user, password, texts))
    if body or upload:
        request.put("body", {"file": line.file("-p", body or upload or "")})
    if not line.flag("k"):
        request.put("keep_alive", False, AB_KEEP_ALIVE())
    time, count = line.seconds("t"), line.integer("n")
    settings = numbers(
        clients=line.integer("c") or 1,
        timeout=line.seconds("s"),
        requests=count or (None if time else 1),
        duration=time,
    )
    return draft(origin.name, address, request, texts, settings, line.notes())


DRAFT = Source(_draft, ("ab",))
