"""Options of the probes, by the definitions of known tools: cpu, memory, latency, disk, network."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, MessageCode
from loadcell.model.metrics import declare
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Fraction, Size
from loadcell.plan.workload import declare_unit

if TYPE_CHECKING:
    from loadcell.plan.model import Load

PROBE_BLOCK_SIZE = MessageCode("probe.block-size", "caution", block=str)
PROBE_OF_SYSBENCH = MessageCode("probe.of-sysbench", option=str, test=str)
PROBE_OF_ARRAYS = MessageCode("probe.of-arrays")
PROBE_WORDS = MessageCode("probe.words", option=str, size=str, word=str)
PROBE_LESS_THAN_BLOCK = MessageCode("probe.less-than-block", size=str, block=str)
PROBE_SECTORS = MessageCode("probe.sectors", block=str)
PROBE_PSYNC_DEPTH = MessageCode("probe.psync-depth", depth=str)
PROBE_NOTHING_WRITTEN = MessageCode("probe.nothing-written", access=str)
PROBE_NO_OPTION = MessageCode("probe.no-option", test=str, option=str)
PROBE_EVENTS = MessageCode("metric-meaning.probe-events", "info")
PROBE_ACCESS = MessageCode("metric-meaning.probe-access", "info")
PROBE_MEMORY_RATE = MessageCode("metric-meaning.probe-memory-rate", "info")
PROBE_MEMORY_BEST = MessageCode("metric-meaning.probe-memory-best", "info")
PROBE_IOPS = MessageCode("metric-meaning.probe-iops", "info")
PROBE_READ_RATE = MessageCode("metric-meaning.probe-read-rate", "info")
PROBE_WRITE_RATE = MessageCode("metric-meaning.probe-write-rate", "info")
PROBE_NETWORK_REQUESTS = MessageCode("metric-meaning.probe-network-requests", "info")
PROBE_NETWORK_STREAMS = MessageCode("metric-meaning.probe-network-streams", "info")

#: What the throughput of probes counts.
PASS, EVENT, BLOCK = map(declare_unit, ("pass", "event", "block"))


class Section(Options):
    """One probe's options. Paths of remarks and misfits are relative to them."""

    @property
    def unit(self) -> str:
        """Unit of throughput: passes, each of the work that is timed as one."""
        return PASS

    @property
    def pipeline(self) -> int:
        """Number of transactions a client has in progress at the most."""
        return 1

    @property
    def lays_out(self) -> bool:
        """True if files are made before anything is measured."""
        return False

    @abstractmethod
    def engine(self) -> JsonObject:
        """The section for the engine."""

    def notes(self) -> tuple[str, ...]:
        """By which definition it measures: keys of `note.*` in the report's texts."""
        return ()

    def advice(self) -> list[Advice]:
        """Remarks on options that are valid but unwise."""
        return []

    def misfits(self, load: Load) -> list[Misfit]:  # noqa: ARG002
        """Reasons that the probe is impossible under that load."""
        return []


declare("events_per_s", "rate", PROBE_EVENTS())


_CPU_NOTE = Labels("note", ("probe.cpu",))


class CpuOptions(Section):
    """Number of times per second that all primes below a bound are found by trial division, as `sysbench cpu`
    does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, title="cpu")

    max_prime: int = Field(
        default=10_000,
        ge=4,
        le=1_000_000_000,
        description="Every number from 3 up to below this one is divided by 2 and on, up to its square root: "
        "that is an event. As "
        "`--cpu-max-prime`.",
    )

    @property
    def unit(self) -> str:
        return EVENT

    def engine(self) -> JsonObject:
        return self.model_dump()

    def notes(self) -> tuple[str, ...]:
        return _CPU_NOTE.names


declare(
    "access_ns",
    "count",
    PROBE_ACCESS(),
    "lower",
    additive=False,
    headline=True,
)


_LATENCY_NOTE = Labels("note", ("probe.latency",))


class LatencyOptions(Section):
    """Latency of memory. As a factor `size` shows the caches one after the other."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="latency")

    size: Annotated[Size, Field(ge=128, le=2**50)] = Field(
        default=Size(256 * 2**20),
        description="The working set of each thread: pointers in lines of 64 bytes, in one cycle of random "
        "order.",
    )

    def engine(self) -> JsonObject:
        return {"size": int(self.size)}

    def notes(self) -> tuple[str, ...]:
        return _LATENCY_NOTE.names


declare("mib_per_s", "count", PROBE_MEMORY_RATE(), headline=True)
declare(
    "best_mib_per_s",
    "count",
    PROBE_MEMORY_BEST(),
    additive=False,
)

Test = Literal["sysbench", "memcpy", "dumb", "mcblock", "copy", "scale", "add", "triad"]

#: Which tool's a test is, by the last part of its note's key; settings that only sysbench's test has.
_TOOLS = {
    "sysbench": "sysbench",
    **dict.fromkeys(("memcpy", "dumb"), "mbw"),
    "mcblock": "mcblock",
    **dict.fromkeys(("copy", "scale", "add", "triad"), "stream"),
}
_MEMORY_NOTE = Labels("note", (f"probe.memory.{tool}" for tool in dict.fromkeys(_TOOLS.values())))
_OF_SYSBENCH = ("block", "access", "operation", "scope")
#: what all of them work in
_WORD = 8
_MEMORY_LARGEST = 2**50

_Bytes = Annotated[Size, Field(ge=_WORD, le=_MEMORY_LARGEST)]


class MemoryOptions(Section):
    """Number of MiB a second go through memory, as `sysbench memory`, mbw or STREAM counts them."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="memory")

    test: Test = Field(
        default="sysbench",
        description="`sysbench`: passes over a block. mbw's: `memcpy` (one call), `dumb` (word by word), "
        "`mcblock` (blocks of 256 KiB). "
        "STREAM's: `copy` (c = a), `scale` (b = 3 c), `add` (c = a + b), `triad` (a = b + 3 c).",
    )
    size: _Bytes = Field(
        default=Size(256 * 2**20),
        description="Tests of mbw and STREAM: the size of one array. Each thread has two (mbw) or three "
        "(STREAM).",
    )
    block: _Bytes = Field(
        default=Size(1024), description="`sysbench`: what a pass goes over, as `--memory-block-size`."
    )
    access: Literal["seq", "rnd"] = Field(
        default="seq",
        description="`sysbench`: word after word, or words drawn at random, as `--memory-access-mode`.",
    )
    operation: Literal["read", "write", "none"] = Field(
        default="write", description="`sysbench`: what is done with each word, as `--memory-oper`."
    )
    scope: Literal["global", "local"] = Field(
        default="global",
        description="`sysbench`: one block for all threads, or each thread its own, as `--memory-scope`.",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> MemoryOptions:
        named = self.model_fields_set
        if self.test != "sysbench":
            strange = [name for name in _OF_SYSBENCH if name in named]
            if strange:
                raise SettingError(PROBE_OF_SYSBENCH(option=strange[0], test=self.test))
        elif "size" in named:
            raise SettingError(PROBE_OF_ARRAYS())
        for name in ("size", "block"):
            size: Size = getattr(self, name)
            if size % _WORD:
                raise SettingError(PROBE_WORDS(option=name, size=size.text, word=_WORD))
        return self

    def engine(self) -> JsonObject:
        return {**self.model_dump(), "size": int(self.size), "block": int(self.block)}

    def notes(self) -> tuple[str, ...]:
        return (f"probe.memory.{_TOOLS[self.test]}",)


declare("iops", "rate", PROBE_IOPS())
declare("read_mib_per_s", "count", PROBE_READ_RATE())
declare("write_mib_per_s", "count", PROBE_WRITE_RATE())

_DISK_NOTE = Labels("note", ("probe.disk", "probe.disk.direct", "probe.disk.cached"))
#: What any device's sector is a multiple of, and what nearly all can do.
_SECTOR, _PAGE = 512, 4096
_WRITING = ("write", "readwrite", "randwrite", "randrw")


class DiskOptions(Section):
    """Blocks of a file are read and written, in order or at random, as fio does; each client has a separate
    file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, title="disk")

    access: Literal["read", "write", "readwrite", "randread", "randwrite", "randrw"] = Field(
        default="randread",
        description="What is done to blocks, by fio's names: in order or at random, read, written or both.",
    )
    size: Annotated[Size, Field(ge=1, le=2**50)] = Field(
        default=Size(2 * 2**30),
        description="Of each client's file, which is written in full before anything is measured.",
    )
    block: Annotated[Size, Field(ge=1, le=2**30)] = Field(
        default=Size(_PAGE), description="What is read or written at once. As `bs`."
    )
    direct: bool = Field(
        default=True,
        description="Whether blocks go past the page cache (O_DIRECT). Where the file system cannot, they go "
        "through it, and the "
        "report says so.",
    )
    fdatasync: int = Field(
        default=0,
        ge=0,
        le=2**32,
        description="After this number of writes the data are flushed to the device, and as fio does it "
        "after each read before the next write as well; 0: never.",
    )
    ioengine: Literal["psync", "io_uring"] = Field(
        default="psync",
        alias="engine",
        description="`psync`: a call a block; `io_uring`: many blocks at once.",
    )
    depth: int = Field(
        default=1,
        ge=1,
        le=4096,
        description="Blocks that a client has under way at once, with `io_uring`. As `iodepth`.",
    )
    reads: Annotated[Fraction, Field(ge=0, le=1)] = Field(
        default=Fraction(0.5), description="Of `readwrite` and `randrw`: the share of blocks that are read."
    )
    random_map: bool = Field(
        default=True,
        description="Whether random access comes to every block once before it comes to any again; `false` "
        "is `norandommap`.",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> DiskOptions:
        if self.size < self.block:
            raise SettingError(PROBE_LESS_THAN_BLOCK(size=self.size.text, block=self.block.text))
        if self.direct and self.block % _SECTOR:
            raise SettingError(PROBE_SECTORS(block=self.block.text))
        if self.depth > 1 and self.ioengine == "psync":
            raise SettingError(PROBE_PSYNC_DEPTH(depth=self.depth))
        if self.fdatasync and self.access not in _WRITING:
            raise SettingError(PROBE_NOTHING_WRITTEN(access=self.access))
        return self

    @property
    def unit(self) -> str:
        return BLOCK

    @property
    def pipeline(self) -> int:
        """Number of blocks a client has under way at the most."""
        return self.depth

    @property
    def lays_out(self) -> bool:
        return True

    def engine(self) -> JsonObject:
        plain = self.model_dump(exclude={"size", "block", "reads", "ioengine"})
        sizes = {"size_bytes": int(self.size), "block_bytes": int(self.block)}
        return {**plain, **sizes, "engine": self.ioengine, "reads": float(self.reads)}

    def notes(self) -> tuple[str, ...]:
        return ("probe.disk", "probe.disk.direct" if self.direct else "probe.disk.cached")

    def advice(self) -> list[Advice]:
        if self.direct and self.block % _PAGE:
            return [Advice("block", PROBE_BLOCK_SIZE(block=self.block.text))]
        return []


declare("transactions_per_s", "rate", PROBE_NETWORK_REQUESTS())
declare("mbit_per_s", "count", PROBE_NETWORK_STREAMS(), headline=True)

_NETWORK_NOTE = Labels("note", ("probe.network.rr", "probe.network.crr", "probe.network.stream"))
_NETWORK_LONGEST = 16 * 2**20
_Length = Annotated[Size, Field(ge=1, le=_NETWORK_LONGEST)]
#: Octets that two sockets with the kernel's largest buffers hold between them.
_UNDER_WAY = 64 * 2**20


class NetworkOptions(Section):
    """Requests and responses, or octets in one direction, between this machine and a peer, as netperf and
    iperf3 make them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, title="network")

    test: Literal["rr", "crr", "stream"] = Field(
        default="rr",
        description="`rr`: request and response over connections that last; `crr`: a connection for each; "
        "`stream`: octets in one "
        "direction. netperf's TCP_RR, TCP_CRR and TCP_STREAM.",
    )
    request: _Length = Field(default=Size(1), description="Length of a request.")
    response: _Length = Field(default=Size(1), description="Length of a response.")
    block: _Length = Field(
        default=Size(128 * 2**10), description="Of a stream: what is written at once, as iperf3 does."
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> NetworkOptions:
        other = ("request", "response") if self.test == "stream" else ("block",)
        for name in other:
            if name in self.model_fields_set:
                raise SettingError(PROBE_NO_OPTION(test=self.test, option=name))
        return self

    @property
    def unit(self) -> str:
        return BLOCK if self.test == "stream" else "transaction"

    @property
    def pipeline(self) -> int:
        """Maximum amount in flight per client: of a stream, blocks that buffers hold."""
        return _UNDER_WAY // int(self.block) + 1 if self.test == "stream" else 1

    def engine(self) -> JsonObject:
        return {
            "test": self.test,
            "request_bytes": int(self.request),
            "response_bytes": int(self.response),
            "block_bytes": int(self.block),
        }

    def notes(self) -> tuple[str, ...]:
        return (f"probe.network.{self.test}",)
