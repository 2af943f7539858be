"""Parameters of statements: ranges of integers, lists, values of files, and rows of queries."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import Count, ForeignText, MessageCode
from loadcell.plan.files import named_file
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError, nearest
from loadcell.workloads.sql.text import Scalar

SQL_PARAMETER_SOURCE = MessageCode("sql.parameter-source")
SQL_PARAMETER_RANGE = MessageCode("sql.parameter-range", range=str)
SQL_PARAMETER_SHAPE = MessageCode("sql.parameter-shape", distribution=str, least=str, shape=str)
SQL_PARAMETER_COLUMN = MessageCode("sql.parameter-column", path=str, column=str, columns=list)
SQL_PARAMETER_COLUMN_NEAR = MessageCode("sql.parameter-column-near", path=str, column=str, near=str)
SQL_PARAMETER_UNREADABLE = MessageCode("sql.parameter-unreadable", path=str, reason=ForeignText)
SQL_PARAMETER_EMPTY = MessageCode("sql.parameter-empty", path=str)
SQL_PARAMETER_TOO_MANY = MessageCode("sql.parameter-too-many", path=str, most=Count)

#: Values of a file or of a query: the load has them in memory.
MOST_VALUES = 1_000_000

Distribution = Literal["uniform", "zipfian", "gaussian", "exponential"]
#: The least shape of a distribution, and its default.
_SHAPES: dict[str, tuple[float, float]] = {
    "zipfian": (1.001, 1.1),
    "gaussian": (2.0, 2.5),
    "exponential": (0.001, 5.0),
}
_RANGE = re.compile(r"\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*")
_CALL = re.compile(r"\s*(uniform|zipfian|gaussian|exponential)\s*\(([^(),]*)(?:,([^(),]*))?\)\s*")
_QUERY = re.compile(r"\s*(select|with|values|table)\b\s", re.IGNORECASE)
_LIMIT = 2**63


def bounds(text: str) -> tuple[int, int] | None:
    """First and last integer of `1..1000`; None for another text. Raises SettingError."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2])
    if not -_LIMIT <= first <= last < _LIMIT or last - first >= _LIMIT - 1:
        raise SettingError(SQL_PARAMETER_RANGE(range=text))
    return first, last


def _range(text: str) -> str:
    if bounds(text) is None:
        raise SettingError(SQL_PARAMETER_RANGE(range=text))
    return text


class ParameterSource(Options):
    """Values of a parameter, and how they are drawn."""

    range: Annotated[str, AfterValidator(_range)] | None = Field(
        default=None, description="Integers, such as `1..1000`; both ends are among them."
    )
    values: tuple[Scalar, ...] | None = Field(default=None, min_length=1, description="The values of a list.")
    file: str | None = Field(
        default=None,
        min_length=1,
        description="A file, relative to the plan: one value a line, or a CSV file with `column`.",
    )
    column: str | None = Field(
        default=None, min_length=1, description="The column of `file`, which has a header."
    )
    query: str | None = Field(
        default=None,
        min_length=1,
        description="A query on the loaded data, before the warm-up of each trial: its first column is the "
        "values.",
    )
    distribution: Distribution = Field(
        default="uniform", description="How they are drawn; the first values are the most frequent ones of "
        "`zipfian` and `exponential`, those in the middle of `gaussian`."
    )  # fmt: skip
    shape: float | None = Field(
        default=None,
        description="The parameter of pgbench's function of that name: `zipfian` (from 1.001, default 1.1), "
        "`gaussian` (from 2, default 2.5), `exponential` (above 0, default 5).",
    )

    _read: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _is_complete(self, info: ValidationInfo) -> ParameterSource:
        sources = [self.range, self.values, self.file, self.query]
        if sum(source is not None for source in sources) != 1 or (self.column and self.file is None):
            raise SettingError(SQL_PARAMETER_SOURCE())
        least = _SHAPES.get(self.distribution, (0.0, 0.0))[0]
        if self.shape is not None and (self.distribution == "uniform" or not least <= self.shape <= 1000):
            raise SettingError(
                SQL_PARAMETER_SHAPE(distribution=self.distribution, shape=str(self.shape), least=str(least))
            )
        if self.file is not None:
            self._read = file_values(named_file(info, self.file), self.column)
        return self

    def loaded(self) -> Sequence[Scalar] | None:
        """The values, where they are those of a list or a file."""
        return self._read or self.values

    def section(self) -> JsonObject:
        """The section for the engine, without the values."""
        shape = self.shape if self.shape is not None else _SHAPES.get(self.distribution, (0.0, 0.0))[1]
        return {
            "range": None if self.range is None else bounds(self.range),
            "distribution": "uniform" if self.distribution == "uniform" else {self.distribution: shape},
        }

    def example(self, queried: Sequence[Scalar] | None) -> Scalar:
        """A frequent value; `queried` are those of the query."""
        middle = self.distribution in ("uniform", "gaussian")
        if self.range is not None:
            first, last = bounds(self.range) or (0, 0)
            return (first + last) // 2 if middle else first
        values = queried or self.loaded() or (None,)
        return values[len(values) // 2 if middle and self.distribution == "gaussian" else 0]


#: How a plan writes a parameter: a range or a distribution as text, a list, a constant, or all of it.
ParameterOption = ParameterSource | list[Scalar] | str | int | float | bool


def source(option: ParameterOption) -> ParameterSource:
    """The values that a plan's writing means. Raises SettingError."""
    if isinstance(option, ParameterSource):
        return option
    if isinstance(option, list):
        return ParameterSource(values=tuple(option))
    if isinstance(option, str):
        if (call := _CALL.fullmatch(option)) is not None and bounds(call[2]) is not None:
            shape = None if call[3] is None else _number(call[3], option)
            return ParameterSource.model_validate(
                {"range": call[2].strip(), "distribution": call[1], "shape": shape}
            )
        if bounds(option) is not None:
            return ParameterSource(range=option)
    return ParameterSource(values=(option,))


def of_line(text: str) -> JsonObject | list[Scalar] | str:
    """A parameter as a plan has it, from a command line: a range, a list, `@FILE[:COLUMN]` or a query."""
    if bounds(text) is not None or _CALL.fullmatch(text):
        return text
    if text.startswith("@"):
        path, colon, column = text[1:].rpartition(":")
        if not colon:
            path, column = text[1:], ""
        return {"file": str(Path(path).absolute()), **({"column": column} if column else {})}
    if _QUERY.match(text):
        return {"query": text}
    return [_scalar(item.strip()) for item in text.split(",")]


def _scalar(text: str) -> Scalar:
    """A number, if it is written as one."""
    if re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SettingError(SQL_PARAMETER_RANGE(range=option)) from None


def file_values(path: Path, column: str | None) -> tuple[str, ...]:
    """The lines of a file, or a column of a CSV file. Raises SettingError."""
    try:
        with path.open(encoding="utf-8-sig", newline="" if column else None) as file:
            if column is None:
                values = tuple(islice((line.rstrip("\r\n") for line in file), MOST_VALUES + 1))
            else:
                rows = csv.reader(file)
                header = next(rows, [])
                if column not in header:
                    raise _no_column(path, column, header)
                index = header.index(column)
                values = tuple(islice((row[index] for row in rows if len(row) > index), MOST_VALUES + 1))
    except UnicodeDecodeError as error:
        raise SettingError(SQL_PARAMETER_UNREADABLE(path=path, reason=error.reason)) from None
    except OSError as error:
        raise SettingError(SQL_PARAMETER_UNREADABLE(path=path, reason=error.strerror)) from None
    except csv.Error as error:
        raise SettingError(SQL_PARAMETER_UNREADABLE(path=path, reason=error)) from None
    if not values:
        raise SettingError(SQL_PARAMETER_EMPTY(path=path))
    if len(values) > MOST_VALUES:
        raise SettingError(SQL_PARAMETER_TOO_MANY(path=path, most=MOST_VALUES))
    return values


def _no_column(path: Path, column: str, header: list[str]) -> SettingError:
    near = nearest(column, header)
    code = SQL_PARAMETER_COLUMN_NEAR if near else SQL_PARAMETER_COLUMN
    return SettingError(code.pick(path=path, column=column, near=near or "", columns=header), near)
