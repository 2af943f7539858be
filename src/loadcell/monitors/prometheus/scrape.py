"""Scrapes: GET requests of one URL within a time limit and a limit of bytes, on a kept connection.

No redirect is followed and no proxy is used: there is no traffic to any other place than the URL's.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import math
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from loadcell.model.message import Bytes, ForeignText, Message, MessageCode, MessageError, Seconds
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError
from loadcell.plan.tls import TlsOptions

SCRAPE_URL = MessageCode("scrape.url", url=str)
SCRAPE_URL_LOGIN = MessageCode("scrape.url-login")
SCRAPE_AUTH = MessageCode("scrape.auth")
SCRAPE_UNREACHABLE = MessageCode("scrape.unreachable", "caution", url=str, said=ForeignText)
SCRAPE_TIMEOUT = MessageCode("scrape.timeout", "caution", url=str, limit_s=Seconds)
SCRAPE_TLS = MessageCode("scrape.tls", "caution", url=str, said=ForeignText)
SCRAPE_LOGIN = MessageCode("scrape.login", "caution", url=str, status=str)
SCRAPE_STATUS = MessageCode("scrape.status", "caution", url=str, status=str)
SCRAPE_REDIRECT = MessageCode("scrape.redirect", "caution", url=str, status=str, location=ForeignText)
SCRAPE_ENCODING = MessageCode("scrape.encoding", "caution", url=str, encoding=ForeignText)
SCRAPE_BROKEN = MessageCode("scrape.broken", "caution", url=str, said=ForeignText)
SCRAPE_TOO_LARGE = MessageCode("scrape.too-large", "caution", url=str, limit_bytes=Bytes)

_PORTS: Final = {"http": 80, "https": 443}
_DEFAULT_PATH: Final = "/metrics"
#: Text is asked for before OpenMetrics: same numbers, shorter pages.
_ACCEPT: Final = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1"
_READ_BYTES: Final = 1 << 16
#: Characters of a server's text that a message has.
_TEXT_SHOWN: Final = 200


class Basic(Options):
    """User and password."""

    user: str = Field(min_length=1, description="The user's name.")
    password: str = Field(description="The password, as `${env:NAME}`.")


class Auth(Options):
    """Credentials, sent as the header field `Authorization`."""

    basic: Basic | None = Field(default=None, description="User and password.")
    bearer: str | None = Field(default=None, min_length=1, description="A token, as `${env:NAME}`.")

    @model_validator(mode="after")
    def _one_scheme(self) -> Auth:
        if (self.basic is None) == (self.bearer is None):
            raise SettingError(SCRAPE_AUTH())
        return self

    def header(self, secret: Callable[[str], str]) -> str:
        """The value of the header field, which is secret."""
        if self.basic is None:
            return f"Bearer {secret(self.bearer or '')}"
        login = f"{secret(self.basic.user)}:{secret(self.basic.password)}"
        return f"Basic {base64.b64encode(login.encode()).decode()}"


def check_url(url: str) -> None:
    """Raises SettingError for a URL that cannot be scraped."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in _PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or any(ord(letter) <= 32 for letter in url):
        raise SettingError(SCRAPE_URL(url=repr(url)))
    if parts.username is not None or parts.password is not None:
        raise SettingError(SCRAPE_URL_LOGIN())


class ScrapeError(MessageError):
    """A scrape that gave no page; its message tells why, and what to do."""


class _WithDeadline:
    """A socket whose reads all end by one instant of the monotonic clock, in seconds."""

    deadline_s = math.inf

    def recv_into(self, *arguments: Any, **options: Any) -> int:
        remaining_s = self.deadline_s - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError
        self.settimeout(remaining_s)  # type: ignore[attr-defined]
        count: int = super().recv_into(*arguments, **options)  # type: ignore[misc]
        return count


class _PlainSocket(_WithDeadline, socket.socket):
    pass


class _TlsSocket(_WithDeadline, ssl.SSLSocket):
    pass


class Endpoint:
    """One URL, scraped again and again. `shown` is the URL in messages, without secrets."""

    def __init__(
        self,
        url: str,
        tls: TlsOptions,
        *,
        shown: str,
        redact: Callable[[str], str] = str,
        authorization: str | None,
        limit_s: float,
        limit_bytes: int,
    ) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        self._path = (parts.path or _DEFAULT_PATH) + (f"?{parts.query}" if parts.query else "")
        self._tls = tls if parts.scheme == "https" else None
        self._context: ssl.SSLContext | None = None
        self._shown, self._redact = shown, redact
        self._limit_s, self._limit_bytes = limit_s, limit_bytes
        self._headers = {"Accept": _ACCEPT, "Accept-Encoding": "identity", "User-Agent": "loadcell"}
        if authorization is not None:
            self._headers["Authorization"] = authorization
        self._connection: http.client.HTTPConnection | None = None
        self._socket: _PlainSocket | _TlsSocket | None = None
        self.connects = 0

    def scrape(self) -> bytes:
        """The page. Raises ScrapeError, after which the connection is a new one."""
        try:
            return self._page(time.monotonic() + self._limit_s)
        except BaseException as error:
            self.close()
            if (message := self._explained(error)) is None:
                raise
            raise ScrapeError(message) from None

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None

    def _explained(self, error: BaseException) -> Message | None:
        url = self._shown
        match error:
            case TimeoutError():
                return SCRAPE_TIMEOUT(url=url, limit_s=self._limit_s)
            case ssl.SSLError():
                return SCRAPE_TLS(url=url, said=getattr(error, "verify_message", "") or error.reason or error)
            case OSError():
                return SCRAPE_UNREACHABLE(url=url, said=error.strerror or error)
            case http.client.InvalidURL():  # its text has the whole path, which may hold a secret
                return SCRAPE_BROKEN(url=url, said=type(error).__name__)
            case http.client.HTTPException():
                return SCRAPE_BROKEN(url=url, said=self._cut(f"{type(error).__name__} {error}".strip()))
            case _:
                return None

    def _page(self, deadline_s: float) -> bytes:
        reused = self._connection is not None
        try:
            response = self._asked(deadline_s)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            if not reused:
                raise
            self.close()  # the server closed a connection that was idle
            response = self._asked(deadline_s)
        self._check(response)
        pieces: list[bytes] = []
        size = 0
        while piece := response.read(_READ_BYTES):
            pieces.append(piece)
            size += len(piece)
            if size > self._limit_bytes:
                raise ScrapeError(SCRAPE_TOO_LARGE(url=self._shown, limit_bytes=self._limit_bytes))
        if response.length:  # the number of bytes that are missing
            raise http.client.IncompleteRead(b"", response.length)
        if response.will_close:
            self.close()
        return b"".join(pieces)

    def _asked(self, deadline_s: float) -> http.client.HTTPResponse:
        connection = self._connection or self._connect(deadline_s)
        assert self._socket is not None
        self._socket.deadline_s = deadline_s
        self._socket.settimeout(max(0.001, deadline_s - time.monotonic()))
        connection.request("GET", self._path, headers=self._headers)
        return connection.getresponse()

    def _connect(self, deadline_s: float) -> http.client.HTTPConnection:
        limit_s = max(0.001, deadline_s - time.monotonic())
        with socket.create_connection((self._host, self._port), timeout=limit_s) as made:
            plain = _PlainSocket(made.family, made.type, made.proto, fileno=made.detach())
        plain.settimeout(limit_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected: _PlainSocket | _TlsSocket = plain
        if self._tls is not None:
            try:
                context = self._context = self._context or _context(self._tls)
                wrapped = context.wrap_socket(plain, server_hostname=self._tls.name or self._host)
                assert isinstance(wrapped, _TlsSocket)
                connected = wrapped
            except BaseException:
                plain.close()
                raise
        connection = http.client.HTTPConnection(self._host, self._port)
        connection.auto_open = 0
        connection.default_port = _PORTS["http" if self._tls is None else "https"]  # for the Host field
        connection.sock = connected
        self._connection, self._socket = connection, connected
        self.connects += 1
        return connection

    def _check(self, response: http.client.HTTPResponse) -> None:
        """Raises ScrapeError for anything but a page."""
        status, encoding = response.status, response.getheader("Content-Encoding", "identity")
        written = self._cut(f"{status} {response.reason}".strip())
        if status in (401, 403, 407):
            raise ScrapeError(SCRAPE_LOGIN(url=self._shown, status=written))
        if 300 <= status < 400:
            location = (response.getheader("Location") or "").partition("?")[0]
            raise ScrapeError(SCRAPE_REDIRECT(url=self._shown, status=written, location=self._cut(location)))
        if status != 200:
            raise ScrapeError(SCRAPE_STATUS(url=self._shown, status=written))
        if encoding.lower() != "identity":
            raise ScrapeError(SCRAPE_ENCODING(url=self._shown, encoding=self._cut(encoding)))

    def _cut(self, text: str) -> str:
        """The beginning of a server's text, without secrets."""
        return self._redact(text)[:_TEXT_SHOWN]


def _context(tls: TlsOptions) -> ssl.SSLContext:
    """Raises OSError for a file of certificates that cannot be read."""
    context = ssl.create_default_context(cafile=tls.certificates)
    context.sslsocket_class = _TlsSocket
    if not tls.verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
