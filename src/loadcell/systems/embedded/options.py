"""Plan options of an embedded store."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from loadcell.plan.units import Size
from loadcell.systems.inprocess import InProcessOptions
from loadcell.systems.shared.disk_image import Image

Engine = Literal["redb", "fjall", "lmdb", "sqlite", "rocksdb"]

#: Engines that are found in the machine's libraries, and the Debian packages that hold them.
LIBRARIES = {"sqlite": "libsqlite3-0", "rocksdb": "librocksdb-dev (or librocksdb7.8)"}


class StoreOptions(InProcessOptions):
    """A key-value engine in the process that makes the load: each client is a thread that calls it."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="store")

    engine: Engine = Field(
        default="redb",
        description="`redb`, `fjall` and `lmdb` are part of loadcell; `sqlite` and `rocksdb` are the machine's libraries "
        "(Debian: libsqlite3-0, librocksdb-dev).",
    )
    data: Annotated[str, Field(min_length=1)] | Image | None = Field(
        default=None,
        description="Directory on the storage to be measured. loadcell makes a directory `store-<engine>-<files>` in it. "
        "Default: the run's work directory. Or a file system in a file, which loadcell makes, mounts and removes: "
        "`{image: DIRECTORY, size: 2GiB, fs: ext4}`.",
    )
    sync: bool = Field(
        default=True,
        description="Whether each transaction is on disk when it is answered. `false`: when the operating system, or the "
        "engine, sees fit.",
    )
    files: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="Over how many files keys are spread by their hash: database files of redb, LMDB and SQLite, keyspaces of "
        "fjall, column families of RocksDB.",
    )
    cache: Annotated[Size, Field(ge=2**20, le=2**40)] = Field(
        default=Size(256 * 2**20),
        description="Memory for the engine's own cache of what it read, divided among its files (and SQLite's connections). "
        "LMDB has none: it reads through the system's.",
    )
    library: str | None = Field(
        default=None,
        min_length=1,
        description="`sqlite` and `rocksdb` only: the shared library to use. Default: the machine's.",
    )

    @model_validator(mode="after")
    def _library_is_loadable(self) -> StoreOptions:
        if self.library is not None and self.engine not in LIBRARIES:
            raise ValueError(f"{self.engine} is part of loadcell: `library` is for sqlite and rocksdb")
        return self
