"""HTTP requests: one kind or a mix of several, with parameters drawn for each."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from loadcell import _engine
from loadcell.model.engine_messages import engine_failure
from loadcell.model.extensions import HTTP, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, ForeignText, Message, MessageCode
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Size
from loadcell.plan.workload import Workload, declare_unit

if TYPE_CHECKING:
    from loadcell.plan.model import Load

HTTP_UNUSED_PARAMETER = MessageCode("http.unused-parameter", "caution", place=str)
HTTP_NEVER_SENT = MessageCode("http.never-sent", "caution")
HTTP_STREAMS_WITH_RATE = MessageCode("http.streams-with-rate")
HTTP_METHOD_CAPITALS = MessageCode("http.method-capitals", method=str)
HTTP_PARAMETER_SOURCE = MessageCode("http.parameter-source")
HTTP_PARAMETER_RANGE = MessageCode("http.parameter-range")
HTTP_PARAMETER_THETA = MessageCode("http.parameter-theta")
HTTP_MISPLACED = MessageCode("http.misplaced", key=str)
HTTP_REQUEST_NAME = MessageCode("http.request-name", name=str)
HTTP_FILE_NOT_UTF8 = MessageCode("http.file-not-utf8", path=str, byte=str)
HTTP_FILE_EMPTY = MessageCode("http.file-empty", path=str)
HTTP_FILE_TOO_LARGE = MessageCode("http.file-too-large", path=str, mebibytes=Count)
HTTP_FILE_UNREADABLE = MessageCode("http.file-unreadable", path=str, reason=ForeignText)
HTTP_REFUSED = MessageCode("http.refused", problem=Message, remedy=Message)

#: How long a request may take where the plan does not say: who waits longer has gone away.
TIMEOUT = "5s"
#: A file of values, or a body's, is kept in memory by every trial.
_LARGEST_FILE = 64 << 20
#: Operations of the workload's own: no request can have such a name.
STAGES = ("connect", "first_byte")

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,31}$")]
Text = str | int | float | bool
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")


def _as_written(version: object) -> object:
    """A value that YAML reads as a number."""
    number = isinstance(version, int | float) and not isinstance(version, bool)
    return f"{version:g}" if number else version


def _in_capitals(method: str) -> str:
    """Names of methods are case-sensitive: servers answer `get` with 400 or 405. Raises SettingError."""
    if method != method.upper() and method.upper() in _METHODS:
        raise SettingError(HTTP_METHOD_CAPITALS(method=method.upper()))
    return method


Method = Annotated[str, Field(min_length=1), AfterValidator(_in_capitals)]
Version = Annotated[
    Literal["1.1", "2"], BeforeValidator(_as_written, json_schema_input_type=Literal["1.1", "2"] | float)
]


class Check(Options):
    """Condition on a response's body for the request to succeed."""

    contains: str | None = Field(default=None, min_length=1, description="This text is in it.")
    equals: str | None = Field(default=None, description="It is this text.")
    pattern: str | None = Field(
        default=None, min_length=1, max_length=10_000, description="This regular expression is found in it."
    )
    size: int | None = Field(default=None, ge=0, description="Its size in bytes.")


class Parameter(Options):
    """Values of `${name}`: a number, a value of a list or of a file, or letters."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    start: int | None = Field(default=None, alias="from", ge=0, lt=2**63, description="The lowest number.")
    to: int | None = Field(default=None, ge=0, lt=2**63, description="The highest number.")
    digits: int = Field(
        default=0, ge=0, le=20, description="Numbers are filled up with zeros to this number of digits."
    )
    values: tuple[Text, ...] | None = Field(default=None, min_length=1, description="The values of a list.")
    file: str | None = Field(
        default=None, min_length=1, description="A file with one value a line, relative to the plan."
    )
    letters: int | None = Field(
        default=None,
        ge=0,
        le=64 << 20,
        description="This number of random letters: a body that nobody can compress.",
    )
    distribution: Literal[
        "uniform", "zipfian", "scrambled_zipfian", "latest", "hotspot", "gaussian", "sequential"
    ] = Field(
        default="uniform",
        description="How numbers and values are drawn. `sequential`: one after the other, shared out among "
        "clients.",
    )
    theta: float = Field(default=0.99, gt=0, lt=1000, description="`zipfian`, `latest`: how steep.")
    hot_data: float = Field(default=0.2, ge=0, le=1, description="`hotspot`: this share of them ...")
    hot_operations: float = Field(default=0.8, ge=0, le=1, description="... gets this share of the draws.")
    deviation: float = Field(
        default=0.1, gt=0, le=1000, description="`gaussian`: standard deviation, as a share of all."
    )

    _lines: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _one_source(self, info: ValidationInfo) -> Parameter:
        numbers = self.start is not None or self.to is not None
        sources = [numbers, self.values is not None, self.file is not None, self.letters is not None]
        if sum(sources) != 1:
            raise SettingError(HTTP_PARAMETER_SOURCE())
        if numbers and (self.to is None or (self.start or 0) > self.to):
            raise SettingError(HTTP_PARAMETER_RANGE())
        if self.theta == 1:
            raise SettingError(HTTP_PARAMETER_THETA())
        if self.file is not None:
            self._lines = _lines(Path((info.context or {}).get("directory") or Path()) / self.file)
        return self

    def section(self) -> JsonObject:
        """The section for the engine."""
        section = self.model_dump(exclude={"start", "values", "file"})
        if self.values is not None or self.file is not None:
            section["values"] = [_text(value) for value in self.values or ()] or list(self._lines)
        return {"from": self.start, **section}


class BodyFile(Options):
    """A body that is kept in a file."""

    file: str = Field(
        min_length=1,
        description="The file with it, relative to the plan: a text (UTF-8) with parameters, or bytes, which "
        "are sent as they stand.",
    )

    _bytes: bytes = PrivateAttr(default=b"")

    @model_validator(mode="after")
    def _is_read(self, info: ValidationInfo) -> BodyFile:
        self._bytes = _read(Path((info.context or {}).get("directory") or Path()) / self.file)
        return self

    def section(self) -> str | dict[str, str]:
        """The section for the engine: a text to the last end of a line, or bytes."""
        try:
            return self._bytes.decode("utf-8")
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(self._bytes).decode("ascii")}


class Request(Options):
    """Requests of one kind."""

    method: Method = Field(default="GET", description="GET, POST, PUT, DELETE, HEAD ...")
    path: str = Field(
        default="/", min_length=1, description="Path and query, with parameters: `/random_get?key=${key}`."
    )
    headers: dict[str, Text] = Field(
        default_factory=dict, description="Header fields, with parameters; secrets as `${env:NAME}`."
    )
    body: str | BodyFile | None = Field(
        default=None,
        description="What is sent with it, with parameters: a text, or `{file: order.json}`, a file's, "
        "relative to the plan.",
    )
    share: float = Field(
        default=1, ge=0, description="How often it is made, in shares of the sum of all requests' shares."
    )
    check: Check | None = Field(
        default=None,
        description="What the body of its response must be: `contains`, `equals`, `pattern`, `size`.",
    )

    def section(self, name: str) -> JsonObject:
        """The section for the engine."""
        return {
            "name": name,
            "method": self.method,
            "path": self.path,
            "headers": {key: _text(value) for key, value in self.headers.items()},
            "body": self.body.section() if isinstance(self.body, BodyFile) else self.body,
            "share": self.share,
            "check": None if self.check is None else self.check.model_dump(mode="json"),
        }


class HttpOptions(Options):
    """One kind of request, or several by name under `requests`."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="http")

    version: Version = Field(
        default="1.1",
        description="Of the protocol: 1.1, or 2 (over TLS the server must offer it, without TLS it is spoken "
        "from the start).",
    )
    method: Method = Field(default="GET", description="GET, POST, PUT, DELETE, HEAD ...")
    path: str = Field(
        default="/", min_length=1, description="Path and query, with parameters: `/random_get?key=${key}`."
    )
    headers: dict[str, Text] = Field(
        default_factory=dict,
        description="Header fields of every request, with parameters; secrets as `${env:NAME}`.",
    )
    body: str | BodyFile | None = Field(
        default=None,
        description="What is sent with it, with parameters: a text, or `{file: order.json}`, a file's, "
        "relative to the plan.",
    )
    check: Check | None = Field(
        default=None,
        description="What the body of a response must be: `contains`, `equals` (a text), `pattern` (a "
        "regular expression), `size` (bytes).",
    )
    requests: dict[Name, Request] | None = Field(
        default=None,
        min_length=1,
        description="Several kinds of requests by name, each with its `share`, instead of one.",
    )
    parameters: dict[Variable, Parameter] = Field(
        default_factory=dict, description="Values of `${name}`, drawn again for each request."
    )
    keep_alive: bool = Field(
        default=True,
        description="A connection carries one request after the other; `false`: each request makes its own, "
        "within its response time.",
    )
    streams: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="HTTP/2: how many requests each connection has in progress at once, or as many as the "
        "server takes.",
    )
    success: tuple[str | int, ...] = Field(
        default=("2xx", "3xx"),
        min_length=1,
        description="Statuses with which a request has succeeded: classes and numbers. Redirections are not "
        "followed.",
    )
    header_limit: Size = Field(
        default=Size(64 << 10), ge=1024, le=1 << 30, description="How long the header of a response may be."
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> HttpOptions:
        if self.requests is not None:
            misplaced = [key for key in ("method", "path", "body", "check") if key in self.model_fields_set]
            if misplaced:
                raise SettingError(HTTP_MISPLACED(key=misplaced[0]))
            taken = [name for name in self.requests if name in (*STAGES, "transaction")]
            if taken:
                raise SettingError(HTTP_REQUEST_NAME(name=taken[0]))
        _checked(self.section())
        return self

    def kinds(self) -> dict[str, Request]:
        """Every kind of request; a single one has no name."""
        if self.requests is None:
            single = Request(method=self.method, path=self.path, headers=self.headers, check=self.check)
            # Its file has been read, from where the plan is.
            return {"request": single.model_copy(update={"body": self.body})}
        return {
            name: request.model_copy(update={"headers": {**self.headers, **request.headers}})
            for name, request in self.requests.items()
        }

    def section(self) -> JsonObject:
        """The section for the engine."""
        return {
            "version": self.version,
            "requests": [request.section(name) for name, request in self.kinds().items()],
            "parameters": {name: parameter.section() for name, parameter in self.parameters.items()},
            "keep_alive": self.keep_alive,
            "streams": self.streams,
            "success": [str(word) for word in self.success],
            "header_bytes": int(self.header_limit),
        }


def _text(value: Text) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lines(path: Path) -> tuple[str, ...]:
    """The lines of a file, without empty ones. Raises SettingError."""
    try:
        text = _read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingError(HTTP_FILE_NOT_UTF8(path=path, byte=error.start)) from None
    lines = tuple(line for line in text.splitlines() if line)
    if not lines:
        raise SettingError(HTTP_FILE_EMPTY(path=path))
    return lines


def _read(path: Path) -> bytes:
    """All of a file, byte for byte. Raises SettingError."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise SettingError(HTTP_FILE_TOO_LARGE(path=path, mebibytes=_LARGEST_FILE >> 20))
        return path.read_bytes()
    except OSError as error:
        raise SettingError(HTTP_FILE_UNREADABLE(path=path, reason=error.strerror)) from None


def _checked(section: JsonObject) -> None:
    """Has the engine read it. Raises SettingError with what it finds wrong."""
    try:
        _engine.check(json.dumps({"http": section}))
    except _engine.EngineError as error:
        problem = engine_failure(json.loads(str(error)))
        remedy = problem.remedy
        raise SettingError(HTTP_REFUSED(problem=problem, remedy=remedy) if remedy else problem) from None


class Http(Workload[HttpOptions]):
    """Requests over each of the load's connections: one after the other, or with HTTP/2 several at once."""

    name = "http"
    summary = "requests of HTTP: one kind or a mix, with parameters in URL, headers and body"
    Options = HttpOptions
    needs = frozenset({HTTP})
    unit: ClassVar[str] = declare_unit("request")

    @staticmethod
    def load_settings(options: HttpOptions) -> JsonObject:  # noqa: ARG004
        """Default time limit of a request."""
        return {"timeout": TIMEOUT}

    def data(self) -> None:
        return None

    @property
    def changes_data(self) -> bool:
        return False

    def engine(self) -> JsonObject:
        return {"http": self.options.section()}

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        if self.options.streams == 1 or load.rate is None:
            return []
        return [Misfit("workload.http.streams", HTTP_STREAMS_WITH_RATE())]

    def advice(self) -> list[Advice]:
        options = self.options
        used = json.dumps(options.section()["requests"])
        advice = [
            Advice(f"parameters.{name}", HTTP_UNUSED_PARAMETER(place=f"${{{name}}}"))
            for name in options.parameters
            if f"${{{name}}}" not in used
        ]
        never = [name for name, request in (options.requests or {}).items() if request.share == 0]
        advice += [Advice(f"requests.{name}.share", HTTP_NEVER_SENT()) for name in never]
        return advice


PART = Http
