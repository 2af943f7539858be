"""Files: created, written, read, renamed, listed and deleted, and compared with what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, model_validator

from loadcell.model.extensions import FILES, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.data_size import DataSize
from loadcell.plan.parts import Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Size
from loadcell.plan.workload import Ask, Condition, Verification, Workload, declare_unit

if TYPE_CHECKING:
    from loadcell.plan.model import Load

FILES_RANGE = MessageCode("files.range", start=str, end=str)
FILES_NO_SHARE = MessageCode("files.no-share")
FILES_NO_CREATE = MessageCode("files.no-create")
FILES_TOO_FEW = MessageCode("files.too-few", clients=str, count=str)
FILES_NO_TIMEOUT = MessageCode("files.no-timeout")

#: Octets of number, version and checksum: the smallest file.
_HEADER = 16
_LARGEST = 2**30
#: What decides the files that are there before a load.
_OF_THE_DATA = ("count", "directories", "sizes")

_Share = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
_FileSize = Annotated[Size, Field(ge=_HEADER, le=_LARGEST)]


class FilesMix(Options, use_attribute_docstrings=True):
    """Frequency of each operation, as a share of their sum."""

    create: _Share = 0
    """New files."""
    write: _Share = 0
    """Files that are written again, as a whole."""
    read: _Share = 0
    """Files that are read and compared, as a whole."""
    rename: _Share = 0
    """Files that get a new name, mostly in another directory."""
    list: _Share = 0
    """Directories whose names are read and compared."""
    delete: _Share = 0
    """Files that are deleted."""

    @model_validator(mode="after")
    def _has_operations(self) -> FilesMix:
        if not any(self.model_dump().values()):
            raise SettingError(FILES_NO_SHARE())
        if self.delete > 0 and self.create == 0:
            raise SettingError(FILES_NO_CREATE())
        return self


class FileSizes(Options, use_attribute_docstrings=True):
    """Every size from the first to the last is equally likely."""

    start: _FileSize = Field(alias="from", description="The smallest.")
    to: _FileSize
    """The largest."""

    @model_validator(mode="after")
    def _rises(self) -> FileSizes:
        if self.start > self.to:
            raise SettingError(FILES_RANGE(start=self.start.text, end=self.to.text))
        return self


class FilesOptions(Options):
    """Files before the load, and what clients do with them."""

    count: int = Field(default=1000, ge=1, le=10_000_000, description="Number of files before the load.")
    directories: int = Field(
        default=10, ge=1, le=10_000, description="Number of directories that the files are spread over."
    )
    sizes: _FileSize | Annotated[list[_FileSize], Field(min_length=1, max_length=1000)] | FileSizes = Field(
        default=Size(16 * 1024),
        union_mode="left_to_right",
        description="Size of a file: `16KiB`, several equally likely sizes `[4KiB, 64KiB, 1MiB]`, or a range "
        "`{from: 4KiB, to: 64KiB}`.",
    )
    mix: FilesMix = Field(
        default=FilesMix(read=50, write=20, create=10, delete=10, rename=5, list=5),
        description="Shares of the operations: `create write read rename list delete`.",
    )
    fsync: bool = Field(
        default=True, description="Whether a written file is on disk before `create` and `write` end."
    )

    def section(self) -> JsonObject:
        """The section for the engine: bytes."""
        match self.sizes:
            case FileSizes(start=start, to=to):
                sizes: int | list[int] | dict[str, int] = {"from": int(start), "to": int(to)}
            case [*listed]:
                sizes = [int(size) for size in listed]
            case size:
                sizes = int(size)
        return {**self.model_dump(include={"count", "directories", "mix", "fsync"}), "sizes": sizes}

    @property
    def mean_size(self) -> float:
        """Mean size of a file in bytes."""
        match self.sizes:
            case FileSizes(start=start, to=to):
                return (start + to) / 2
            case [*listed]:
                return sum(listed) / len(listed)
            case size:
                return float(size)


class Files(Workload[FilesOptions]):
    """Operations on whole files; each file belongs to one client."""

    name = "files"
    summary = "files of a directory: create, write, read, rename, list, delete; all compared"
    Options = FilesOptions
    needs = frozenset({FILES})
    unit = declare_unit("operation")
    #: a read or a list that differs from what was written fails
    verifies_values = True
    verified: ClassVar[Verification | None] = Verification("files")

    def data(self) -> JsonObject:
        section = self.options.section()
        return {"files": {name: section[name] for name in _OF_THE_DATA}}

    def data_size(self, target: TargetKind) -> DataSize | None:  # noqa: ARG002
        """Mean size of all files before the load, without those of the file system's own."""
        return DataSize("count", self.options.count, self.options.mean_size, records=True)

    @property
    def changes_data(self) -> bool:
        mix = self.options.mix
        return any((mix.create, mix.write, mix.rename, mix.delete))

    def engine(self) -> JsonObject:
        return {"files": self.options.section()}

    def verify(self, ask: Ask) -> list[Condition]:
        return [Condition(*row) for row in ask("compare all files")]

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        misfits = []
        if load.timeout is not None:
            misfits.append(Misfit("load.timeout", FILES_NO_TIMEOUT()))
        if load.clients is not None and self.options.count < load.clients:
            message = FILES_TOO_FEW(clients=load.clients, count=self.options.count)
            misfits.append(Misfit("workload.files.count", message))
        return misfits


PART = Files
