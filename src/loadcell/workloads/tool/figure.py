"""Where one figure of a command stands in its output."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, model_validator

from loadcell.ingest import extract
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError
from loadcell.workloads.tool.messages import FIGURE_NO_GROUP, FIGURE_NO_SOURCE, FIGURE_PATTERN

Take = Literal["last", "first", "min", "max", "mean", "median", "sum"]


class Figure(Options):
    """Where one figure stands. One of `pattern`, `json` and `csv`."""

    pattern: str | None = Field(
        default=None,
        min_length=1,
        description="A regular expression (Python's, `^` and `$` of a line) whose first group is the figure.",
        examples=[r"tps = ([\d.]+)"],
    )
    json_path: str | None = Field(
        default=None,
        alias="json",
        min_length=1,
        description='A path into the JSON of the output: keys and indices, `[*]` for every one, `["a.b"]` for odd keys.',
        examples=["jobs[0].read.iops"],
    )
    csv: str | None = Field(
        default=None, min_length=1, description="A column's name in the CSV of the output."
    )
    take: Take = Field(default="last", description="Which of several values it is.")
    times: float = Field(
        default=1.0,
        description="What it is multiplied by: latencies are in ms, so 1000 where the command prints seconds.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Figure:
        ways = [way for way in (self.pattern, self.json_path, self.csv) if way is not None]
        if len(ways) != 1:
            raise SettingError(FIGURE_NO_SOURCE())
        if self.pattern is not None:
            try:
                groups = re.compile(self.pattern).groups
            except re.error as error:
                raise SettingError(FIGURE_PATTERN(reason=error)) from None
            if groups == 0:
                raise SettingError(FIGURE_NO_GROUP())
        if self.json_path is not None:
            extract.path_of(self.json_path)
        return self

    def source(self) -> extract.FigureSource:
        """The position, for the worker."""
        return extract.FigureSource(self.pattern, self.json_path, self.csv, self.take, self.times)
