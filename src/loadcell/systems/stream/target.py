"""An existing service that reads a stream of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict, Field, field_validator

from loadcell.model.extensions import STREAM
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError
from loadcell.systems.base import TargetFacts
from loadcell.systems.http.target import Address, ExistingOptions, ExistingService

STREAM_NO_DATA = MessageCode("stream.no-data")
SERVICE_URL_HTTP = MessageCode("service.url-http", url=str)


class StreamOptions(ExistingOptions):
    """Where the service is."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="stream")

    url: str = Field(
        min_length=1,
        description="Host and port: `tcp://127.0.0.1:9000`.",
        examples=["tcp://127.0.0.1:9000"],
    )
    socket: str | None = Field(
        default=None,
        min_length=1,
        description="Path of a Unix socket to connect to, instead of the url's host and port.",
    )

    @field_validator("url")
    @classmethod
    def _url_is_complete(cls, url: str) -> str:
        if Address.of(url).protocol != STREAM:
            raise SettingError(SERVICE_URL_HTTP(url=repr(url)))
        return url


@dataclass(frozen=True, kw_only=True)
class StreamFacts(TargetFacts):
    """Facts of a service. With a `socket` the url's host and port were not used."""

    url: str
    socket: str | None = None


class Stream(ExistingService[StreamOptions]):
    """An existing service of a stream of records."""

    name: ClassVar[str] = "stream"
    summary: ClassVar[str] = "an existing service that reads a stream of records"
    Options: ClassVar[type[Options]] = StreamOptions
    offers = frozenset({STREAM})
    no_data = STREAM_NO_DATA

    def describe(self) -> StreamFacts:
        return StreamFacts(server="external", url=self.options.url, socket=self.options.socket)


PART = Stream
