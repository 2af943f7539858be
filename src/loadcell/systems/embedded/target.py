"""The target of embedded stores: a directory with files, which the load's own process opens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from loadcell import _engine
from loadcell.linux import file_system
from loadcell.model.capability import STORE
from loadcell.model.engine_messages import engine_failure
from loadcell.model.json import OMITTED
from loadcell.plan.parts import Advice
from loadcell.systems.base import Endpoint, TargetError, TargetFacts
from loadcell.systems.embedded.messages import (
    STORE_DEDICATED_THREADS,
    STORE_NO_CACHE,
    STORE_NO_LIBRARY,
    STRANGER_STORE,
)
from loadcell.systems.embedded.options import LIBRARIES, StoreOptions
from loadcell.systems.inprocess import InProcessTarget
from loadcell.systems.shared.data_files import DataFiles

if TYPE_CHECKING:
    from loadcell.plan.model import Load


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
            size_bytes=file_system.used_bytes(directory.data),
            files_on_disk=sum(path.is_file() for path in directory.data.rglob("*")),
            data=file_system.file_system(directory.data),
        )

    @classmethod
    def advice(cls, options: StoreOptions, load: Load) -> list[Advice]:
        remarks = super().advice(options, load)
        if options.engine == "lmdb" and "cache" in options.model_fields_set:
            remarks.append(Advice("target.store.cache", STORE_NO_CACHE()))
        return remarks


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
