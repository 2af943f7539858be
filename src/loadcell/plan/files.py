"""Files that options name: found from the plan's directory, or among the copies of a run; and noted.

The notes are what a run records and copies, so that it can be run again without the files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationInfo


@dataclass
class PlanFiles:
    """The files of one plan.

    `directory` is where relative names start; `copies` are names whose file is elsewhere. `named` collects
    every file that options have asked for, by its name in the plan, and `programs` those that are started.
    """

    directory: Path = field(default_factory=Path)
    copies: Mapping[str, Path] = field(default_factory=dict)
    named: dict[str, Path] = field(default_factory=dict)
    programs: dict[str, Path] = field(default_factory=dict)

    def find(self, name: str, start: Path | None = None) -> Path:
        """Path of a file, which need not exist. A relative one starts at `start` (default: the plan's
        directory).
        """
        directory = self.directory if start is None else start
        path = self.copies.get(name) or directory / Path(name).expanduser()
        self.named[name] = path
        return path

    def program(self, name: str) -> Path:
        """Path of a program that the plan names by a path."""
        path = self.directory / Path(name).expanduser()
        self.programs[name] = path
        return path


def files_of(info: ValidationInfo) -> PlanFiles:
    """The files of the plan whose options are validated; of options alone, those of the context's
    `directory`.
    """
    context = info.context or {}
    return context.get("files") or PlanFiles(Path(context.get("directory") or Path()))


def named_file(info: ValidationInfo, name: str, start: Path | None = None) -> Path:
    """Path of a file that an option names, which need not exist. A relative one starts at `start` (default:
    the plan's directory).
    """
    return files_of(info).find(name, start)


def certificate_file(info: ValidationInfo, name: str) -> Path:
    """Path of a file of trusted certificates, absolute. A relative one starts where loadcell is run.

    A missing file is not noted: the system that needs it reports that.
    """
    files = files_of(info)
    path = (files.copies.get(name) or Path(name).expanduser()).absolute()
    with contextlib.suppress(OSError):
        if path.is_file():
            files.find(name, Path().absolute())
    return path
