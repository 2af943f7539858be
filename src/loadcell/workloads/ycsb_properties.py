"""YCSB's properties: their names, defaults and meaning; the six core workloads; and files that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, ValidationError, create_model, model_validator

from loadcell.ingest.benchmarksql_properties import PROPERTIES_WRONG, PROPERTIES_ZERO, read_properties
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode, MessageError, as_written
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError

YCSB_NO_PROPORTION = MessageCode("ycsb.no-proportion")
YCSB_MORE_THAN = MessageCode("ycsb.more-than", name=str, value=str, limit=str, limit_value=str)
YCSB_EXPECTED_INSERTS = MessageCode("ycsb.expected-inserts", inserts=str, most=str)
YCSB_INSERT_START = MessageCode("ycsb.insert-start", start=str, records=str)
YCSB_INSERT_COUNT = MessageCode("ycsb.insert-count", start=str, count=str, records=str)
YCSB_NOT_CORE = MessageCode("ycsb.not-core", kind=str, core=str)
YCSB_DATA_INTEGRITY = MessageCode("ycsb.data-integrity")
YCSB_HISTOGRAM = MessageCode("ycsb.histogram")
YCSB_PROPERTY = MessageCode("ycsb.property", name=str, value=str, why=Message)
YCSB_WRONG = MessageCode("ycsb.wrong", mistakes=list)

RequestDistribution = Literal["uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"]

_LONGEST_FILE = 1_000_000
_MOST_RECORDS = 2**40

_Proportion = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
_Fraction = Annotated[float, Field(ge=0, le=1)]
_Records = Annotated[int, Field(ge=0, le=_MOST_RECORDS)]


class Exponential(Options):
    """Decay of `requestdistribution: exponential`."""

    percentile: Annotated[float, Field(ge=0.001, le=99.999)] = Field(
        default=95, description="This percentage of the operations ..."
    )
    frac: Annotated[float, Field(ge=1e-9, le=1e9)] = Field(
        default=0.8571428571, description="... go to this part of the records, the latest ones."
    )


class Properties(Options):
    """Properties of a workload. Names and defaults are YCSB's."""

    recordcount: Annotated[int, Field(ge=1, le=_MOST_RECORDS)] = Field(
        default=1000, description="Records that are there before the run phase."
    )
    operationcount: _Records = Field(
        default=1000,
        description="With `zipfian` and inserts: how many operations new records are reckoned from.",
    )
    readproportion: _Proportion = Field(default=0.95, description="Share of reads in the operations.")
    updateproportion: _Proportion = Field(default=0.05, description="Updates.")
    insertproportion: _Proportion = Field(default=0, description="Inserts.")
    scanproportion: _Proportion = Field(default=0, description="Scans.")
    readmodifywriteproportion: _Proportion = Field(default=0, description="Read-modify-writes.")
    requestdistribution: RequestDistribution = Field(
        default="uniform", description="Which records are asked for."
    )
    fieldcount: Annotated[int, Field(ge=1, le=1000)] = Field(default=10, description="Fields of a record.")
    fieldlength: Annotated[int, Field(ge=1, le=64 * 2**20)] = Field(
        default=100, description="Octets of a field, or the most of them."
    )
    minfieldlength: Annotated[int, Field(ge=1)] = Field(default=1, description="The least of them.")
    fieldlengthdistribution: Literal["constant", "uniform", "zipfian"] = Field(
        default="constant", description="How lengths of fields vary."
    )
    readallfields: bool = Field(default=True, description="Reads and scans read all fields; `false`: one.")
    writeallfields: bool = Field(default=False, description="Updates write all fields; `false`: one.")
    minscanlength: Annotated[int, Field(ge=1)] = Field(default=1, description="The fewest records of a scan.")
    maxscanlength: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1000, description="The most of them."
    )
    scanlengthdistribution: Literal["uniform", "zipfian"] = Field(
        default="uniform", description="How lengths of scans vary."
    )
    insertorder: Literal["hashed", "ordered"] = Field(
        default="hashed", description="Whether numbers of records are hashed to become keys."
    )
    insertstart: _Records = Field(default=0, description="The number of the first record of the load phase.")
    insertcount: Annotated[int, Field(ge=1, le=_MOST_RECORDS)] | None = Field(
        default=None, description="Records of the load phase. Default: `recordcount` less `insertstart`."
    )
    zeropadding: Annotated[int, Field(ge=0, le=200)] = Field(
        default=1, description="The least digits of a key: zeros are put in front."
    )
    hotspotdatafraction: _Fraction = Field(
        default=0.2, description="`hotspot`: the share of the records that is hot."
    )
    hotspotopnfraction: _Fraction = Field(
        default=0.8, description="`hotspot`: the share of the operations that hot records get."
    )
    exponential: Exponential = Field(
        default=Exponential(),
        description="`exponential`: `percentile` of the operations fall within the newest `frac` of the "
        "records.",
    )
    table: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$")] = Field(
        default="usertable", description="The table's name."
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Properties:
        if sum(self.proportions().values()) <= 0:
            raise SettingError(YCSB_NO_PROPORTION())
        ranges = {
            ("minfieldlength", "fieldlength"): (self.minfieldlength, self.fieldlength),
            ("minscanlength", "maxscanlength"): (self.minscanlength, self.maxscanlength),
        }
        for (name, limit), (value, most) in ranges.items():
            if value > most:
                raise SettingError(YCSB_MORE_THAN(name=name, value=value, limit=limit, limit_value=most))
        if self.expected_inserts() > _MOST_RECORDS:
            raise SettingError(YCSB_EXPECTED_INSERTS(inserts=self.expected_inserts(), most=_MOST_RECORDS))
        if self.insertstart >= self.recordcount:
            raise SettingError(YCSB_INSERT_START(start=self.insertstart, records=self.recordcount))
        if self.inserted > self.recordcount - self.insertstart:
            raise SettingError(
                YCSB_INSERT_COUNT(start=self.insertstart, count=self.inserted, records=self.recordcount)
            )
        return self

    @property
    def inserted(self) -> int:
        """Records of the load phase."""
        return self.recordcount - self.insertstart if self.insertcount is None else self.insertcount

    def proportions(self) -> dict[str, float]:
        """By operation."""
        return {
            name: getattr(self, f"{name}proportion")
            for name in ("read", "update", "insert", "scan", "readmodifywrite")
        }

    def expected_inserts(self) -> int:
        """As YCSB reckons them: twice what `operationcount` operations would insert on average."""
        return int(self.operationcount * self.insertproportion * 2)


def _mix(**proportions: float) -> JsonObject:
    every = dict.fromkeys(("read", "update", "insert", "scan", "readmodifywrite"), 0.0)
    return {f"{name}proportion": share for name, share in {**every, **proportions}.items()}


#: What YCSB's files `workloada` to `workloadf` say.
CORE: Mapping[str, JsonObject] = {
    "a": {**_mix(read=0.5, update=0.5), "requestdistribution": "zipfian"},
    "b": {**_mix(read=0.95, update=0.05), "requestdistribution": "zipfian"},
    "c": {**_mix(read=1), "requestdistribution": "zipfian"},
    "d": {**_mix(read=0.95, insert=0.05), "requestdistribution": "latest"},
    "e": {
        **_mix(scan=0.95, insert=0.05),
        "requestdistribution": "zipfian",
        "maxscanlength": 100,
        "scanlengthdistribution": "uniform",
    },
    "f": {**_mix(read=0.5, readmodifywrite=0.5), "requestdistribution": "zipfian"},
}

#: Every property as a key of a plan that may be left out.
Given: type[Options] = create_model(
    "Given",
    __base__=Options,
    **{
        name: (
            Annotated[(field.annotation, *field.metadata)] | None
            if field.metadata
            else field.annotation | None,  # type: ignore[operator]
            Field(default=None, description=field.description),
        )
        for name, field in Properties.model_fields.items()
    },
)  # type: ignore[call-overload]

#: Properties of a file that concern the load.
OF_THE_LOAD = ("threadcount", "target", "maxexecutiontime")
#: Known, and without a meaning here: results, histograms and the way to a store are said in the plan.
WITHOUT_MEANING = (
    *("workload", "db", "exporter", "exportfile", "label", "status", "status.interval", "measurementtype"),
    *("measurement.interval", "measurement.raw.output_file", "measurement.trackjvm", "histogram.buckets"),
    *("timeseries.granularity", "reportlatencyforeacherror", "latencytrackederrors", "maxexecutiontime"),
    *("core_workload_insertion_retry_limit", "core_workload_insertion_retry_interval", "operationcount"),
    *("dotransactions", "dataintegrity", "fieldnameprefix", "readallfieldsbyname"),
)
#: What begins so is about a store's driver, or histograms.
_PREFIXES = (
    "hdrhistogram.",
    "redis.",
    "db.",
    "jdbc.",
    "postgrenosql.",
    "rocksdb.",
    "mongodb.",
    "cassandra.",
    "hbase.",
)
_DOTTED = {"exponential.percentile", "exponential.frac"}
KEYS = (
    *(name for name in Properties.model_fields if name != "exponential"),
    *_DOTTED,
    *OF_THE_LOAD,
    *WITHOUT_MEANING,
)
#: Classes that are the core workload, by whatever name YCSB has had, and go-ycsb's word for it.
_CORE_CLASSES = ("site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload", "core")


class File(Options):
    """Contents of a property file: workload, load, and unknown properties."""

    properties: JsonObject
    threadcount: int | None = None
    target: float | None = None
    maxexecutiontime: int | None = None
    unknown: tuple[str, ...] = ()


def read(path: Path) -> File:
    """Read a property file. Raises SettingError with everything that is wrong in it."""
    properties = read_properties(path, _LONGEST_FILE)
    return _understood({key: value.strip() for key, value in properties.items()}, path.name)


def _understood(lines: Mapping[str, str], name: str) -> File:
    mistakes: list[Message] = []
    kind = lines.get("workload")
    if kind and kind not in _CORE_CLASSES:
        mistakes.append(YCSB_NOT_CORE(kind=kind, core=_CORE_CLASSES[0]))
    if lines.get("dataintegrity", "").lower() == "true":
        mistakes.append(YCSB_DATA_INTEGRITY())
    if lines.get("fieldlengthdistribution", "").lower() == "histogram":
        mistakes.append(YCSB_HISTOGRAM())
    load: JsonObject = {key: lines[key] for key in OF_THE_LOAD if lines.get(key)}
    properties: JsonObject = {}
    for key, value in lines.items():
        if key in _DOTTED:
            properties.setdefault("exponential", {})[key.partition(".")[2]] = value
        elif key in Properties.model_fields and value:
            # YCSB takes any order that is not `hashed` for ordered, and words in either case for its
            # distributions.
            properties[key] = (
                _order(value) if key == "insertorder" else value.lower() if "distribution" in key else value
            )
    try:
        file = File(properties=properties, unknown=tuple(key for key in lines if not _is_key(key)), **load)
        if file.threadcount == 0:
            mistakes.append(PROPERTIES_ZERO(key="threadcount"))
        Properties(**properties)
    except ValidationError as error:
        mistakes += explained(error)
    if mistakes:
        raise SettingError(PROPERTIES_WRONG(file=name, mistakes=mistakes))
    return file


def _order(value: str) -> str:
    return "hashed" if value == "hashed" else "ordered"


def _is_key(key: str) -> bool:
    return key in KEYS or key.startswith(_PREFIXES)


def explained(error: ValidationError) -> list[Message]:
    """Each mistake, with the property it is about."""
    parts = []
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"])
        cause = problem.get("ctx", {}).get("error")
        message = cause.message if isinstance(cause, MessageError) else as_written(problem["msg"])
        mistake = YCSB_PROPERTY(name=where, value=repr(problem["input"]), why=message)
        parts.append(mistake if where else message)
    return parts


def resolved(letter: str | None, file: File | None, options: JsonObject) -> Properties:
    """All properties: the plan's own before the file's, the file's before the letter's, then YCSB's defaults.
    Raises SettingError.
    """
    try:
        return Properties(**{**CORE.get(letter or "", {}), **(file.properties if file else {}), **options})
    except ValidationError as error:
        raise SettingError(YCSB_WRONG(mistakes=explained(error))) from None


LETTERS = tuple(CORE)
DISTRIBUTIONS = get_args(RequestDistribution)
