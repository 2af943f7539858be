"""Profiles of the workload `python`: `profile: python | calls | memory | lines | trace`."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from loadcell.model.message import MessageCode
from loadcell.plan.problems import SettingError
from loadcell.plan.profile import Profile
from loadcell.plan.units import Duration

PROFILE_FUNCTION = MessageCode("plan.profile-function", text=str, example=str)

_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class OfPython(Profile, use_attribute_docstrings=True):
    """Options of profiles of Python functions. `packages` are those that the interpreter needs."""

    workload: ClassVar[str | None] = "python"
    packages: ClassVar[tuple[str, ...]] = ()


class PythonProfile(OfPython, use_attribute_docstrings=True):
    """After the ordinary trials, in which functions of Python the calls of the workload `python` spend their
    time, as a flame graph.
    """

    kind = "python"

    frequency: Annotated[int, Field(ge=1, le=1000)] = 99
    """Samples per second of each client."""
    tool: Literal["auto", "py-spy", "interpreter"] = "auto"
    """Sampler: py-spy from outside the interpreter, or a thread inside it. `auto` takes py-spy where it is
    installed and the kernel allows it."""


class CallsProfile(OfPython, use_attribute_docstrings=True):
    """After the ordinary trials, how often each function of Python is called and its own and cumulative time,
    by cProfile.
    """

    kind = "calls"


class MemoryProfile(OfPython, use_attribute_docstrings=True):
    """After the ordinary trials, the peak of the memory that calls of the workload `python` allocate, by call
    stack, by memray.
    """

    kind = "memory"
    packages: ClassVar[tuple[str, ...]] = ("memray",)


class LinesProfile(OfPython, use_attribute_docstrings=True):
    """After the ordinary trials, by which source lines of Python functions the resident memory grows."""

    kind = "lines"

    functions: tuple[str, ...] = ()
    """Functions, as `package.module:function`. Default: that of the workload."""

    @field_validator("functions")
    @classmethod
    def _are_references(cls, functions: tuple[str, ...]) -> tuple[str, ...]:
        for name in functions:
            if not _REFERENCE.fullmatch(name):
                raise SettingError(PROFILE_FUNCTION(text=repr(name), example="package.module:function"))
        return functions


class TraceProfile(OfPython, use_attribute_docstrings=True):
    """After the ordinary trials, a trace of the calls of Python functions over time, by viztracer."""

    kind = "trace"
    packages: ClassVar[tuple[str, ...]] = ("viztracer",)

    least: Annotated[Duration, Field(ge=0)] = Duration(10e-6)
    """Shortest duration of a call in the trace."""
    events: Annotated[int, Field(ge=1000, le=250_000)] = 100_000
    """Most events of the trace: later ones overwrite earlier ones."""
