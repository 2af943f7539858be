"""HTTP requests: one kind, a mix of several with parameters drawn for each, or a scenario of steps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from loadcell import _engine
from loadcell.model.engine_messages import engine_failure
from loadcell.model.extensions import HTTP, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Size
from loadcell.plan.workload import Workload, declare_unit
from loadcell.workloads.http_requests import (
    Auth,
    BodyFile,
    Check,
    Method,
    Name,
    Text,
    Variable,
    text_of,
)
from loadcell.workloads.http_scenario import HTTP_DATA_ROWS, DataFile, Step
from loadcell.workloads.parameters import Parameter

if TYPE_CHECKING:
    from loadcell.plan.model import Load, Resolved

HTTP_UNUSED_PARAMETER = MessageCode("http.unused-parameter", place=str)
HTTP_NEVER_SENT = MessageCode("http.never-sent", "caution")
HTTP_STREAMS_WITH_RATE = MessageCode("http.streams-with-rate")
HTTP_MISPLACED = MessageCode("http.misplaced", key=str)
HTTP_REQUEST_NAME = MessageCode("http.request-name", name=str)
HTTP_STEPS_MISPLACED = MessageCode("http.steps-misplaced", key=str)
HTTP_ONLY_WITH_STEPS = MessageCode("http.only-with-steps", key=str)
HTTP_ONLY_ONCE = MessageCode("http.only-once")
HTTP_NAME_TWICE = MessageCode("http.name-twice", name=str)
HTTP_STOP_WITH_RATE = MessageCode("http.stop-with-rate")
HTTP_STOP_IN_WARMUP = MessageCode("http.stop-in-warmup", "caution")
HTTP_UNUSED_DATA = MessageCode("http.unused-data", "caution", place=str)
HTTP_UNUSED_VARIABLE = MessageCode("http.unused-variable", "caution", place=str)
HTTP_REFUSED = MessageCode("http.refused", problem=Message, remedy=Message)

#: How long a request may take where the plan does not say: who waits longer has gone away.
TIMEOUT = "5s"
#: Operations of the workload's own: no request can have such a name.
STAGES = ("connect", "first_byte")
#: What describes single requests, and what scenarios.
_OF_REQUESTS = ("method", "path", "body", "check")
_OF_SCENARIOS = ("data", "cookies", "after_failure", "body_limit")
#: The unit of scenarios.
SCENARIO = declare_unit("scenario")


def _as_written(version: object) -> object:
    """A value that YAML reads as a number."""
    number = isinstance(version, int | float) and not isinstance(version, bool)
    return f"{version:g}" if number else version


Version = Annotated[
    Literal["1.1", "2"], BeforeValidator(_as_written, json_schema_input_type=Literal["1.1", "2"] | float)
]


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

    def section(self, name: str, auth: Auth | None = None) -> JsonObject:
        """The section for the engine."""
        if any(key.lower() == "authorization" for key in self.headers):
            auth = None
        return {
            "name": name,
            "method": self.method,
            "path": self.path,
            "headers": {key: text_of(value) for key, value in self.headers.items()},
            "body": self.body.section() if isinstance(self.body, BodyFile) else self.body,
            "share": self.share,
            "auth": None if auth is None else auth.section(),
            "check": None if self.check is None else self.check.model_dump(mode="json"),
        }


class HttpOptions(Options):
    """One kind of request, several by name under `requests`, or a scenario of `steps`."""

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
    steps: dict[Name, Step] | None = Field(
        default=None,
        min_length=1,
        description="Requests of a scenario by name, which each client makes in this order, instead of one.",
    )
    data: dict[Variable, DataFile] = Field(
        default_factory=dict,
        description="CSV files with values for scenarios: `${users.name}` is the column `name` of the data "
        "`users`.",
    )
    auth: Auth | None = Field(
        default=None,
        description="Credentials of every request: `{basic: {user: ..., password: ...}}` or `{bearer: ...}`; "
        "secrets as `${env:NAME}`.",
    )
    cookies: Literal["client", "scenario", "none"] = Field(
        default="client",
        description="Cookies that scenarios get: each client's for the whole load, forgotten when a scenario "
        "begins, or ignored.",
    )
    after_failure: Literal["stop", "continue"] = Field(
        default="stop",
        description="After a step that failed: end the scenario, or make its other steps. It has failed.",
    )
    body_limit: Size = Field(
        default=Size(1 << 20),
        ge=1,
        le=1 << 30,
        description="How long a body may be that values are read from.",
    )
    parameters: dict[Variable, Parameter] = Field(
        default_factory=dict,
        description="Values of `${name}`, drawn again for each request, or for each scenario.",
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

    @property
    def most_in_flight(self) -> int:
        return self.streams

    @model_validator(mode="after")
    def _is_consistent(self) -> HttpOptions:
        written = self.model_fields_set
        if self.requests is not None:
            misplaced = [key for key in _OF_REQUESTS if key in written]
            if misplaced:
                raise SettingError(HTTP_MISPLACED(key=misplaced[0]))
        taken = [name for name in (self.requests or self.steps or ()) if name in (*STAGES, "transaction")]
        if taken:
            raise SettingError(HTTP_REQUEST_NAME(name=taken[0]))
        if self.steps is None:
            misplaced = [key for key in _OF_SCENARIOS if key in written]
            if misplaced:
                raise SettingError(HTTP_ONLY_WITH_STEPS(key=misplaced[0]))
        else:
            misplaced = [key for key in (*_OF_REQUESTS, "requests") if key in written]
            if misplaced:
                raise SettingError(HTTP_STEPS_MISPLACED(key=misplaced[0]))
            if all(step.once for step in self.steps.values()):
                raise SettingError(HTTP_ONLY_ONCE())
            twice = [name for name in self.data if name in self.parameters]
            if twice:
                raise SettingError(HTTP_NAME_TWICE(name=twice[0]))
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
            "requests": [
                request.section(name, self.auth)
                for name, request in ({} if self.steps is not None else self.kinds()).items()
            ],
            "parameters": {name: parameter.section() for name, parameter in self.parameters.items()},
            "keep_alive": self.keep_alive,
            "streams": self.streams,
            "success": [str(word) for word in self.success],
            "header_bytes": int(self.header_limit),
            "scenario": self._scenario(),
        }

    def _scenario(self) -> JsonObject | None:
        if self.steps is None:
            return None
        return {
            "steps": [step.section(name, self.headers, self.auth) for name, step in self.steps.items()],
            "data": [data.section(name) for name, data in self.data.items()],
            "cookies": self.cookies,
            "after_failure": self.after_failure,
            "body_bytes": int(self.body_limit),
        }


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
    summary = "requests of HTTP: one kind, a mix or a scenario of steps, with parameters, data and checks"
    Options = HttpOptions
    needs = frozenset({HTTP})
    sets_load = True
    unit = declare_unit("request")

    def __init__(self, options: HttpOptions) -> None:
        super().__init__(options)
        if options.steps is not None:
            self.unit = SCENARIO

    @staticmethod
    def load_settings(options: HttpOptions) -> JsonObject:  # noqa: ARG004
        """Default time limit of a request."""
        return {"timeout": TIMEOUT}

    def data(self) -> None:
        return None

    @property
    def changes_data(self) -> bool:
        return False

    @property
    def has_credentials(self) -> bool:  # type: ignore[override]  # of this workload it depends on the options
        options = self.options
        senders: list[HttpOptions | Request | Step] = [
            options,
            *(options.requests or {}).values(),
            *(options.steps or {}).values(),
        ]
        return any(
            getattr(sender, "auth", None) not in (None, "none")
            or any(name.lower() == "authorization" for name in sender.headers)
            for sender in senders
        )

    def engine(self) -> JsonObject:
        return {"http": self.options.section()}

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        options, misfits = self.options, []
        if options.streams > 1 and load.rate is not None:
            misfits.append(Misfit("workload.http.streams", HTTP_STREAMS_WITH_RATE()))
        for name, data in options.data.items():
            if data.order == "client" and data.rows < (load.clients or 0):
                rows = HTTP_DATA_ROWS(path=data.file, rows=data.rows, clients=load.clients)
                misfits.append(Misfit(f"workload.http.data.{name}.order", rows))
            if data.at_end == "stop" and load.rate is not None:
                misfits.append(Misfit(f"workload.http.data.{name}.at_end", HTTP_STOP_WITH_RATE()))
        used = self._texts_of_requests()
        misfits += [
            Misfit(f"workload.http.parameters.{name}", HTTP_UNUSED_PARAMETER(place=f"${{{name}}}"))
            for name in options.parameters
            if f"${{{name}}}" not in used
        ]
        return misfits

    def _texts_of_requests(self) -> str:
        """JSON text of everything that is sent, in which places of parameters are written as in the plan."""
        section = self.options.section()
        return json.dumps([section["requests"], (section["scenario"] or {}).get("steps")])

    def remarks(self, settings: Resolved) -> list[Advice]:
        if not settings.load.warmup:
            return []
        return [
            Advice(f"workload.http.data.{name}.at_end", HTTP_STOP_IN_WARMUP())
            for name, data in self.options.data.items()
            if data.at_end == "stop"
        ]

    def advice(self) -> list[Advice]:
        options = self.options
        used = self._texts_of_requests()
        never = [name for name, request in (options.requests or {}).items() if request.share == 0]
        advice = [Advice(f"requests.{name}.share", HTTP_NEVER_SENT()) for name in never]
        advice += [
            Advice(f"data.{name}", HTTP_UNUSED_DATA(place=f"${{{name}.{data.columns[0]}}}"))
            for name, data in options.data.items()
            if f"${{{name}." not in used
        ]
        return advice + [
            Advice(f"steps.{name}.extract.{variable}", HTTP_UNUSED_VARIABLE(place=f"${{{variable}}}"))
            for name, step in (options.steps or {}).items()
            for variable in step.extract
            if f"${{{variable}}}" not in used
        ]


PART = Http
