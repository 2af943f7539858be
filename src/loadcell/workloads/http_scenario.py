"""HTTP scenarios: requests of one client in steps, with values that pass from responses to later requests."""

from __future__ import annotations

import base64
import csv
import io
import json
import mimetypes
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import Count, ForeignText, MessageCode
from loadcell.plan.files import named_file
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Duration
from loadcell.workloads.http_requests import (
    Auth,
    BodyFile,
    Check,
    Method,
    Text,
    Variable,
    decoded_file,
    read_file,
    text_of,
)

HTTP_BODIES = MessageCode("http.bodies", keys=list)
HTTP_FORM_TYPE = MessageCode("http.form-type")
HTTP_EXTRACT_SOURCE = MessageCode("http.extract-source")
HTTP_CONDITION = MessageCode("http.condition")
HTTP_THINK_RANGE = MessageCode("http.think-range", start=str, end=str)
HTTP_DATA_EMPTY = MessageCode("http.data-empty", path=str)
HTTP_DATA_HEADER = MessageCode("http.data-header", path=str, column=str)
HTTP_DATA_ROW = MessageCode("http.data-row", path=str, line=str, cells=str, columns=str)
HTTP_DATA_MALFORMED = MessageCode("http.data-malformed", path=str, line=str, reason=ForeignText)
HTTP_DATA_AT_END = MessageCode("http.data-at-end", order=str)
HTTP_DATA_ROWS = MessageCode("http.data-rows", path=str, rows=Count, clients=Count)

#: A path of JSON, a pattern.
_LongText = Annotated[str, Field(min_length=1, max_length=10_000)]
#: What a JSON body is made of: anything that YAML can express.
JsonValue = dict[str, object] | list[object] | Text | None


class Condition(Options):
    """Condition on a value: of a header field, or at a JSON path. Values are compared as texts."""

    equals: Text | None = Field(default=None, description="It is this.")
    contains: str | None = Field(default=None, min_length=1, description="This text is in it.")
    pattern: _LongText | None = Field(default=None, description="This regular expression is found in it.")
    exists: bool = Field(default=True, description="`false`: there is no such value.")

    @model_validator(mode="after")
    def _is_sound(self) -> Condition:
        if not self.exists and self.model_fields_set != {"exists"}:
            raise SettingError(HTTP_CONDITION())
        return self

    def section(self) -> JsonObject:
        """The section for the engine."""
        equals = None if self.equals is None else text_of(self.equals)
        return {**self.model_dump(mode="json"), "equals": equals}


def _condition(value: Condition | Text | None) -> JsonObject:
    """A condition, or the value that is expected; None is JSON's `null`."""
    if isinstance(value, Condition):
        return value.section()
    return Condition(equals="null" if value is None else value).section()


class StepCheck(Check):
    """Conditions on a response for its step to succeed."""

    status: tuple[str | int, ...] | str | int | None = Field(
        default=None,
        description="Its status: a number, a class such as `2xx`, or a list. Default: `success`.",
    )
    headers: dict[str, Condition | Text] = Field(
        default_factory=dict,
        description="Header fields by name: their value, or a condition (`contains`, `equals`, `pattern`, "
        "`exists`).",
    )
    json_: dict[str, Condition | Text | None] = Field(
        default_factory=dict,
        alias="json",
        description="Values of a JSON body by path: `$.items[0].id: 7`, or a condition.",
    )

    def section(self) -> JsonObject:
        """The section for the engine."""
        status = self.status
        if status is not None and not isinstance(status, tuple):
            status = (status,)
        body = self.model_dump(mode="json", include=set(Check.model_fields))
        return {
            "status": None if status is None else [str(word) for word in status],
            "headers": {name: _condition(value) for name, value in self.headers.items()},
            "body": body if any(value is not None for value in body.values()) else None,
            "json": {path: _condition(value) for path, value in self.json_.items()},
        }


class Extraction(Options):
    """Value of a response that a variable gets."""

    json_: _LongText | None = Field(
        default=None, alias="json", description="The value at this path of a JSON body: `$.items[0].id`."
    )
    header: str | None = Field(default=None, min_length=1, description="The value of this header field.")
    pattern: _LongText | None = Field(
        default=None,
        description="What this regular expression finds in the body, or in that header field or JSON value: "
        "its first group, or all of it.",
    )
    default: Text | None = Field(
        default=None, description="The value where there is none; without it the step fails."
    )

    @model_validator(mode="after")
    def _one_source(self) -> Extraction:
        sources = (self.json_, self.header, self.pattern)
        if sources == (None, None, None) or (self.json_ is not None and self.header is not None):
            raise SettingError(HTTP_EXTRACT_SOURCE())
        return self

    def section(self, variable: str) -> JsonObject:
        """The section for the engine."""
        return {
            "variable": variable,
            "json": self.json_,
            "header": self.header,
            "pattern": self.pattern,
            "default": None if self.default is None else text_of(self.default),
        }


class ThinkRange(Options):
    """Every think time from the first to the last is equally likely."""

    start: Duration = Field(alias="from", ge=0, description="The shortest.")
    to: Duration = Field(ge=0, le=86400, description="The longest.")

    @model_validator(mode="after")
    def _rises(self) -> ThinkRange:
        if self.start > self.to:
            raise SettingError(HTTP_THINK_RANGE(start=self.start.text, end=self.to.text))
        return self


class FilePart(BodyFile):
    """A file of a form."""

    name: str | None = Field(
        default=None, min_length=1, description="Its name for the server. Default: that of the file."
    )
    type: str | None = Field(
        default=None,
        pattern=r"^[\x21-\x7e]+$",
        description="Its content type. Default: by the name's ending.",
    )

    def part(self, field: str) -> JsonObject:
        """The part of a form, for the engine."""
        name = self.name or Path(self.file).name
        guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
        content = base64.b64encode(self.content).decode("ascii")
        return {
            "name": field,
            "file_name": name,
            "content_type": self.type or guessed,
            "body": {"base64": content},
        }


class Step(Options):
    """One request of a scenario, and what becomes of its response."""

    method: Method | None = Field(
        default=None, description="GET, POST, PUT ... Default: GET, with a body or form POST."
    )
    path: str = Field(
        min_length=1,
        description="Path and query, with variables: `/items/${id}`, whose values are percent-encoded. A "
        "variable at the very start is a complete URL or path, and taken as it is.",
    )
    headers: dict[str, Text] = Field(
        default_factory=dict, description="Header fields, with variables; secrets as `${env:NAME}`."
    )
    auth: Auth | Literal["none"] | None = Field(
        default=None, description="Credentials of this step; `none`: not even those of all steps."
    )
    body: str | BodyFile | None = Field(
        default=None,
        description="What is sent with it, with variables as they are: a text, or `{file: order.xml}`.",
    )
    json_: JsonValue = Field(
        default=None,
        alias="json",
        description="A JSON body, as YAML; variables in its texts are escaped.",
    )
    form: dict[str, Text] | None = Field(
        default=None, min_length=1, description="A form: values by field, with variables, which are encoded."
    )
    files: dict[str, FilePart] | None = Field(
        default=None,
        min_length=1,
        description="Files by field, sent with the form as `multipart/form-data`: `{photo: {file: a.jpg}}`.",
    )
    check: StepCheck | None = Field(
        default=None, description="What the response must be: status, header fields, body, JSON values."
    )
    extract: dict[Variable, Extraction] = Field(
        default_factory=dict,
        description="Variables that get values of the response, by `json`, `pattern` or `header`.",
    )
    think: Annotated[Duration, Field(ge=0, le=86400)] | ThinkRange | None = Field(
        default=None, description="Think time after it: `1s`, or `{from: 500ms, to: 2s}`."
    )
    once: bool = Field(
        default=False, description="Only in each client's first scenario, such as a login that lasts."
    )

    @model_validator(mode="after")
    def _one_body(self) -> Step:
        bodies: list[str] = [key for key in ("body", "json", "form") if key in self._bodies()]
        if "files" in self._bodies() and "form" not in bodies:
            bodies.append("files")
        if len(bodies) > 1:
            raise SettingError(HTTP_BODIES(keys=bodies))
        if self.files is not None and any(name.lower() == "content-type" for name in self.headers):
            raise SettingError(HTTP_FORM_TYPE())
        return self

    def _bodies(self) -> set[str]:
        """Kinds of bodies that the plan gives."""
        bodies = {"body": self.body, "form": self.form, "files": self.files}
        kinds = {key for key, value in bodies.items() if value is not None}
        return kinds | ({"json"} if "json_" in self.model_fields_set else set())

    def section(self, name: str, headers: dict[str, Text], auth: Auth | None) -> JsonObject:
        """The section for the engine; `headers` and `auth` are those of all steps."""
        replaced = {key.lower() for key in self.headers}
        inherited = {key: value for key, value in headers.items() if key.lower() not in replaced}
        auth = auth if self.auth is None else None if self.auth == "none" else self.auth
        if any(key.lower() == "authorization" for key in self.headers):
            auth = None
        return {
            "name": name,
            "method": self.method or ("POST" if self._bodies() else "GET"),
            "path": self.path,
            "headers": {key: text_of(value) for key, value in {**inherited, **self.headers}.items()},
            "auth": None if auth is None else auth.section(),
            "body": self._body(),
            "check": (self.check or StepCheck()).section(),
            "extract": [extraction.section(variable) for variable, extraction in self.extract.items()],
            "think_ns": self._think_ns(),
            "once": self.once,
        }

    def _body(self) -> JsonObject | None:
        if self.files is not None:
            fields = [
                {"name": key, "file_name": None, "content_type": None, "body": {"text": text_of(value)}}
                for key, value in (self.form or {}).items()
            ]
            return {"multipart": [*fields, *(part.part(field) for field, part in self.files.items())]}
        if self.form is not None:
            return {"form": [[key, text_of(value)] for key, value in self.form.items()]}
        if "json_" in self.model_fields_set:
            return {"json": json.dumps(self.json_, ensure_ascii=False, separators=(",", ":"))}
        if isinstance(self.body, BodyFile):
            section = self.body.section()
            return {"text": section} if isinstance(section, str) else {"base64": section["base64"]}
        return None if self.body is None else {"text": self.body}

    def _think_ns(self) -> list[int]:
        if isinstance(self.think, ThinkRange):
            return [self.think.start.ns, self.think.to.ns]
        return [0, 0] if self.think is None else [self.think.ns, self.think.ns]


class DataFile(Options):
    """A CSV file whose columns are variables: `${users.email}` of the data `users`."""

    file: str = Field(
        min_length=1,
        description="The file, relative to the plan (UTF-8); its first line has the names of the columns.",
    )
    delimiter: str = Field(default=",", min_length=1, max_length=1, description="What separates cells.")
    order: Literal["sequential", "random", "client"] = Field(
        default="sequential",
        description="`sequential`: each scenario of any client takes the next row; `random`: any row; "
        "`client`: each client has its row.",
    )
    at_end: Literal["restart", "stop"] = Field(
        default="restart",
        description="After the last row: start again, or end the load. Only for `sequential`.",
    )

    _columns: tuple[str, ...] = PrivateAttr(default=())
    _rows: tuple[tuple[str, ...], ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _is_read(self, info: ValidationInfo) -> DataFile:
        if self.at_end == "stop" and self.order != "sequential":
            raise SettingError(HTTP_DATA_AT_END(order=self.order))
        path = named_file(info, self.file)
        text = decoded_file(read_file(path), path).removeprefix("\ufeff")
        self._columns, self._rows = _table(text, self.delimiter, path)
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._columns

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def section(self, name: str) -> JsonObject:
        """The section for the engine."""
        return {
            "name": name,
            "columns": list(self._columns),
            "rows": [list(row) for row in self._rows],
            "order": self.order,
            "at_end": self.at_end,
        }


def _table(text: str, delimiter: str, path: Path) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Columns and rows of a CSV text, without empty lines. Raises SettingError."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines = []
    try:
        for row in reader:
            if row:
                lines.append((reader.line_num, tuple(row)))
    except csv.Error as error:
        raise SettingError(
            HTTP_DATA_MALFORMED(path=path, line=str(reader.line_num), reason=str(error))
        ) from None
    if len(lines) < 2:
        raise SettingError(HTTP_DATA_EMPTY(path=path))
    columns = tuple(column.strip() for column in lines[0][1])
    for number, column in enumerate(columns):
        if not column or column in columns[:number]:
            raise SettingError(HTTP_DATA_HEADER(path=path, column=column or f"#{number + 1}"))
    for line, cells in lines[1:]:
        if len(cells) != len(columns):
            raise SettingError(
                HTTP_DATA_ROW(path=path, line=str(line), cells=str(len(cells)), columns=str(len(columns)))
            )
    return columns, tuple(cells for _, cells in lines[1:])
