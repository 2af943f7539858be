"""Options of the workload `python`: the function, its data and arguments, and the interpreter."""

from __future__ import annotations

import ast
import json
import keyword
import os
import re
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    ConfigDict,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, MessageCode
from loadcell.plan.files import PlanFiles, files_of
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Size
from loadcell.workloads.python_runner.spec import CodeSpec, PythonSpec, VerifySpec

PYTHON_NO_WORK = MessageCode("python.no-work")
PYTHON_REFERENCE = MessageCode("python.reference", text=str, example=str)
PYTHON_SYNTAX = MessageCode("python.syntax", output=ForeignText, line=str)
PYTHON_ARGUMENT_NAME = MessageCode("python.argument-name", name=str)
PYTHON_NO_INTERPRETER = MessageCode("python.no-interpreter", path=str)
PYTHON_VARIABLE_NAME = MessageCode("python.variable-name", name=str)

_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Names that the harness gives to values.
_RESERVED = frozenset({"data", "state"})
_EXAMPLE = "package.module:function"


def code_spec(text: str | None) -> CodeSpec | None:
    """A function by its name, or else statements. Raises SettingError for a mistake in statements."""
    if text is None:
        return None
    if _REFERENCE.fullmatch(text.strip()):
        return CodeSpec(call=text.strip())
    check_syntax(text)
    return CodeSpec(code=text)


def check_syntax(text: str) -> None:
    """Raises SettingError where statements are no Python of this version."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise SettingError(PYTHON_SYNTAX(output=getattr(error, "msg", error), line=str(line or 1))) from None


class VerifyOptions(Options):
    """Comparison of results: treatments of one `group` with equal arguments have to have equal ones."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="verify")

    group: str = Field(
        default="",
        description="Name of the expected result. Results of treatments with the same name, and the same of "
        "the `arguments` in `by`, have to be equal.",
    )
    by: tuple[str, ...] | None = Field(
        default=None, description="Arguments that a result depends on. Default: all."
    )
    tolerance: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1e-9, description="Largest difference of numbers, relative to their mean magnitude."
    )
    ordered: bool = Field(default=True, description="Whether the order of rows counts.")


class PythonOptions(Options):
    """A function or statements, called in a fresh process of an interpreter."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="python")

    call: str | None = Field(
        default=None,
        description="The function: `package.module:function`, imported from the plan's directory or the "
        "packages of the interpreter. It gets the result of `setup`, or else the `data`, and the `arguments` "
        "by name.",
        examples=[_EXAMPLE],
    )
    code: str | None = Field(
        default=None,
        min_length=1,
        description="Instead of `call`: statements to be timed. They see `data`, `state` (the result of a "
        "function `setup`), the names that statements of `setup` define, and the `arguments`.",
        examples=["sum(range(n))"],
    )
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, description="Arguments by name; each may be a factor.", examples=[{"n": 1000}]
    )
    data: str | None = Field(
        default=None,
        min_length=1,
        description="A function that returns the data set, or statements that define `data`. The data set is "
        "made once for each treatment, and stored with `pickle`.",
    )
    setup: str | None = Field(
        default=None,
        min_length=1,
        description="A function of the data, or statements, executed once in each trial before anything is "
        "timed.",
    )
    teardown: str | None = Field(
        default=None,
        min_length=1,
        description="A function with the first argument of `call`, or statements, after the measurement.",
    )
    interpreter: str | None = Field(
        default=None,
        min_length=1,
        description="The Python to be measured, 3.11 or later: a program, or the directory of a virtual "
        "environment, relative to the plan. Default: the one that runs loadcell.",
    )
    path: tuple[str, ...] = Field(
        default=(), description="Directories to import from besides that of the plan, relative to it."
    )
    packages: tuple[str, ...] = Field(
        default=(),
        description="Packages that the interpreter needs, by their names on PyPI. `check` and each trial "
        "tell which are missing, and how to install them.",
        examples=[["pandas", "pyarrow"]],
    )
    env: dict[str, str] = Field(
        default_factory=dict,
        description="Environment variables of the interpreter; secrets as `${env:NAME}`.",
    )
    clients: Literal["threads", "processes"] = Field(
        default="threads", description="What each client of the load is: a thread, or a process."
    )
    gc: bool = Field(default=True, description="Whether the cyclic garbage collector of Python is on.")
    hash_seed: Literal["random"] | int = Field(
        default=0, description="Seed of the hashes of strings (PYTHONHASHSEED): a number, or `random`."
    )
    verify: VerifyOptions | None = Field(
        default=None,
        description="Compare the results of the function in all treatments. Levels with another result than "
        "the others are named, and not ranked.",
    )
    spans: tuple[str, ...] = Field(
        default=(),
        description="Functions whose calls are marked on the curve of the memory over time, the first 200 of "
        "each. A mark takes about 20 µs.",
        examples=[[_EXAMPLE]],
    )
    memory: Size | None = Field(
        default=None,
        gt=0,
        description="Most memory that the interpreter may use. A trial that reaches it fails.",
    )

    _files: PlanFiles = PrivateAttr(default_factory=PlanFiles)

    @field_validator("call")
    @classmethod
    def _is_a_reference(cls, call: str | None) -> str | None:
        if call is not None and not _REFERENCE.fullmatch(call):
            raise SettingError(PYTHON_REFERENCE(text=repr(call), example=_EXAMPLE))
        return call

    @field_validator("spans")
    @classmethod
    def _are_references(cls, spans: tuple[str, ...]) -> tuple[str, ...]:
        for name in spans:
            if not _REFERENCE.fullmatch(name):
                raise SettingError(PYTHON_REFERENCE(text=repr(name), example=_EXAMPLE))
        return spans

    @field_validator("code")
    @classmethod
    def _is_python(cls, code: str | None) -> str | None:
        if code is not None:
            check_syntax(code)
        return code

    @field_validator("data", "setup", "teardown")
    @classmethod
    def _is_code(cls, text: str | None) -> str | None:
        code_spec(text)
        return text

    @field_validator("arguments")
    @classmethod
    def _are_names(cls, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        for name in arguments:
            if (
                not name.isidentifier()
                or keyword.iskeyword(name)
                or name in _RESERVED
                or name.startswith("_")
            ):
                raise SettingError(PYTHON_ARGUMENT_NAME(name=repr(name)))
        return arguments

    @field_validator("env")
    @classmethod
    def _names_are_names(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not _VARIABLE.fullmatch(name):
                raise SettingError(PYTHON_VARIABLE_NAME(name=repr(name)))
        return env

    @model_validator(mode="after")
    def _is_consistent(self, info: ValidationInfo) -> PythonOptions:
        self._files = files_of(info)
        if (self.call is None) == (self.code is None):
            raise SettingError(PYTHON_NO_WORK())
        return self

    @property
    def program(self) -> str:
        """Path of the interpreter. Raises SettingError where there is none."""
        if self.interpreter is None:
            return sys.executable
        if "/" not in self.interpreter and (program := shutil.which(self.interpreter)) is not None:
            return program
        path = self._files.directory / Path(self.interpreter).expanduser()
        if path.is_dir():
            path = path / "bin" / "python"
        if not path.is_file() or not os.access(path, os.X_OK):
            raise SettingError(PYTHON_NO_INTERPRETER(path=path))
        return str(path.absolute())

    def _verify_spec(self) -> VerifySpec | None:
        if (verify := self.verify) is None:
            return None
        names = self.arguments if verify.by is None else verify.by
        values = {name: self.arguments.get(name) for name in sorted(names)}
        group = json.dumps([verify.group, values], ensure_ascii=False)
        return VerifySpec(group, verify.tolerance, verify.ordered)

    def section(self) -> JsonObject:
        """The section for the worker."""
        home = self._files.directory.absolute()
        spec = PythonSpec(
            interpreter=self.program,
            work=CodeSpec(self.call, self.code),
            arguments=dict(self.arguments),
            path=[str(home), *(str(home / Path(name).expanduser()) for name in self.path)],
            env=dict(self.env),
            gc=self.gc,
            hash_seed=str(self.hash_seed),
            packages=list(self.packages),
            processes=self.clients == "processes",
            setup=code_spec(self.setup),
            data=code_spec(self.data),
            teardown=code_spec(self.teardown),
            verify=self._verify_spec(),
            memory_bytes=None if self.memory is None else int(self.memory),
            spans=list(self.spans),
        )
        return asdict(spec)
