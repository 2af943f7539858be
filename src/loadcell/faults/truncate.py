"""`truncate`: responses are cut, and their connections closed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from loadcell.faults.base import CONNECTION_LOST
from loadcell.faults.carried import CarriedFault
from loadcell.model.json import JsonObject
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.units import Size


class TruncateOptions(SubjectOptions, use_attribute_docstrings=True):
    """Length of a cut response."""

    bytes: Annotated[Size, Field(ge=0)]
    """Bytes of a response that still arrive, its header included; shorter responses arrive whole."""


class Truncate(CarriedFault[TruncateOptions]):
    """Cut responses."""

    name = "truncate"
    summary = "Close a connection after a number of bytes of a response"
    Options = TruncateOptions
    expected_errors = (*CONNECTION_LOST, "protocol")

    def effect(self) -> JsonObject:
        return {"bytes": int(self.options.bytes)}


PART = Truncate
