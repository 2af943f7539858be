"""Records over connections that stay open: generated from a schema or read from a file, and answered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from loadcell import _engine
from loadcell.model import stream_metrics  # noqa: F401 - declares the metrics
from loadcell.model.engine_messages import engine_failure
from loadcell.model.extensions import STREAM, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode
from loadcell.plan.files import named_file
from loadcell.plan.parts import Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Size
from loadcell.plan.workload import Workload, declare_unit
from loadcell.systems.http.target import Address
from loadcell.workloads.parameters import Parameter

if TYPE_CHECKING:
    from loadcell.plan.model import Load

STREAM_SOURCE = MessageCode("stream.source")
STREAM_FIELD_SOURCE = MessageCode("stream.field-source")
STREAM_ONLY_WITH_FIELDS = MessageCode("stream.only-with-fields", key=str)
STREAM_ONLY_WITH_FILE = MessageCode("stream.only-with-file", key=str)
STREAM_ONLY_EACH = MessageCode("stream.only-each", key=str)
STREAM_KEY = MessageCode("stream.key")
STREAM_NO_FIELD = MessageCode("stream.no-field", key=str, fields=list)
STREAM_PADDING = MessageCode("stream.padding")
STREAM_PREPARED_EACH = MessageCode("stream.prepared-each")
STREAM_REPEATED_EACH = MessageCode("stream.repeated-each")
STREAM_FILE_WARMUP = MessageCode("stream.file-warmup")
STREAM_RESULTS_URL = MessageCode("stream.results-url", url=str)
STREAM_REFUSED = MessageCode("stream.refused", problem=Message, remedy=Message)

#: How long the socket may take no byte, or the oldest record may wait for its answer.
TIMEOUT = "30s"
#: Last field of a record that is filled up to its size.
PADDING = "padding"

_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
_Bytes = Annotated[Size, Field(ge=1, le=1 << 30)]


class StreamField(Parameter):
    """Values of a field: those of a parameter, or numbers that rise with each record."""

    step: int | None = Field(
        default=None,
        ge=0,
        lt=2**31,
        description="`from` (default: 0) and this step for each record: 1 makes the record's number.",
    )

    def check_source(self) -> None:
        if self.step is None:
            super().check_source()
        elif self.model_fields_set - {"step", "start"}:
            raise SettingError(STREAM_FIELD_SOURCE())

    def field_section(self, name: str) -> JsonObject:
        """The section for the engine."""
        if self.step is not None:
            return {"name": name, "number": {"start": self.start or 0, "step": self.step}}
        section = self.section()
        del section["step"]
        return {"name": name, "draw": section}


class StreamOptions(Options):
    """The records, how they are framed, and what the service answers."""

    fields: dict[_Name, StreamField] | None = Field(
        default=None,
        min_length=1,
        description="Fields of generated records, in this order: `{id: {step: 1}, key: {from: 0, to: 9999, "
        "distribution: zipfian}, kind: {values: [P, L]}}`.",
    )
    file: str | None = Field(
        default=None,
        min_length=1,
        description="Instead of `fields`: a file with one record a line, relative to the plan.",
    )
    repeat: bool = Field(
        default=True, description="With `file`: begin again at its end. `false`: the load ends with it."
    )
    prepared: int | None = Field(
        default=None,
        ge=1,
        le=10_000_000,
        description="With `fields`: make this number of records before the load and send them again and "
        "again, which costs less.",
    )
    size: _Bytes | None = Field(
        default=None,
        description="With `fields`: bytes of a record on the connection, filled up by letters in a last "
        "field `padding`.",
    )
    format: Literal["csv", "json"] = Field(
        default="csv", description="Values separated by commas, or an object of JSON."
    )
    framing: Literal["line", "length"] = Field(
        default="line",
        description="A record ends with the end of the line, or its length is sent first, in four bytes "
        "(big-endian).",
    )
    frame_limit: _Bytes = Field(default=Size(1 << 20), description="The longest record in bytes.")
    answers: Literal["none", "count", "each"] = Field(
        default="none",
        description="What the service sends back, by lines. `none`: nothing; a record has succeeded when the "
        "kernel has taken it. `count`: the number of processed records of the connection. `each`: the number "
        "of each processed record, and after a space its result, if it has one.",
    )
    results: str | None = Field(
        default=None,
        min_length=1,
        description="Where answers to `each` record are read, if not on the same connection: "
        "`tcp://127.0.0.1:9001`, or the path of a Unix socket.",
    )
    order: Literal["none", "key", "all"] = Field(
        default="none",
        description="Whether answers to `each` record have to keep the order of the records of a key, or of "
        "a connection. Others are counted as reordered.",
    )
    key: _Name | None = Field(default=None, description="With `order: key`: the field that is the key.")
    send_buffer: _Bytes | None = Field(
        default=None, description="Send buffer of a connection (SO_SNDBUF). Default: that of the kernel."
    )

    _path: str | None = PrivateAttr(default=None)

    @property
    def most_in_flight(self) -> None:
        """Only the service bounds the records that are sent and not answered."""
        return

    @field_validator("results")
    @classmethod
    def _results_is_an_address(cls, results: str | None) -> str | None:
        if results is not None and not results.startswith("/") and Address.of(results).protocol != STREAM:
            raise SettingError(STREAM_RESULTS_URL(url=repr(results)))
        return results

    @model_validator(mode="after")
    def _is_consistent(self, info: ValidationInfo) -> StreamOptions:
        written = self.model_fields_set
        if (self.fields is None) == (self.file is None):
            raise SettingError(STREAM_SOURCE())
        if self.fields is None and (misplaced := sorted(written & {"prepared", "size", "key"})):
            raise SettingError(STREAM_ONLY_WITH_FIELDS(key=misplaced[0]))
        if self.file is None and "repeat" in written:
            raise SettingError(STREAM_ONLY_WITH_FILE(key="repeat"))
        if self.fields is not None and self.size is not None and PADDING in self.fields:
            raise SettingError(STREAM_PADDING())
        numbered = self.answers == "each"
        if not numbered and (misplaced := sorted(written & {"results", "order", "key"})):
            raise SettingError(STREAM_ONLY_EACH(key=misplaced[0]))
        if numbered and self.prepared is not None:
            raise SettingError(STREAM_PREPARED_EACH())
        if numbered and self.file is not None and self.repeat:
            raise SettingError(STREAM_REPEATED_EACH())
        if (self.order == "key") != (self.key is not None):
            raise SettingError(STREAM_KEY())
        if self.key is not None and self.fields is not None and self.key not in self.fields:
            raise SettingError(STREAM_NO_FIELD(key=repr(self.key), fields=list(self.fields)))
        if self.file is not None:
            self._path = str(named_file(info, self.file).absolute())
        else:
            _checked(self.section())
        return self

    def section(self) -> JsonObject:
        """The section for the engine."""
        source: JsonObject
        if self.fields is not None:
            source = {"fields": [field.field_section(name) for name, field in self.fields.items()]}
        else:
            source = {"file": self._path, "repeat": self.repeat}
        same = ("prepared", "format", "framing", "answers", "order", "key")
        sizes = ("size", "frame_limit", "send_buffer")
        return {
            "source": source,
            **{name: getattr(self, name) for name in same},
            **{name: None if (size := getattr(self, name)) is None else int(size) for name in sizes},
            "results": self._results_section(),
            "keep_answers": None,
        }

    def _results_section(self) -> JsonObject | None:
        if self.results is None:
            return None
        if self.results.startswith("/"):
            return {"socket": self.results}
        address = Address.of(self.results)
        return {"host": address.host, "port": address.port}


def _checked(section: JsonObject) -> None:
    """Has the engine read it. Raises SettingError with what it finds wrong."""
    try:
        _engine.check(json.dumps({"stream": section}))
    except _engine.EngineError as error:
        problem = engine_failure(json.loads(str(error)))
        remedy = problem.remedy
        raise SettingError(STREAM_REFUSED(problem=problem, remedy=remedy) if remedy else problem) from None


class Stream(Workload[StreamOptions]):
    """Records over each of the load's connections: as fast as they are taken, or at a rate."""

    name = "stream"
    summary = "records over open connections, from a schema or a file: lost, duplicated, reordered, blocked"
    Options = StreamOptions
    needs = frozenset({STREAM})
    sets_load = True
    unit = declare_unit("record")

    @staticmethod
    def load_settings(options: StreamOptions) -> JsonObject:
        """Default time limit of a record. A file that is sent once is not to end in the warm-up."""
        once = {"warmup": "0s"} if options.file is not None and not options.repeat else {}
        return {"timeout": TIMEOUT, **once}

    def data(self) -> None:
        return None

    @property
    def changes_data(self) -> bool:
        return False

    def engine(self) -> JsonObject:
        return {"stream": self.options.section()}

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        once = self.options.file is not None and not self.options.repeat
        return [Misfit("load.warmup", STREAM_FILE_WARMUP())] if once and load.warmup else []


PART = Stream
