"""The target of embedded stores: a directory with files, which the load's own process opens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loadcell import _engine
from loadcell.linux import file_system
from loadcell.model.capability import STORE
from loadcell.model.engine_messages import engine_failure
from loadcell.plan.parts import Advice
from loadcell.systems.base import TargetError
from loadcell.systems.embedded.messages import (
    STORE_DEDICATED_THREADS,
    STORE_NO_CACHE,
    STORE_NO_LIBRARY,
    STRANGER_STORE,
)
from loadcell.systems.embedded.options import LIBRARIES, StoreOptions
from loadcell.systems.inprocess import InProcessTarget
from loadcell.systems.shared.data_files import DataFiles


class StoreFiles(DataFiles):
    """The files of one engine, spread over a number of them; all other options may vary on the same
    directory.
    """

    kind, sign, stranger = "store", "CURRENT", STRANGER_STORE()


class Store(InProcessTarget[StoreOptions]):
    """redb, fjall, LMDB, SQLite or RocksDB, in the process that makes the load."""

    name = "store"
    summary = "embedded key-value stores: redb, fjall, LMDB, SQLite, RocksDB"
    Options = StoreOptions
    offers = frozenset({STORE})
    threads_advice = STORE_DEDICATED_THREADS
    _about: Mapping[str, Any] = {}

    def _make_files(self, parent: Path) -> DataFiles:
        options = self.options
        self._about = _about(options)
        name = f"store-{options.engine}-{options.files}"
        return StoreFiles(parent, name, str(self._about.get("version")), self.context.log)

    def endpoint(self) -> dict[str, Any]:
        options = self.options
        return {
            "protocol": "store",
            "store": {
                "engine": options.engine,
                "directory": str(self.files.data),
                "sync": options.sync,
                "files": options.files,
                "cache_bytes": int(options.cache),
                "library": options.library,
            },
        }

    def describe(self) -> dict[str, Any]:
        options, directory = self.options, self.files
        files = [path for path in directory.data.rglob("*") if path.is_file()]
        return {
            "server": "embedded",
            "product": PRODUCTS[options.engine],
            **self._about,
            "settings": {"sync": options.sync, "files": options.files, "cache": options.cache.text},
            "size_bytes": file_system.used_bytes(directory.data),
            "files_on_disk": len(files),
            "data": file_system.file_system(directory.data),
        }

    @classmethod
    def advice(cls, options: StoreOptions, load: dict[str, Any]) -> list[Advice]:
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


def _about(options: StoreOptions) -> dict[str, Any]:
    """Version and library of the engine. Raises TargetError if this machine has no library of it."""
    question = json.dumps({"engine": options.engine, "library": options.library})
    try:
        about: dict[str, Any] = json.loads(_engine.store(question))
    except _engine.EngineError as error:
        package = LIBRARIES.get(options.engine, "")
        failure = engine_failure(json.loads(error.args[0]))
        raise TargetError(STORE_NO_LIBRARY(said=failure.text, package=package)) from error
    return about


PART = Store
