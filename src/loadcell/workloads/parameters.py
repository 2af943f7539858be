"""Parameters of requests and fields of records: values that are drawn for each."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.files import named_file
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError
from loadcell.workloads.http_requests import Text, lines_of, text_of

PARAMETER_SOURCE = MessageCode("parameter.source")
PARAMETER_RANGE = MessageCode("parameter.range")
PARAMETER_THETA = MessageCode("parameter.theta")


class Parameter(Options):
    """Values that are drawn: numbers, values of a list or of a file, or letters."""

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
        self.check_source()
        if self.theta == 1:
            raise SettingError(PARAMETER_THETA())
        if self.file is not None:
            self._lines = lines_of(named_file(info, self.file))
        return self

    def check_source(self) -> None:
        """Raises SettingError unless there is one source of values."""
        numbers = self.start is not None or self.to is not None
        sources = [numbers, self.values is not None, self.file is not None, self.letters is not None]
        if sum(sources) != 1:
            raise SettingError(PARAMETER_SOURCE())
        if numbers and (self.to is None or (self.start or 0) > self.to):
            raise SettingError(PARAMETER_RANGE())

    def section(self) -> JsonObject:
        """The section for the engine."""
        section = self.model_dump(exclude={"start", "values", "file"})
        if self.values is not None or self.file is not None:
            section["values"] = [text_of(value) for value in self.values or ()] or list(self._lines)
        return {"from": self.start, **section}
