"""Progress of reading a long output, on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from loadcell.ingest.messages import IMPORT_READING

if TYPE_CHECKING:
    from rich.progress import Progress

#: What is shorter is read before anyone looks.
_LEAST_BYTES = 64 * 2**20


class Bar:
    """Progress of reading, in bytes of a total; shows a bar for long inputs, and removes it at the end.

    `long` is called while what is long is read.
    """

    def __init__(self, stream: TextIO, long: Callable[[], None] = lambda: None) -> None:
        self._stream = stream
        self._long = long
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, read_bytes: int, total_bytes: int) -> None:
        if total_bytes < _LEAST_BYTES:
            return
        self._long()
        if not self._stream.isatty():
            return
        if self._progress is None:
            self._progress = self._started()
        (task,) = self._progress.task_ids
        self._progress.update(task, completed=read_bytes, total=total_bytes)

    def _started(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

        columns = (str(IMPORT_READING()), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        progress = Progress(*columns, console=Console(file=self._stream), transient=True)
        progress.add_task("")
        progress.start()
        return progress

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
