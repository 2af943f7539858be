"""An existing HTTP service: where it listens, and who listens there. It is never started, stopped or
changed.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, field_validator, model_validator

from loadcell.model.extensions import HTTP, STREAM, Capability
from loadcell.model.message import ForeignText, MessageCode, Seconds
from loadcell.plan.parts import FAULTS_ALLOWED, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.tls import TlsOptions
from loadcell.systems.base import (
    Role,
    ServerEndpoint,
    Target,
    TargetContext,
    TargetError,
    TargetFacts,
)
from loadcell.systems.shared import account
from loadcell.systems.shared.server_process import listeners
from loadcell.systems.subjects import Network

SERVICE_HOST = MessageCode("service.host", host=str, said=ForeignText)
SERVICE_TIMEOUT = MessageCode("service.timeout", limit_s=Seconds, where=str)
SERVICE_REFUSED = MessageCode("service.refused", said=ForeignText, where=str)
SERVICE_NO_SOCKET = MessageCode("service.no-socket", path=str)
HTTP_NO_DATA = MessageCode("http.no-data")
SERVICE_SOCKET_TLS = MessageCode("service.socket-tls")
SERVICE_NO_URL = MessageCode("service.no-url", said=ForeignText, url=str)
SERVICE_URL_KIND = MessageCode("service.url-kind", url=str)
SERVICE_URL_PORT = MessageCode("service.url-port", url=str)
SERVICE_URL_STREAM = MessageCode("service.url-stream", url=str)
SERVICE_URL_LOGIN = MessageCode("service.url-login", header=str)
SERVICE_URL_PATH = MessageCode("service.url-path", path=str)
SERVICE_HOST_NAME = MessageCode("service.host-name", host=str, said=ForeignText)


_PORTS = {"http": 80, "https": 443}
#: The scheme of services that read a stream of records.
_STREAM = "tcp"


@dataclass(frozen=True)
class Address:
    """Host and port of a url, or the path of a Unix socket, whose requests are for that host.

    `protocol` is HTTP, or STREAM for the scheme `tcp`.
    """

    host: str
    port: int
    tls: bool
    socket: str | None = None
    protocol: Capability = HTTP

    @staticmethod
    def of(url: str, socket: str | None = None) -> Address:
        """Read a url without a path. Raises ValueError."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise SettingError(SERVICE_NO_URL(url=repr(url), said=error)) from None
        if parts.scheme not in (*_PORTS, _STREAM) or not parts.hostname:
            raise SettingError(SERVICE_URL_KIND(url=repr(url)))
        if parts.scheme == _STREAM and not port:
            raise SettingError(SERVICE_URL_PORT(url=repr(url)))
        if parts.username is not None or parts.password is not None:
            raise SettingError(SERVICE_URL_LOGIN(header='headers: {Authorization: "${env:NAME}"}'))
        if parts.path not in ("", "/") or parts.query or parts.fragment:
            raise SettingError(SERVICE_URL_PATH(path=repr(url.split(parts.netloc, 1)[1])))
        tls = parts.scheme == "https"
        if tls and socket is not None:
            raise SettingError(SERVICE_SOCKET_TLS())
        protocol = STREAM if parts.scheme == _STREAM else HTTP
        return Address(_ascii(parts.hostname), port or _PORTS[parts.scheme], tls, socket, protocol)

    def __str__(self) -> str:
        if self.socket is not None:
            return self.socket
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def endpoint(self, tls: TlsOptions) -> ServerEndpoint:
        """The endpoint of a load."""
        if not self.tls:
            return ServerEndpoint(self.protocol.name, self.host, self.port, self.socket, sslmode="disable")
        return ServerEndpoint(
            "http",
            self.host,
            self.port,
            sslmode="verify-full" if tls.verify else "require",
            sslrootcert=tls.certificates,
            tls_name=tls.name,
        )

    def knock(self, limit_s: float) -> None:
        """Raises TargetError where nobody takes a connection, or none can be begun."""
        try:
            connect(self, limit_s).close()
        except socket.gaierror as error:
            raise TargetError(SERVICE_HOST(host=repr(self.host), said=error.strerror)) from error
        except TimeoutError as error:
            raise TargetError(SERVICE_TIMEOUT(where=self, limit_s=limit_s)) from error
        except OSError as error:
            text = error.strerror or error
            if account.no_port_left(error):
                raise TargetError(account.no_port(self, str(text))) from error
            path = None if self.socket is None else Path(self.socket)
            if path is not None and isinstance(error, ConnectionRefusedError) and not path.is_socket():
                raise TargetError(SERVICE_NO_SOCKET(path=str(path))) from error
            raise TargetError(SERVICE_REFUSED(where=self, said=text)) from error

    def answers(self, limit_s: float) -> bool:
        """True if the service accepts a connection, or if no local port is free to try one."""
        try:
            self.knock(limit_s)
        except TargetError as error:
            return error.message.code == account.NO_PORT.code
        return True

    @property
    def network(self) -> Network:
        """Connections to it, as a proxy sees them."""
        return Network(http=self.protocol == HTTP and not self.tls)

    @property
    def here(self) -> bool:
        """True if it is an address of this machine alone."""
        if self.socket is not None or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def connect(address: Address, limit_s: float) -> socket.socket:
    """A connection. Raises OSError."""
    if address.socket is None:
        return socket.create_connection((address.host, address.port), timeout=limit_s)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(limit_s)
        connection.connect(address.socket)
    except OSError:
        connection.close()
        raise
    return connection


def _ascii(host: str) -> str:
    """A name as it is looked up, told to the server and found in its certificate: `xn--bcher-kva.example`.

    Raises ValueError.
    """
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise SettingError(SERVICE_HOST_NAME(host=repr(host), said=error)) from None


#: What asking a service about itself may take; it is no part of any figure.
_ASK_LIMIT_S = 3.0


class ExistingOptions(Options):
    """Address of a service, and whether faults may be injected into it."""

    url: str = Field(min_length=1)
    socket: str | None = Field(default=None, min_length=1)
    tls: TlsOptions = Field(default_factory=TlsOptions, description="`https` only: whom to trust.")
    faults_allowed: bool | None = FAULTS_ALLOWED

    @property
    def allows_faults(self) -> bool:
        return self.faults_allowed is True

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        Address.of(self.url, self.socket)
        self.tls.check(self.url)
        return self


class HttpOptions(ExistingOptions):
    """Where the service is, and how to be sure that it is the right one."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="http")

    url: str = Field(
        min_length=1,
        description="Scheme, host and port: `http://shop.example:8080` or `https://shop.example`. Paths "
        "belong to the workload.",
    )
    socket: str | None = Field(
        default=None,
        min_length=1,
        description="Path of a Unix socket to connect to; the url's host is then only named in requests.",
    )

    @field_validator("url")
    @classmethod
    def _url_is_complete(cls, url: str) -> str:
        if Address.of(url).protocol != HTTP:
            raise SettingError(SERVICE_URL_STREAM(url=repr(url)))
        return url


ExistingOptionsT = TypeVar("ExistingOptionsT", bound=ExistingOptions)


@dataclass(frozen=True, kw_only=True)
class HttpFacts(TargetFacts):
    """Facts of a service; `software` is None if it does not say."""

    url: str
    software: str | None


class ExistingService(Target[ExistingOptionsT], Generic[ExistingOptionsT]):
    """A service that is neither started, stopped nor changed."""

    def __init__(self, options: ExistingOptionsT, context: TargetContext) -> None:
        super().__init__(options, context)
        self._address = Address.of(options.url, options.socket)

    @classmethod
    def started(cls, options: ExistingOptionsT) -> bool:  # noqa: ARG003
        return False

    @classmethod
    def network(cls, options: ExistingOptionsT) -> Network | None:
        return Address.of(options.url, options.socket).network

    def up(self) -> None:
        self._address.knock(_ASK_LIMIT_S)

    def endpoint(self) -> ServerEndpoint:
        return self._address.endpoint(self.options.tls)

    def roles(self) -> tuple[Role, ...]:
        address = self._address
        pids = listeners(address.port, address.socket) if address.here else []
        return (Role("service", tuple(pids)),) if pids else ()

    def alive(self) -> bool:
        return self._address.answers(_ASK_LIMIT_S)


class Http(ExistingService[HttpOptions]):
    """An existing service of HTTP."""

    name: ClassVar[str] = "http"
    summary: ClassVar[str] = "an existing service of HTTP"
    Options: ClassVar[type[Options]] = HttpOptions
    offers = frozenset({HTTP})
    no_data = HTTP_NO_DATA

    def describe(self) -> HttpFacts:
        return HttpFacts(server="external", url=self.options.url, software=_software(self._address))


def _software(address: Address) -> str | None:
    """The server software, by a HEAD of its root."""
    connection: http.client.HTTPConnection
    if address.socket is not None:
        connection = http.client.HTTPConnection(address.host, address.port)
    elif address.tls:
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(
            address.host, address.port, timeout=_ASK_LIMIT_S, context=unverified
        )
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=_ASK_LIMIT_S)
    try:
        if address.socket is not None:
            connection.sock = connect(address, _ASK_LIMIT_S)
        connection.request("HEAD", "/")
        return connection.getresponse().getheader("Server")
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


PART = Http
