"""`loadcell http URL`: a load on an HTTP service, without a plan file."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import click

from loadcell.cli import language, messages
from loadcell.cli.adhoc import Hidden, hide, line_options, typed, words
from loadcell.cli.adhoc import plan as adhoc_plan
from loadcell.cli.arguments import Integer
from loadcell.cli.command import argument, command, option
from loadcell.plan import secrets as plan_secrets
from loadcell.plan.secret_patterns import is_secret_field

if TYPE_CHECKING:
    from loadcell.cli.adhoc import LineOptions
    from loadcell.model.json import JsonObject

#: holds the value of the field Authorization
LOGIN = "LOADCELL_AUTHORIZATION"
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
#: what somebody wrote who meant a range
_LIKE_A_RANGE = re.compile(r"[^,./]+\.\.[^,./]+")
#: header fields that a request has once; others may be lists, whose parts may stand in one field as well (RFC
#: 9110, 5.2 and 5.3)
_ONCE = ("content-type", "host", "user-agent")


@command("http")
@argument("url", metavar="URL", shell_complete=words("http://", "https://"))
@option(
    "--method",
    "-X",
    metavar="NAME",
    shell_complete=words("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"),
    group="request",
)
@option("--header", "-H", "headers", multiple=True, metavar="'NAME: VALUE'", group="request")
@option("--data", metavar="TEXT", group="request")
@option("--param", "-p", "parameters", multiple=True, metavar="NAME=VALUES", group="request")
@option("--keep-alive/--no-keep-alive", default=True, show_default=True, group="request")
@option("--success", metavar="STATUS[,STATUS...]", group="request")
@option("--http2", is_flag=True, group="request")
@option("--streams", type=Integer(), metavar="N", group="request")
@option("--insecure", "-k", is_flag=True, group="request")
@option("--socket", metavar="PATH", type=click.Path(), group="request")
@line_options("http", "http")
def http(
    url: str,
    method: str | None,
    headers: tuple[str, ...],
    data: str | None,
    parameters: tuple[str, ...],
    keep_alive: bool,
    success: str | None,
    http2: bool,
    streams: int | None,
    insecure: bool,
    socket: str | None,
    options: LineOptions,
) -> int:
    """Load-test an HTTP service."""
    base, path, shown, login = _place(url)
    target: JsonObject = {"url": base}
    if insecure:
        target["tls"] = {"verify": False}
    if socket is not None:
        target["socket"] = str(Path(socket).expanduser().absolute())
    fields, secrets = _fields(headers)
    if login is not None:
        secrets.append(login)
    if (login is not None or LOGIN in os.environ) and "Authorization" not in fields:
        fields["Authorization"] = f"${{env:{LOGIN}}}"
    verb = method or ("POST" if data is not None else "GET")
    work: JsonObject = {"method": verb, "path": path}
    work |= {key: value for key, value in (("headers", fields), ("body", _body(data))) if value}
    if parameters:
        work["parameters"] = dict(map(_parameter, parameters))
    if http2:
        work["version"] = 2
    if streams is not None:
        work["streams"] = streams
    if not keep_alive:
        work["keep_alive"] = False
    if success is not None:
        work["success"] = [int(word) if word.isdigit() else word for word in success.split(",")]
    env = hide(secrets)
    line = adhoc_plan.Line(
        "http", f"{verb} {shown}", {"http": target}, {"http": work}, typed("http", [url], secrets)
    )
    return adhoc_plan.act(line, options, env)


def _place(url: str) -> tuple[str, str, str, Hidden | None]:
    """Address of the service, path, printable form of the URL, and a login in it. Raises CallError."""
    address = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise language.CallError(messages.CALL_INVALID_URL(url=repr(_shown(url)), reason=error)) from None
    if parts.scheme not in ("http", "https") or not host:
        raise language.CallError(messages.CALL_NO_URL(url=repr(_shown(url))))
    where = f"[{host}]" if ":" in host else host
    base = f"{parts.scheme}://{where}" + (f":{port}" if port is not None else "")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    login = None
    if parts.username is not None:
        words = ":".join(unquote(word) for word in (parts.username, parts.password or ""))
        value = f"Basic {base64.b64encode(words.encode()).decode()}"
        login = Hidden(f"{parts.netloc.rpartition('@')[0]}@", "", LOGIN, value)
    return base, path, base + path, login


def _shown(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//...@", url)


def _fields(headers: tuple[str, ...]) -> tuple[dict[str, str], list[Hidden]]:
    """Header fields by name; secrets become variables. Raises CallError."""
    fields: dict[str, str] = {}
    secrets = []
    for header in headers:
        name, colon, value = (part.strip() for part in header.partition(":"))
        if not colon or not name:
            raise language.CallError(messages.CALL_HEADER())
        if is_secret_field(name) and value and not plan_secrets.references(value):
            variable = "LOADCELL_" + re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
            secrets.append(Hidden(header, f"{name}: ${{env:{variable}}}", variable, value))
            value = f"${{env:{variable}}}"
        _add(fields, name, value)
    return fields, secrets


def _add(fields: dict[str, str], name: str, value: str) -> None:
    """Add a field; repeated ones become a list. Raises CallError if the field may not be repeated."""
    same = next((other for other in fields if other.lower() == name.lower()), None)
    if same is None:
        fields[name] = value
    elif name.lower() in _ONCE or is_secret_field(name):
        raise language.CallError(messages.CALL_HEADER_TWICE(name=name))
    else:
        fields[same] += f", {value}"


def _body(data: str | None) -> str | dict[str, str] | None:
    """A text, or its absolute path, because the written plan is in another directory.

    Raises CallError.
    """
    if data is None or not data.startswith("@"):
        return data
    return {"file": _file("--data", data)}


def _file(option: str, text: str) -> str:
    """The path of an `@FILE`. Raises CallError."""
    path = Path(text[1:]).expanduser()
    if not path.is_file():
        raise language.CallError(messages.CALL_NO_FILE(option=option, text=text, path=repr(text[1:])))
    return str(path.absolute())


def _parameter(text: str) -> tuple[str, JsonObject]:
    """Parse `NAME=VALUES`. Raises CallError."""
    name, equals, values = text.partition("=")
    if not equals or not name or not values:
        raise language.CallError(messages.CALL_PARAMETER(text=text))
    if values.startswith("@"):
        return name, {"file": _file("--param", values)}
    numbers = _RANGE.fullmatch(values)
    if numbers is None and _LIKE_A_RANGE.fullmatch(values):
        raise language.CallError(messages.CALL_PARAMETER_RANGE(text=text, values=repr(values), name=name))
    if numbers is not None:
        return name, {"from": int(numbers[1]), "to": int(numbers[2])}
    return name, {"values": values.split(",")}
