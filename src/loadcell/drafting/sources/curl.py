"""A command line of curl, such as browsers copy it."""

from __future__ import annotations

from urllib.parse import quote

from loadcell.drafting.bodies import body
from loadcell.drafting.command import COMMAND_MISSING, COMMAND_NO_COUNTERPART, CommandLine, numbers
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.http_parts import Address, OutsideTexts, address_of, basic
from loadcell.drafting.http_request import draft, put_headers, split_field
from loadcell.ingest.commands import Syntax

#: Options of curl whose value is the next word.
_SYNTAX = Syntax(
    "curl",
    valued=frozenset(
        [
            *"XHdFubAeoxmTcwrCKUDEY",
            *("request", "header", "data", "data-raw", "data-binary", "data-urlencode", "data-ascii", "json"),
            *(
                "form",
                "form-string",
                "user",
                "cookie",
                "user-agent",
                "referer",
                "output",
                "proxy",
                "max-time",
            ),
            *("connect-timeout", "unix-socket", "url", "cacert", "cert", "key", "upload-file", "cookie-jar"),
            *(
                "write-out",
                "resolve",
                "range",
                "retry",
                "limit-rate",
                "oauth2-bearer",
                "max-redirs",
                "config",
            ),
            *(
                "interface",
                "connect-to",
                "ciphers",
                "tls-max",
                "proxy-user",
                "url-query",
                "abstract-unix-socket",
            ),
        ]
    ),
)
_ALWAYS = ("s", "silent", "S", "show-error", "o", "output", "v", "verbose", "w", "write-out", "i", "include",
           "N", "no-buffer", "f", "fail", "#", "progress-bar", "compressed", "globoff", "g")  # fmt: skip


def _draft(origin: Origin) -> Draft:
    line = CommandLine(origin, _SYNTAX)
    line.needless(*_ALWAYS)
    texts = OutsideTexts()
    urls = [*line.values("url"), *line.arguments()]
    if not urls:
        raise DraftError(COMMAND_MISSING(program="curl", argument="http://127.0.0.1:8080/"))
    data, kind = _data(line)
    url = urls[0]
    if data is not None and line.flag("G", "get"):
        url += ("&" if "?" in url else "?") + str(data)
        data = None
    address = address_of(url, texts)
    request = Section()
    uploads = line.value("T", "upload-file")
    fields = _fields(line, kind)
    form = line.values("F", "form", "form-string")
    default = "HEAD" if line.flag("I", "head") else "PUT" if uploads else "GET"
    method = (line.value("X", "request") or "").upper() or ("POST" if data is not None or form else default)
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
    elif isinstance(data, dict):
        request.put("body", data)
    elif data is not None:
        request.put("body", body(data, texts, kind or ""))
    if line.flag("http2", "http2-prior-knowledge"):
        request.put("version", 2)
    target: dict[str, Value] = numbers(socket=line.value("unix-socket"))
    if line.flag("k", "insecure") and address.base.startswith("https"):
        target["tls"] = {"verify": False}
    settings = numbers(clients=1, timeout=line.seconds("m", "max-time"))
    notes = line.notes()
    if len(urls) > 1:
        others = [address_of(other, OutsideTexts()).base for other in urls[1:]]
        notes = (*notes, COMMAND_NO_COUNTERPART(options=others))
    if form:
        return draft(
            origin.name, address, _step(request, form, line, texts, address), texts, settings, notes, target
        )
    return draft(origin.name, address, request, texts, settings, notes, target)


def _data(line: CommandLine) -> tuple[str | dict[str, str] | None, str | None]:
    """The body, a text or a file, and its content type."""
    pieces: list[str] = []
    for name in ("d", "data", "data-ascii", "data-binary"):
        for value in line.values(name):
            if value.startswith("@") and value != "@-":
                return {"file": line.file("-d", value[1:])}, "application/x-www-form-urlencoded"
            pieces.append(value)
    pieces += line.values("data-raw")
    for value in line.values("data-urlencode"):
        name, equals, text = value.partition("=")
        pieces.append(f"{name}={quote(text)}" if equals and name else quote(text if equals else name))
    documents = line.values("json")
    if documents:
        return "".join(documents), "application/json"
    return ("&".join(pieces), "application/x-www-form-urlencoded") if pieces else (None, None)


def _fields(line: CommandLine, kind: str | None) -> list[tuple[str, str]]:
    fields = [split_field(field) for field in line.values("H", "header")]
    fields += [("Cookie", value) for value in line.values("b", "cookie") if "=" in value][:1]
    fields += [("User-Agent", value) for value in line.values("A", "user-agent")[:1]]
    fields += [("Referer", value) for value in line.values("e", "referer")[:1]]
    if kind and not any(name.lower() == "content-type" for name, _ in fields):
        fields.append(("Content-Type", kind))
    return fields


def _step(
    request: Section, form: list[str], line: CommandLine, texts: OutsideTexts, address: Address
) -> Section:
    """The request as the only step of a scenario, which may send files."""
    values: dict[str, str] = {}
    files: dict[str, dict[str, str]] = {}
    for field in form:
        name, _, value = field.partition("=")
        if value.startswith("@"):
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
