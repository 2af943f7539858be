"""YCSB's core workload, A to F, by property file, letter or property."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    computed_field,
    model_validator,
)

from loadcell.model.extensions import MYSQL, POSTGRES, RESP, STORE, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, MessageCode
from loadcell.plan.data_size import DataSize
from loadcell.plan.files import named_file
from loadcell.plan.parts import Advice, Misfit
from loadcell.plan.problems import nearest
from loadcell.plan.workload import Variants, Workload
from loadcell.workloads import ycsb_properties
from loadcell.workloads.sysbench import LOAD_WORKERS, RetriedErrors, StatementProtocol, unknown_protocol
from loadcell.workloads.ycsb_properties import File, Given, Properties

if TYPE_CHECKING:
    from loadcell.plan.model import Load, Resolved

YCSB_FILE_REMARKS = MessageCode("ycsb.file-remarks", "caution", name=str, remarks=list)
YCSB_UNKNOWN = MessageCode("ycsb.unknown", "caution", key=str)
YCSB_UNKNOWN_NEAR = MessageCode("ycsb.unknown-near", "caution", key=str, near=str)
YCSB_OTHER_CLIENTS = MessageCode("ycsb.other-clients", "caution", clients=str, threads=str)
YCSB_OTHER_RATE = MessageCode("ycsb.other-rate", "caution", rate=str)

#: Operations that reports explain.
_TYPE = Labels("type", ("READ-MODIFY-WRITE",))
#: Bytes that each byte of a record's fields takes, and those of the record itself (see `Ycsb.data_size`).
_POSTGRES_BYTES = (1.11, 88)
_MYSQL_BYTES = (1.57, 121)
_REDIS_BYTES = (1.72, 271)
#: Typical length of a key: `user` and 19 digits.
_KEY_BYTES = 23
#: Name and length of a field in an embedded store.
_NAME_BYTES = 14
#: Prefixes of the keys in a Redis: those of records, and of their index.
_KEY_PREFIXES = ("user", "_indices")
#: What decides the records that are loaded.
_OF_THE_DATA = (
    *("recordcount", "insertstart", "insertcount", "fieldcount", "fieldlength", "minfieldlength"),
    *("fieldlengthdistribution", "hashed", "zeropadding", "table"),
)

_Letter = Annotated[
    Literal["a", "b", "c", "d", "e", "f"],
    BeforeValidator(lambda letter: letter.lower() if isinstance(letter, str) else letter),
    WithJsonSchema({"type": "string", "pattern": "^[A-Fa-f]$"}),
]


class YcsbOptions(Given):  # type: ignore[misc, valid-type]
    """A letter, a file, and properties of the plan's own, which count before those of the file; the rest is
    YCSB's default.
    """

    workload: _Letter | None = Field(
        default=None,
        description="One of YCSB's core workloads, A to F, as in its files `workloada` to `workloadf`.",
    )
    properties: str | None = Field(
        default=None, min_length=1, description="A property file; a relative path starts where the plan is."
    )
    phase: Literal["load", "run"] = Field(
        default="run",
        description="`run`: the records are there, and the mix is measured. `load`: nothing is there, and "
        "inserting the records "
        "is measured.",
    )
    protocol: StatementProtocol = Field(
        default="prepared",
        description="On databases, how statements are sent: as text, parsed for each execution (PostgreSQL "
        "only), or parsed "
        "once for a connection.",
    )
    retry_sqlstates: RetriedErrors = Field(
        default=("40001", "40P01"),
        description="On databases, errors after which an operation is tried again, up to `load.max_retries`.",
    )

    _file: File | None = PrivateAttr(default=None)
    _all: Properties = PrivateAttr()

    @model_validator(mode="after")
    def _is_a_workload(self, info: ValidationInfo) -> YcsbOptions:
        if self.properties is not None:
            self._file = ycsb_properties.read(named_file(info, self.properties))
        fields = {
            name: getattr(self, name) for name in Properties.model_fields if name in self.model_fields_set
        }
        fields = {name: value for name, value in fields.items() if value is not None}
        self._all = ycsb_properties.resolved(self.workload, self._file, fields)
        return self

    def file(self) -> File | None:
        """Contents of the file when the plan was read."""
        return self._file

    def all(self) -> Properties:
        """Every property, wherever it was said."""
        return self._all

    @computed_field  # type: ignore[prop-decorator]
    @property
    def said(self) -> JsonObject:
        """Every property as it is used, for the record: the file may change later."""
        return self._all.model_dump(mode="json")

    def section(self) -> JsonObject:
        """The section for the engine."""
        every = self._all.model_dump()
        proportions = self._all.proportions()
        exponential = every.pop("exponential")
        for name in (
            "operationcount",
            "insertorder",
            *(f"{proportion}proportion" for proportion in proportions),
        ):
            del every[name]
        return {
            **every,
            "proportions": proportions,
            "exponential_percentile": exponential["percentile"],
            "exponential_frac": exponential["frac"],
            "hashed": self._all.insertorder == "hashed",
            "insertcount": self._all.inserted,
            "expected_inserts": self._all.expected_inserts(),
            "phase": self.phase,
            "protocol": self.protocol,
            "retry_sqlstates": list(self.retry_sqlstates),
            "load_workers": LOAD_WORKERS,
        }


class Ycsb(Workload[YcsbOptions]):
    """Records of some fields under a key: read, updated, inserted, scanned."""

    name = "ycsb"
    variants = Variants("workload", tuple("abcdef"))
    summary = "YCSB's core workloads A to F, from property files or keys of the plan"
    Options = YcsbOptions
    needs = frozenset({RESP, STORE, POSTGRES, MYSQL})
    sets_load = True
    unit = "operation"

    @staticmethod
    def load_settings(options: YcsbOptions) -> JsonObject:
        """Threads, target rate and time of the file, for where the plan leaves them open."""
        file = options.file()
        # The load phase is over when all records are there.
        settings: JsonObject = {"requests": options.all().inserted} if options.phase == "load" else {}
        if file is None:
            return settings
        if file.threadcount:
            settings["clients"] = file.threadcount
        if file.target:
            settings["rate"] = f"{file.target:g}/s"
        if file.maxexecutiontime:
            settings["duration"] = f"{file.maxexecutiontime}s"
        return settings

    def data(self) -> JsonObject:
        section = self.options.section()
        data = {name: section[name] for name in _OF_THE_DATA}
        if self.options.phase == "load":  # no record is there, whatever they will be
            data = {
                "phase": "load",
                "fieldcount": section["fieldcount"],
                "fieldlength": section["fieldlength"],
                "table": section["table"],
            }
        return {"ycsb": data}

    def data_size(self, target: TargetKind) -> DataSize | None:
        """Bytes of all records, those of a load phase when it is over; None with `zipfian` lengths of fields.

        Source: 50,000 and 100,000 records of ten fields of 10 and 100 bytes, loaded by loadcell into
        PostgreSQL 18 (pg_database_size), MariaDB 10.11 (DATA_LENGTH) and Redis 7.0 (used_memory), in which
        the size is linear in that of all fields. Embedded B-trees (redb, LMDB), which hashed keys fill in
        random order, took up to 1.5 times their estimate.
        """
        records = self.options.all()
        if records.fieldlengthdistribution == "zipfian":
            return None
        length: float = records.fieldlength
        if records.fieldlengthdistribution == "uniform":
            length = (records.minfieldlength + records.fieldlength) / 2
        fields_bytes = records.fieldcount * length
        if STORE in target.offers:
            return DataSize(
                "recordcount",
                records.inserted,
                _KEY_BYTES + fields_bytes + records.fieldcount * _NAME_BYTES,
                records=True,
            )
        kinds = ((POSTGRES, _POSTGRES_BYTES), (MYSQL, _MYSQL_BYTES), (RESP, _REDIS_BYTES))
        per_byte, overhead = next(sizes for kind, sizes in kinds if kind in target.offers)
        return DataSize("recordcount", records.inserted, per_byte * fields_bytes + overhead)

    def key_prefixes(self) -> tuple[str, ...]:
        return _KEY_PREFIXES

    def table_names(self) -> tuple[str, ...]:
        return (self.options.section()["table"],)

    @property
    def changes_data(self) -> bool:
        writing = ("update", "insert", "readmodifywrite")
        proportions = self.options.all().proportions()
        return self.options.phase == "load" or any(proportions[name] > 0 for name in writing)

    def engine(self) -> JsonObject:
        return {"ycsb": self.options.section()}

    def calls(self, operations: Mapping[str, int]) -> dict[str, int]:
        """Commands of Redis.

        The number of records of scans is unknown, so with scans reads are not checked.
        """
        count = {name: operations.get(name, 0) for name in ("READ", "UPDATE", "INSERT", "SCAN")}
        called = {
            "hset": count["UPDATE"] + count["INSERT"],
            "zadd": count["INSERT"],
            "zrangebyscore": count["SCAN"],
        }
        if "SCAN" not in operations:
            called["hgetall" if self.options.all().readallfields else "hmget"] = count["READ"]
        return called

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        return unknown_protocol(self.name, self.options.protocol, target)

    def advice(self) -> list[Advice]:
        """Unknown properties of the file. One remark for all: each is about the same setting."""
        file = self.options.file()
        if file is None or not file.unknown:
            return []
        remarks = [
            YCSB_UNKNOWN_NEAR(key=key, near=near)
            if (near := nearest(key, ycsb_properties.KEYS))
            else YCSB_UNKNOWN(key=key)
            for key in file.unknown
        ]
        name = Path(self.options.properties or "").name
        return [Advice("properties", YCSB_FILE_REMARKS(name=name, remarks=remarks))]

    def remarks(self, settings: Resolved) -> list[Advice]:
        """Where the plan's load is another than the file's."""
        file = self.options.file()
        remarks = []
        if file and file.threadcount and settings.load.clients != file.threadcount:
            message = YCSB_OTHER_CLIENTS(clients=settings.load.clients, threads=file.threadcount)
            remarks.append(Advice("load.clients", message))
        if file and file.target and settings.load.rate != file.target:
            remarks.append(Advice("load.rate", YCSB_OTHER_RATE(rate=f"{file.target:g}")))
        return remarks


PART = Ycsb
