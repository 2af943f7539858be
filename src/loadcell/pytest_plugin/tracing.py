"""The pass over the tests that measures their memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from loadcell.pytest_plugin.stages import Stage
from loadcell.pytest_plugin.timing import Arguments, Measurement


class MemoryStage(Stage):
    """A pass in which allocations are traced: it takes longer, and is not timed."""

    def __init__(self) -> None:
        super().__init__()
        self.peaks_bytes: dict[str, int] = {}
        self._node_id = ""

    def begin(self, node_id: str) -> None:
        super().begin(node_id)
        self._node_id = node_id

    @contextmanager
    def around(self) -> Iterator[None]:
        tracemalloc.start()
        try:
            yield
        finally:
            if tracemalloc.is_tracing():
                peak_bytes = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                if not self.uses_function:
                    self.peaks_bytes[self._node_id] = peak_bytes

    def _function(self, function: Callable[..., Any], arguments: Arguments) -> Measurement:
        args, kwargs = arguments
        tracemalloc.stop()  # the peak of the function is measured, not that of the test around it
        with self.around():
            measurement = Measurement((), 1, function(*args, **kwargs))
        self.uses_function = True
        return measurement
