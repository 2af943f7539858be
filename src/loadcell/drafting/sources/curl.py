"""A command line of curl, such as browsers copy it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from loadcell.drafting.bodies import body
from loadcell.drafting.command import COMMAND_MISSING, COMMAND_NO_COUNTERPART, CommandLine, numbers
from loadcell.drafting.curl_body import CURL_MIXED, CurlBody, curl_body
from loadcell.drafting.curl_words import split_curl
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.http_parts import Address, OutsideTexts, address_of, basic
from loadcell.drafting.http_request import draft, put_headers, split_field
from loadcell.ingest.commands import Word
from loadcell.model.message import MessageCode

CURL_ADDRESSES = MessageCode("draft-curl.addresses")

_ALWAYS = ("s", "silent", "S", "show-error", "o", "output", "v", "verbose", "w", "write-out", "i", "include",
           "N", "no-buffer", "f", "fail", "#", "progress-bar", "globoff", "g")  # fmt: skip


def _draft(origin: Origin) -> Draft:
    line = CommandLine(origin, split_curl(origin.words[1:]))
    line.needless(*_ALWAYS)
    texts = OutsideTexts()
    urls = [*line.values("url"), *line.arguments()]
    if not urls:
        raise DraftError(COMMAND_MISSING(program="curl", argument="http://127.0.0.1:8080/"))
    if len(urls) > 1 and any("://" not in url for url in urls):
        raise DraftError(CURL_ADDRESSES())
    sent = curl_body(line)
    notes = sent.notes if sent is not None else ()
    url = urls[0]
    if sent is not None and line.flag("G", "get"):
        if sent.file is not None:
            raise DraftError(CURL_MIXED(option="-G"))
        url, _, _ = url.partition("#")
        url += ("&" if "?" in url else "?") + sent.text
        sent = None
    uploads = line.value("T", "upload-file")
    if uploads and url.endswith("/"):
        url += quote(Path(uploads).name)
    address = address_of(url, texts)
    request = Section()
    fields = _fields(line, sent)
    form = line.options("F", "form", "form-string")
    default = "HEAD" if line.flag("I", "head") else "PUT" if uploads else "GET"
    method = (line.value("X", "request") or "").upper() or ("POST" if sent is not None or form else default)
    request.put("method", method)
    request.put("path", address.path)
    put_headers(request, fields, texts)
    user = line.value("u", "user")
    if user:
        name, _, password = user.partition(":")
        request.put("auth", basic(name, password, texts))
    elif token := line.value("oauth2-bearer"):
        request.put("auth", {"bearer": texts.secret("token", token)})
    if uploads:
        request.put("body", {"file": line.file("-T", uploads)})
    elif sent is not None:
        file = {"file": sent.file}
        request.put("body", body(sent.text, texts, sent.kind) if sent.file is None else file)
    if line.flag("http2", "http2-prior-knowledge"):
        request.put("version", 2)
    target: dict[str, Value] = numbers(socket=line.value("unix-socket"))
    if line.flag("k", "insecure") and address.base.startswith("https"):
        target["tls"] = {"verify": False}
    settings = numbers(clients=1, timeout=line.seconds("m", "max-time"))
    notes = (*notes, *line.notes())
    if len(urls) > 1:
        others = [address_of(other, OutsideTexts()).base for other in urls[1:]]
        notes = (*notes, COMMAND_NO_COUNTERPART(options=others))
    if form:
        return draft(
            origin.name, address, _step(request, form, line, texts, address), texts, settings, notes, target
        )
    return draft(origin.name, address, request, texts, settings, notes, target)


def _fields(line: CommandLine, sent: CurlBody | None) -> list[tuple[str, str]]:
    """Header fields, with those that curl adds for the body."""
    fields = [split_field(field) for field in line.values("H", "header")]
    cookies = line.values("b", "cookie", having="=")  # without it is a file, which has no counterpart
    fields += [("Cookie", "; ".join(cookies))] if cookies else []
    for name, value in (
        ("User-Agent", line.value("A", "user-agent")),
        ("Referer", line.value("e", "referer")),
    ):
        fields += [(name, value)] if value else []
    added = [("Content-Type", sent.kind)] if sent is not None else []
    if line.flag("json"):
        added.append(("Accept", sent.kind if sent is not None else "application/json"))
    names = {name.lower() for name, _ in fields}
    return [*fields, *((name, value) for name, value in added if name.lower() not in names)]


def _step(
    request: Section, form: list[Word], line: CommandLine, texts: OutsideTexts, address: Address
) -> Section:
    """The request as the only step of a scenario, which may send files."""
    values: dict[str, str] = {}
    files: dict[str, dict[str, str]] = {}
    for field in form:
        name, _, value = field.value.partition("=")
        if field.name != "form-string" and value.startswith("<"):
            raise DraftError(CURL_MIXED(option="-F"))
        if field.name != "form-string" and value.startswith("@"):
            files[texts.text(name)] = {"file": line.file("-F", value[1:].partition(";")[0])}
        else:
            values[texts.text(name)] = texts.value(name, value)
    if address.auth and not any(entry.key == "auth" for entry in request.entries):
        request.put("auth", address.auth)
    if values:
        request.put("form", values)
    if files:
        request.put("files", files)
    steps = Section(request=request)
    return Section(steps=steps)


DRAFT = Source(_draft, ("curl",))
