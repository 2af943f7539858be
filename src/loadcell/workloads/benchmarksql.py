"""TPC-C with the settings of a BenchmarkSQL property file, as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from pydantic import (
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)

from loadcell.ingest import benchmarksql_properties
from loadcell.ingest.benchmarksql_properties import PROPERTIES_WRONG, Properties
from loadcell.model.extensions import TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.model.tools import by_jdbc_kind, jdbc_servers
from loadcell.plan.data_size import DataSize
from loadcell.plan.files import named_file
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.workload import Ask, Condition, Verification, Workload
from loadcell.workloads.sysbench import RetriedErrors, StatementProtocol
from loadcell.workloads.tpcc import Tpcc, TpccOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadcell.plan.model import Load, Resolved

BENCHMARKSQL_FILE_REMARKS = MessageCode("benchmarksql.file-remarks", "caution", name=str, remarks=list)
BENCHMARKSQL_OTHER_TERMINALS = MessageCode(
    "benchmarksql.other-terminals", "caution", clients=str, terminals=str
)
BENCHMARKSQL_PASSWORD = MessageCode("benchmarksql.password", "caution", form=str)
BENCHMARKSQL_WITHOUT_MEANING = MessageCode("benchmarksql.without-meaning", "caution", names=list)
BENCHMARKSQL_UNKNOWN = MessageCode("benchmarksql.unknown", "caution", key=str)
BENCHMARKSQL_UNKNOWN_NEAR = MessageCode("benchmarksql.unknown-near", "caution", key=str, near=str)
BENCHMARKSQL_NOT_FIXED = MessageCode("benchmarksql.not-fixed", "caution")
BENCHMARKSQL_TRANSACTIONS = MessageCode("benchmarksql.transactions", "caution", count=str)
BENCHMARKSQL_CONNECTION = MessageCode("benchmarksql.connection", "caution")
BENCHMARKSQL_OTHER_DURATION = MessageCode("benchmarksql.other-duration", "caution", duration=str, minutes=str)
BENCHMARKSQL_OTHER_SERVER = MessageCode(
    "benchmarksql.other-server", "caution", where=str, server=str, remedy=str
)
BENCHMARKSQL_OTHER_ADDRESS = MessageCode(
    "benchmarksql.other-address", "caution", where=str, measured=str, remedy=str
)
BENCHMARKSQL_OPTION = MessageCode("benchmarksql.option", name=str, value=str, reason=ForeignText)


class BenchmarkSqlOptions(Options):
    """Effective settings of the file: its warehouses, weights and limit; its terminals and minutes where the
    plan's `load`
    leaves them open."""

    properties: str = Field(
        min_length=1,
        description="The property file (`props.pg`); a relative path starts where loadcell is run.",
    )
    keying_time: bool = Field(default=False, description="As of workload `tpcc`.")
    think_time: bool = Field(default=False, description="As of workload `tpcc`.")
    protocol: StatementProtocol = Field(default="prepared", description="As of workload `tpcc`.")
    retry_sqlstates: RetriedErrors = Field(default=("40001", "40P01"), description="As of workload `tpcc`.")

    _read: Properties = PrivateAttr()

    @field_validator("properties")
    @classmethod
    def _can_be_used(cls, path: str, info: ValidationInfo) -> str:
        read = benchmarksql_properties.read(named_file(info, path, Path()))
        try:
            TpccOptions.model_validate(read.options)
        except ValidationError as error:
            mistakes = [
                BENCHMARKSQL_OPTION(name=failure["loc"][0], value=failure["input"], reason=failure["msg"])
                for failure in error.errors()
            ]
            raise SettingError(PROPERTIES_WRONG(file=Path(path).name, mistakes=mistakes)) from None
        return path

    @model_validator(mode="after")
    def _as_tpcc(self, info: ValidationInfo) -> BenchmarkSqlOptions:
        self._read = benchmarksql_properties.read(named_file(info, self.properties, Path()))
        return self

    def read(self) -> Properties:
        """Settings of the file when the plan was read."""
        return self._read

    def tpcc(self) -> TpccOptions:
        """The same as options of workload `tpcc`."""
        shared = self.model_dump(include={"keying_time", "think_time", "protocol", "retry_sqlstates"})
        return TpccOptions.model_validate({**self._read.options, **shared})

    @computed_field  # type: ignore[prop-decorator]
    @property
    def said(self) -> JsonObject:
        """Contents of the file, for the record: the file may change later."""
        return {
            **self._read.options,
            "terminals": self._read.terminals,
            "run_minutes": self._read.run_minutes,
            "transactions_per_terminal": self._read.transactions_per_terminal,
        }


class BenchmarkSql(Workload[BenchmarkSqlOptions]):
    """Workload `tpcc`, told by a property file."""

    name = "benchmarksql"
    summary = "TPC-C with the settings of a BenchmarkSQL property file"
    Options = BenchmarkSqlOptions
    needs = Tpcc.needs
    sets_load = True
    verified: ClassVar[Verification | None] = Tpcc.verified
    client_noun = Tpcc.client_noun

    def __init__(self, options: BenchmarkSqlOptions) -> None:
        super().__init__(options)
        self._tpcc = Tpcc(options.tpcc())

    @staticmethod
    def load_settings(options: BenchmarkSqlOptions) -> JsonObject:
        """Terminals and minutes of the file, for where the plan leaves them open."""
        read = options.read()
        minutes = {"duration": f"{read.run_minutes}min"} if read.run_minutes else {}
        return {"clients": read.terminals, **minutes}

    def data(self) -> JsonObject:
        return self._tpcc.data()

    def data_size(self, target: TargetKind) -> DataSize:
        """That of `tpcc`: the scale is the `warehouses` of the property file."""
        return self._tpcc.data_size(target)

    def table_names(self) -> tuple[str, ...]:
        return self._tpcc.table_names()

    @property
    def changes_data(self) -> bool:
        return self._tpcc.changes_data

    def parallel_statements(self, operations: Mapping[str, int], statements: int) -> int:
        return self._tpcc.parallel_statements(operations, statements)

    def engine(self) -> JsonObject:
        return self._tpcc.engine()

    def figures(self, succeeded: Mapping[str, int], seconds: float) -> dict[str, float]:
        return self._tpcc.figures(succeeded, seconds)

    def notes(self) -> tuple[str, ...]:
        return self._tpcc.notes()

    def verify(self, ask: Ask) -> list[Condition]:
        return self._tpcc.verify(ask)

    def unretried(self, load: Load, target: TargetKind) -> Sequence[str]:
        return self._tpcc.unretried(load, target)

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:
        return [
            misfit
            if misfit.path.startswith("load.")
            else replace(misfit, path=misfit.path.replace(".tpcc.", f".{self.name}."))
            for misfit in self._tpcc.misfits(load, target)
        ]

    def advice(self) -> list[Advice]:
        """Settings of the file without effect. One remark for all: each is about the same setting."""
        read = self.options.read()
        remarks: list[Message] = []
        if read.has_password:
            remarks.append(BENCHMARKSQL_PASSWORD(form="${env:NAME}"))
        if read.without_meaning:
            remarks.append(BENCHMARKSQL_WITHOUT_MEANING(names=list(read.without_meaning)))
        remarks += [
            BENCHMARKSQL_UNKNOWN_NEAR(key=key, near=near) if near else BENCHMARKSQL_UNKNOWN(key=key)
            for key, near in read.unknown
        ]
        if not read.has_fixed:
            remarks.append(BENCHMARKSQL_NOT_FIXED())
        if read.transactions_per_terminal:
            remarks.append(BENCHMARKSQL_TRANSACTIONS(count=read.transactions_per_terminal))
        if read.connection_unread:
            remarks.append(BENCHMARKSQL_CONNECTION())
        if not remarks:
            return []
        name = Path(self.options.properties).name
        return [Advice("properties", BENCHMARKSQL_FILE_REMARKS(name=name, remarks=remarks))]

    def remarks(self, settings: Resolved) -> list[Advice]:
        return [
            *self._load_remarks(settings.load),
            *self._target_remarks(settings),
            *self._tpcc.remarks(settings),
        ]

    def _load_remarks(self, load: Load) -> list[Advice]:
        read = self.options.read()
        remarks = []
        if load.clients != read.terminals:
            remarks.append(
                Advice(
                    "load.clients",
                    BENCHMARKSQL_OTHER_TERMINALS(clients=load.clients, terminals=read.terminals),
                )
            )
        if read.run_minutes and float(load.duration) != read.run_minutes * 60:
            message = BENCHMARKSQL_OTHER_DURATION(duration=load.duration.text, minutes=read.run_minutes)
            remarks.append(Advice("load.duration", message))
        return remarks

    def _target_remarks(self, settings: Resolved) -> list[Advice]:
        """A remark if the server that is measured is not the one that `conn` names."""
        named = self.options.read().connection
        programs = by_jdbc_kind(named.kind) if named is not None else None
        if named is None or programs is None or programs.jdbc is None:
            return []
        user = self.options.read().user or "USER"
        server = programs.jdbc
        url = f"{programs.scheme}://{user}@{named.where}"
        keys = f'server: external, {server.option}: "{url}", password: "${{env:NAME}}"'
        remedy = f"target: {{{server.target}: {{{keys}}}}}"
        measured_target = settings.target_name
        if not settings.target.external:
            how = getattr(settings.target, "server", None)
            message = BENCHMARKSQL_OTHER_SERVER(where=named.where, server=how, remedy=remedy)
            return [Advice(f"target.{measured_target}.server", message)]
        measured = next((item for item in jdbc_servers() if item.target == measured_target), None)
        address = _address(getattr(settings.target, measured.option), measured.port) if measured else None
        if measured is None or address is None or (measured, address) == (server, named.address):
            return []
        message = BENCHMARKSQL_OTHER_ADDRESS(
            where=named.where, measured=f"{address[0]}:{address[1]}", remedy=remedy
        )
        return [Advice(f"target.{measured_target}.{measured.option}", message)]


def _address(url: str | None, port: int) -> tuple[str, int] | None:
    """Host and port of a URL, by default `port`; None of a DSN of another form."""
    try:
        parts = urlsplit(url or "")
        return (parts.hostname or "localhost", parts.port or port) if parts.scheme else None
    except ValueError:
        return None


PART = BenchmarkSql
