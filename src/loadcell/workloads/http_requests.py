"""Parts of HTTP requests that single requests and steps of scenarios have in common."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import Count, ForeignText, MessageCode
from loadcell.plan.files import named_file
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError

HTTP_METHOD_CAPITALS = MessageCode("http.method-capitals", method=str)
HTTP_FILE_NOT_UTF8 = MessageCode("http.file-not-utf8", path=str, byte=str)
HTTP_FILE_EMPTY = MessageCode("http.file-empty", path=str)
HTTP_FILE_TOO_LARGE = MessageCode("http.file-too-large", path=str, mebibytes=Count)
HTTP_FILE_UNREADABLE = MessageCode("http.file-unreadable", path=str, reason=ForeignText)
HTTP_AUTH = MessageCode("http.auth")

#: A file of values, or a body's, is kept in memory by every trial.
_LARGEST_FILE = 64 << 20

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,31}$")]
Text = str | int | float | bool
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")


def _in_capitals(method: str) -> str:
    """Names of methods are case-sensitive: servers answer `get` with 400 or 405. Raises SettingError."""
    if method != method.upper() and method.upper() in _METHODS:
        raise SettingError(HTTP_METHOD_CAPITALS(method=method.upper()))
    return method


Method = Annotated[str, Field(min_length=1), AfterValidator(_in_capitals)]


class Check(Options):
    """Condition on a response's body for the request to succeed."""

    contains: str | None = Field(default=None, min_length=1, description="This text is in it.")
    equals: str | None = Field(default=None, description="It is this text.")
    pattern: str | None = Field(
        default=None, min_length=1, max_length=10_000, description="This regular expression is found in it."
    )
    size: int | None = Field(default=None, ge=0, description="Its size in bytes.")


class Basic(Options):
    """Credentials of the scheme `Basic`."""

    user: str = Field(min_length=1, description="The user's name.")
    password: str = Field(description="The password: `${env:NAME}`, or a column of `data`.")


class Auth(Options):
    """Credentials, sent as the header field `Authorization`."""

    basic: Basic | None = Field(default=None, description="User and password.")
    bearer: str | None = Field(
        default=None, min_length=1, description="A token: `${env:NAME}`, or a variable."
    )

    @model_validator(mode="after")
    def _one_scheme(self) -> Auth:
        if (self.basic is None) == (self.bearer is None):
            raise SettingError(HTTP_AUTH())
        return self

    def section(self) -> JsonObject:
        """The section for the engine."""
        return {"bearer": self.bearer} if self.basic is None else {"basic": self.basic.model_dump()}


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
        self._bytes = read_file(named_file(info, self.file))
        return self

    @property
    def content(self) -> bytes:
        """The file, byte for byte."""
        return self._bytes

    def section(self) -> str | dict[str, str]:
        """The section for the engine: a text to the last end of a line, or bytes."""
        try:
            return self._bytes.decode("utf-8")
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(self._bytes).decode("ascii")}


def text_of(value: Text) -> str:
    """A value as YAML has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def lines_of(path: Path) -> tuple[str, ...]:
    """The lines of a file, without empty ones. Raises SettingError."""
    lines = tuple(line for line in decoded_file(read_file(path), path).splitlines() if line)
    if not lines:
        raise SettingError(HTTP_FILE_EMPTY(path=path))
    return lines


def decoded_file(content: bytes, path: Path) -> str:
    """The text of a file. Raises SettingError."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingError(HTTP_FILE_NOT_UTF8(path=path, byte=error.start)) from None


def read_file(path: Path) -> bytes:
    """All of a file, byte for byte. Raises SettingError."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise SettingError(HTTP_FILE_TOO_LARGE(path=path, mebibytes=_LARGEST_FILE >> 20))
        return path.read_bytes()
    except OSError as error:
        raise SettingError(HTTP_FILE_UNREADABLE(path=path, reason=error.strerror)) from None
