"""Base of faults in which system calls on files of the subject's data fail."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from loadcell.faults.base import CONNECTION_LOST, IO_FAILED, NO_ANSWER, NO_ROOM, SERVER_ENDED, FaultError
from loadcell.faults.preload_fault import PreloadFault
from loadcell.linux.fault_control import MOST_DIRECTORY_BYTES, Counts, FaultControl
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Fraction
from loadcell.systems.subjects import SubjectAbilities

DATA_UNKNOWN = MessageCode("fault.data-unknown", subject=str)
NOT_BELOW_DATA = MessageCode("fault.not-below-data", path=str)
NO_DATA_DIRECTORY = MessageCode("fault.no-data-directory", path=str)


class StorageFaultOptions(SubjectOptions, use_attribute_docstrings=True):
    """Error, and calls that fail."""

    error: Literal["EIO", "ENOSPC"] = "EIO"
    """Error of the failed calls."""
    share: Annotated[Fraction, Field(gt=0, le=1)] = Fraction(1)
    """Probability that a call fails."""
    directory: str | None = Field(default=None, min_length=1)
    """Directory below the subject's data whose files are concerned, such as `pg_wal`. Default: all data."""

    @field_validator("directory")
    @classmethod
    def _is_below_the_data(cls, value: str | None) -> str | None:
        path = PurePosixPath(value or ".")
        if path.is_absolute() or ".." in path.parts:
            raise SettingError(NOT_BELOW_DATA(path=value or ""))
        return value


class StorageFault(PreloadFault[StorageFaultOptions]):
    """Fails calls of the processes; a failed call has no effect on its file."""

    Options = StorageFaultOptions
    part: ClassVar[Literal["writes", "flushes"]]
    expected_errors = (*IO_FAILED, *NO_ROOM, *CONNECTION_LOST, *NO_ANSWER, *SERVER_ENDED)
    _counts: Counts | None = None

    @classmethod
    def misfits(
        cls, options: StorageFaultOptions, subjects: Mapping[str, SubjectAbilities]
    ) -> Iterator[Misfit]:
        yield from super().misfits(options, subjects)
        if subjects[options.subject].preloadable and not subjects[options.subject].data:
            yield Misfit("subject", DATA_UNKNOWN(subject=options.subject))

    def prepare(self) -> JsonObject:
        arguments = super().prepare()
        data = self.subject.data
        if data is None:
            raise FaultError(DATA_UNKNOWN(subject=self.subject.name))
        self._directory = (data / (self.options.directory or "")).resolve()
        if not self._directory.is_dir() or len(str(self._directory).encode()) > MOST_DIRECTORY_BYTES:
            raise FaultError(NO_DATA_DIRECTORY(path=self._directory))
        return arguments

    def begin(self, control: FaultControl) -> None:
        error = getattr(errno, self.options.error)
        control.fail_calls(self.part, Path(self._directory), error, float(self.options.share))

    def restore(self) -> None:
        """End the errors, then bring back a server that they have ended."""
        self._control.end(self.part)
        self._counts = self._control.counts(self.part)
        if self.subject.bring_back is not None:
            self.subject.bring_back()

    def counts(self) -> Mapping[str, int]:
        counts = self._counts
        return {} if counts is None else {"calls": counts.calls, "failed": counts.failed}
