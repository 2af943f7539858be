"""The target of files: a directory that loadcell makes on the file system to be measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from loadcell.linux import disks
from loadcell.linux.time_limits import ask
from loadcell.model.extensions import FILES
from loadcell.model.message import MessageCode
from loadcell.profilers.launcher import SystemCode
from loadcell.systems.base import Endpoint, TargetError, TargetFacts
from loadcell.systems.directory.comparison import compare
from loadcell.systems.inprocess import DataFiles, InProcessOptions, InProcessTarget
from loadcell.systems.shared.disk_image import Image

STRANGER_FILES = MessageCode("stranger.files")
DIRECTORY_DEDICATED_THREADS = MessageCode("directory.own-threads", "caution")
DIRECTORY_NO_COMPARISON = MessageCode("directory.no-comparison", path=str, limit=str)

#: Longest comparison of all files; a file system that hangs answers never.
COMPARISON_LIMIT_S = 600.0
#: Version of the files' contents and names.
_FORMAT = "1"


class DirectoryOptions(InProcessOptions):
    """A directory on a file system, which each client uses in a dedicated thread."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="directory")

    data: Annotated[str, Field(min_length=1)] | Image | None = Field(
        default=None,
        description="Directory on the file system to be measured. loadcell makes a directory `files` in it, "
        "and changes nothing else. Default: the run's work directory. Or a file system in a file, which "
        "loadcell makes, mounts and removes: `{image: DIRECTORY, size: 2GiB, fs: ext4}`.",
    )


class _Files(DataFiles):
    kind, sign, stranger = "directory", "d0000", STRANGER_FILES()


@dataclass(frozen=True)
class FilesSection:
    """The directory of the files, and one on another file system for the clients' lists of them."""

    directory: str
    lists: str


@dataclass(frozen=True)
class FilesEndpoint(Endpoint):
    """A directory, which the load's process uses."""

    files: FilesSection


class Directory(InProcessTarget[DirectoryOptions]):
    """Files in a directory, on any mounted file system."""

    name = "directory"
    summary = "files in a directory, on any mounted file system"
    Options = DirectoryOptions
    offers = frozenset({FILES})
    threads_advice = DIRECTORY_DEDICATED_THREADS

    def _make_files(self, parent: Path) -> DataFiles:
        return _Files(parent, "files", _FORMAT, self.context.log)

    def _code(self) -> SystemCode:
        return SystemCode(("loadcell_files::",))

    @property
    def _lists(self) -> Path:
        return self.context.work / "lists-of-files"

    def up(self) -> None:
        super().up()
        self._lists.mkdir(mode=0o700, exist_ok=True)

    def endpoint(self) -> FilesEndpoint:
        return FilesEndpoint("files", FilesSection(str(self.files.data), str(self._lists)))

    def describe(self) -> TargetFacts:
        directory = self.files.data
        file_system = disks.file_system(directory)
        return TargetFacts(
            server="embedded",
            product="files",
            version=None,
            settings={},
            size_bytes=disks.used_bytes(directory),
            data=file_system,
            storage=self.storage_facts(),
        )

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        """Compare all files with the clients' lists: a condition, its violations and the first, by row.

        `question` is not read: there is only one. Raises TargetError where the file system does not answer.
        """
        directory, lists = self.files.data, self._lists
        answers = ask({question: lambda: compare(directory, lists)}, COMPARISON_LIMIT_S).values
        if question not in answers:
            message = DIRECTORY_NO_COMPARISON(path=directory, limit=f"{COMPARISON_LIMIT_S:.0f}s")
            raise TargetError(message, during="verify")
        rows: Any = answers[question]
        return [tuple(row) for row in rows]


PART = Directory
