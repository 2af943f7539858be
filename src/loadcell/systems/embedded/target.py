"""The target of embedded stores: a directory with files, which the load's own process opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loadcell import _engine
from loadcell.linux import file_system
from loadcell.plan.parts import Advice
from loadcell.systems.base import DataSet, Loader, Target, TargetContext, TargetError
from loadcell.systems.embedded.directory import StoreDirectory
from loadcell.systems.embedded.messages import STORE_NO_CACHE, STORE_NO_LIBRARY, STORE_OWN_THREADS
from loadcell.systems.embedded.options import LIBRARIES, StoreOptions
from loadcell.systems.messages import TARGET_NOT_UP
from loadcell.systems.shared.disk_image import Image, MountedImage
from loadcell.systems.shared.ownership import fingerprint


class Store(Target[StoreOptions]):
    """redb, fjall, LMDB, SQLite or RocksDB, in the process that makes the load."""

    name = "store"
    summary = "embedded key-value stores: redb, fjall, LMDB, SQLite, RocksDB"
    Options = StoreOptions
    in_worker = True

    def __init__(self, options: StoreOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._about: dict[str, Any] = {}
        self._directory: StoreDirectory | None = None

    # -- life -------------------------------------------------------------------------------------------------------

    def up(self) -> None:
        options = self.options
        if self._directory is None:
            self._about = _about(options)
            version = str(self._about.get("version"))
            self._directory = StoreDirectory(
                self._parent(), options.engine, options.files, version, self.context.log
            )
        if isinstance(options.data, Image):
            MountedImage(options.data, self.context.work, self.name).make()
        self._directory.make()

    def _parent(self) -> Path:
        data = self.options.data
        if isinstance(data, Image):
            return MountedImage(data, self.context.work, self.name).mount
        return Path(data).expanduser().absolute() if data else self.context.work

    def alive(self) -> bool:
        """It has no process of its own that could die: only its files can go."""
        return self._directory is not None and self._directory.made

    def down(self) -> None:
        pass  # Whatever was open is closed when the load ends.

    def destroy(self) -> None:
        if self._directory is None or self.options.keep_data:
            return
        self._directory.remove()
        if isinstance(self.options.data, Image):
            MountedImage(self.options.data, self.context.work, self.name).remove()

    # -- data -------------------------------------------------------------------------------------------------------

    def prepare(self, data: dict[str, Any], load: Loader, *, will_change: bool) -> DataSet:
        return self._made().prepare(fingerprint(data), lambda: load(self.endpoint()), will_change=will_change)

    def _made(self) -> StoreDirectory:
        if self._directory is None:
            raise TargetError(TARGET_NOT_UP())
        return self._directory

    # -- asked by the runner ----------------------------------------------------------------------------------------

    def endpoint(self) -> dict[str, Any]:
        options = self.options
        return {
            "protocol": "store",
            "store": {
                "engine": options.engine,
                "directory": str(self._made().data),
                "sync": options.sync,
                "files": options.files,
                "cache_bytes": int(options.cache),
                "library": options.library,
            },
        }

    def describe(self) -> dict[str, Any]:
        options, directory = self.options, self._made()
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

    def processes(self) -> list[int]:
        """None of its own: monitors watch the process that makes the load (`in_worker`)."""
        return []

    def counters(self) -> dict[str, int]:
        """These engines count nothing that a load could be held against."""
        return {}

    @classmethod
    def advice(cls, options: StoreOptions, load: dict[str, Any]) -> list[Advice]:
        found = []
        if isinstance(load.get("threads"), int):
            found.append(Advice("load.threads", STORE_OWN_THREADS()))
        if options.engine == "lmdb" and "cache" in options.model_fields_set:
            found.append(Advice("target.store.cache", STORE_NO_CACHE()))
        return found


#: What engines are called by those who make them.
PRODUCTS = {
    "redb": "redb",
    "fjall": "fjall",
    "lmdb": "LMDB",
    "sqlite": "SQLite",
    "rocksdb": "RocksDB",
}


def _about(options: StoreOptions) -> dict[str, Any]:
    """Version and library of the engine. Raises TargetError where this machine has none."""
    asked = json.dumps({"engine": options.engine, "library": options.library})
    try:
        found: dict[str, Any] = json.loads(_engine.store(asked))
    except _engine.EngineError as error:
        said = json.loads(error.args[0])
        package = LIBRARIES.get(options.engine, "")
        raise TargetError(STORE_NO_LIBRARY(said=said["finding"], package=package)) from error
    return found


PART = Store
