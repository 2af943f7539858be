"""The target of embedded stores: a directory with files, which the load's own process opens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from loadcell import _engine
from loadcell.linux import disks
from loadcell.model.engine_messages import engine_failure
from loadcell.model.extensions import STORE
from loadcell.model.json import OMITTED
from loadcell.model.message import ForeignText, MessageCode
from loadcell.plan.data_size import Cache
from loadcell.plan.parts import Advice, Misfit
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Size
from loadcell.profilers.launcher import SystemCode
from loadcell.systems.base import Endpoint, TargetError, TargetFacts
from loadcell.systems.inprocess import DataFiles, InProcessOptions, InProcessTarget
from loadcell.systems.shared.disk_image import Image
from loadcell.systems.shared.launch import missing_profiler

if TYPE_CHECKING:
    from loadcell.plan.model import Load


STORE_LIBRARY = MessageCode("store.library", engine=str)
STORE_NO_LIBRARY = MessageCode("store.no-library", package=str, said=ForeignText)
STRANGER_STORE = MessageCode("stranger.store")
STORE_DEDICATED_THREADS = MessageCode("store.own-threads", "caution")
STORE_NO_PROFILER = MessageCode("store.no-profiler")
STORE_NO_CACHE = MessageCode("store.no-cache", "caution")


Engine = Literal["redb", "fjall", "lmdb", "sqlite", "rocksdb"]

#: Engines that are found in the machine's libraries, and the Debian packages that hold them.
LIBRARIES = {"sqlite": "libsqlite3-0", "rocksdb": "librocksdb-dev (or librocksdb7.8)"}


#: Bytes of key and value that were stored, and what such a record took in each engine (see
#: `Store.record_bytes`).
_PAYLOAD_BYTES = (26, 116, 1016)
_STORED_BYTES: Mapping[str, tuple[int, int, int]] = {
    "redb": (35, 127, 1395),
    "fjall": (47, 137, 1140),
    "lmdb": (37, 133, 2061),
    "sqlite": (37, 141, 4681),
    "rocksdb": (30, 120, 1023),
}


class StoreOptions(InProcessOptions):
    """A key-value engine in the process that makes the load: each client is a thread that calls it."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="store")

    engine: Engine = Field(
        default="redb",
        description="`redb`, `fjall` and `lmdb` are part of loadcell; `sqlite` and `rocksdb` are the "
        "machine's libraries (Debian: libsqlite3-0, librocksdb-dev).",
    )
    data: Annotated[str, Field(min_length=1)] | Image | None = Field(
        default=None,
        description="Directory on the storage to be measured. loadcell makes a directory "
        "`store-<engine>-<files>` in it. Default: the run's work directory. Or a file system in a file, "
        "which loadcell makes, mounts and removes: `{image: DIRECTORY, size: 2GiB, fs: ext4}`.",
    )
    sync: bool = Field(
        default=True,
        description="Whether each transaction is on disk when it is answered. `false`: when the operating "
        "system, or the engine, sees fit.",
    )
    files: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="Over how many files keys are spread by their hash: database files of redb, LMDB and "
        "SQLite, keyspaces of fjall, column families of RocksDB.",
    )
    cache: Annotated[Size, Field(ge=2**20, le=2**40)] = Field(
        default=Size(256 * 2**20),
        description="Memory for the engine's own cache of data that it read, divided among its files (and "
        "SQLite's connections). LMDB has none: it reads through the system's.",
    )
    library: str | None = Field(
        default=None,
        min_length=1,
        description="`sqlite` and `rocksdb` only: the shared library to use. Default: the machine's.",
    )

    @model_validator(mode="after")
    def _library_is_loadable(self) -> StoreOptions:
        if self.library is not None and self.engine not in LIBRARIES:
            raise SettingError(STORE_LIBRARY(engine=self.engine))
        return self


class StoreFiles(DataFiles):
    """The files of one engine, spread over a number of them; all other options may vary on the same
    directory.
    """

    kind, sign, stranger = "store", "CURRENT", STRANGER_STORE()


@dataclass(frozen=True)
class StoreSection:
    """The engine's section of an embedded store."""

    engine: str
    directory: str
    sync: bool
    files: int
    cache_bytes: int
    library: str | None


@dataclass(frozen=True)
class StoreEndpoint(Endpoint):
    """An embedded store, which the load's process opens."""

    store: StoreSection


@dataclass(frozen=True, kw_only=True)
class StoreFacts(TargetFacts):
    """Facts of an embedded store."""

    library: Annotated[str | None, OMITTED] = None
    files_on_disk: int


class Store(InProcessTarget[StoreOptions]):
    """redb, fjall, LMDB, SQLite or RocksDB, in the process that makes the load."""

    name = "store"
    summary = "embedded key-value stores: redb, fjall, LMDB, SQLite, RocksDB"
    Options = StoreOptions
    offers = frozenset({STORE})
    threads_advice = STORE_DEDICATED_THREADS
    _about: Mapping[str, str] = {}

    def _make_files(self, parent: Path) -> DataFiles:
        options = self.options
        self._about = _about(options)
        name = f"store-{options.engine}-{options.files}"
        return StoreFiles(parent, name, str(self._about.get("version")), self.context.log)

    def _code(self) -> SystemCode:
        return CODE[self.options.engine]

    def endpoint(self) -> StoreEndpoint:
        options = self.options
        store = StoreSection(
            options.engine,
            str(self.files.data),
            options.sync,
            options.files,
            int(options.cache),
            options.library,
        )
        return StoreEndpoint("store", store)

    def describe(self) -> StoreFacts:
        options, directory = self.options, self.files
        return StoreFacts(
            server="embedded",
            product=PRODUCTS[options.engine],
            version=self._about.get("version"),
            library=self._about.get("library"),
            settings={"sync": options.sync, "files": options.files, "cache": options.cache.text},
            size_bytes=disks.used_bytes(directory.data),
            files_on_disk=sum(path.is_file() for path in directory.data.rglob("*")),
            data=disks.file_system(directory.data),
            storage=self.storage_facts(),
        )

    @classmethod
    def cache(cls, options: StoreOptions) -> Cache | None:
        """The engine's own cache where the plan sets it; all engines read through the page cache."""
        dedicated = options.engine != "lmdb" and "cache" in options.model_fields_set
        return Cache("page-cache", "cache" if dedicated else "", int(options.cache) if dedicated else None)

    @classmethod
    def record_bytes(cls, options: StoreOptions, payload_bytes: float) -> float | None:
        """Interpolate between measured sizes; beyond them the overhead is that of the nearest.

        Source: files of 200,000 and 300,000 records with keys of 16 bytes and values of 10 B, 100 B and 1 kB,
        as loaded. Of large values SQLite and LMDB keep few in a page.
        """
        stored = _STORED_BYTES[options.engine]
        overheads = [size - payload for payload, size in zip(_PAYLOAD_BYTES, stored, strict=True)]
        for at, payload in enumerate(_PAYLOAD_BYTES[1:], start=1):
            if _PAYLOAD_BYTES[0] < payload_bytes < payload:
                part = (payload_bytes - _PAYLOAD_BYTES[at - 1]) / (payload - _PAYLOAD_BYTES[at - 1])
                return payload_bytes + overheads[at - 1] + part * (overheads[at] - overheads[at - 1])
        return payload_bytes + overheads[0 if payload_bytes <= _PAYLOAD_BYTES[0] else -1]

    @classmethod
    def misfits(cls, options: StoreOptions) -> Iterator[Misfit]:
        yield from super().misfits(options)
        if options.under is not None and options.engine == "lmdb":
            yield Misfit("under", STORE_NO_PROFILER())

    @classmethod
    def advice(cls, options: StoreOptions, load: Load) -> list[Advice]:
        remarks = super().advice(options, load)
        remarks += missing_profiler("target.store.under", options.under)
        if options.engine == "lmdb" and "cache" in options.model_fields_set:
            remarks.append(Advice("target.store.cache", STORE_NO_CACHE()))
        return remarks


#: Stacks of an engine: those through its functions, its library, or the engine's module that calls it.
CODE = {
    "redb": SystemCode(("redb::", "loadcell_embedded::redb::")),
    "fjall": SystemCode(("fjall::", "lsm_tree::", "loadcell_embedded::fjall::")),
    "lmdb": SystemCode(("mdb_", "heed::", "loadcell_embedded::lmdb::")),
    "sqlite": SystemCode(("sqlite3", "loadcell_embedded::sqlite::"), ("libsqlite3",)),
    "rocksdb": SystemCode(("rocksdb", "loadcell_embedded::rocksdb::"), ("librocksdb",)),
}

#: Product names of the engines.
PRODUCTS = {
    "redb": "redb",
    "fjall": "fjall",
    "lmdb": "LMDB",
    "sqlite": "SQLite",
    "rocksdb": "RocksDB",
}


def _about(options: StoreOptions) -> Mapping[str, str]:
    """Version and library of the engine. Raises TargetError if this machine has no library of it."""
    question = json.dumps({"engine": options.engine, "library": options.library})
    try:
        about: dict[str, str] = json.loads(_engine.store(question))
    except _engine.EngineError as error:
        package = LIBRARIES.get(options.engine, "")
        failure = engine_failure(json.loads(error.args[0]))
        raise TargetError(STORE_NO_LIBRARY(said=failure.text, package=package)) from error
    return about


PART = Store
