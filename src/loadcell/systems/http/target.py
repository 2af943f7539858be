"""An existing HTTP service: it is never started, stopped or changed."""

from __future__ import annotations

import http.client
import ssl
from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict, Field, field_validator, model_validator

from loadcell.model.extensions import HTTP
from loadcell.plan.parts import Options
from loadcell.systems.base import (
    Role,
    ServerEndpoint,
    Target,
    TargetContext,
    TargetFacts,
)
from loadcell.systems.http.service import HTTP_NO_DATA, Address, TlsOptions, listeners

#: What asking a service about itself may take; it is no part of any figure.
_ASK_LIMIT_S = 3.0


class HttpOptions(Options):
    """Where the service is, and how to be sure that it is the right one."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="http")

    url: str = Field(
        min_length=1,
        description="Scheme, host and port: `http://shop.example:8080` or `https://shop.example`. Paths "
        "belong to the workload.",
    )
    tls: TlsOptions = Field(default_factory=TlsOptions, description="`https` only: whom to trust.")

    @field_validator("url")
    @classmethod
    def _url_is_complete(cls, url: str) -> str:
        Address.of(url)
        return url

    @model_validator(mode="after")
    def _is_consistent(self) -> HttpOptions:
        self.tls.check(self.url)
        return self


@dataclass(frozen=True, kw_only=True)
class HttpFacts(TargetFacts):
    """Facts of a service; `software` is None if it does not say."""

    url: str
    software: str | None


class Http(Target[HttpOptions]):
    """An existing service."""

    name: ClassVar[str] = "http"
    summary: ClassVar[str] = "an existing service of HTTP"
    Options: ClassVar[type[Options]] = HttpOptions
    offers = frozenset({HTTP})
    no_data = HTTP_NO_DATA

    def __init__(self, options: HttpOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._address = Address.of(options.url)

    @classmethod
    def started(cls, options: HttpOptions) -> bool:  # noqa: ARG003
        return False

    def up(self) -> None:
        self._address.knock(_ASK_LIMIT_S)

    def endpoint(self) -> ServerEndpoint:
        return self._address.endpoint(self.options.tls)

    def describe(self) -> HttpFacts:
        return HttpFacts(server="external", url=self.options.url, software=_software(self._address))

    def roles(self) -> tuple[Role, ...]:
        pids = listeners(self._address)
        return (Role("service", tuple(pids)),) if pids else ()

    def alive(self) -> bool:
        return self._address.answers(_ASK_LIMIT_S)


def _software(address: Address) -> str | None:
    """The server software, by a HEAD of its root."""
    connection: http.client.HTTPConnection
    if address.tls:
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(
            address.host, address.port, timeout=_ASK_LIMIT_S, context=unverified
        )
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=_ASK_LIMIT_S)
    try:
        connection.request("HEAD", "/")
        return connection.getresponse().getheader("Server")
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


PART = Http
