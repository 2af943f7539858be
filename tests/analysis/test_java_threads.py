"""Threads by their names in Java."""

from __future__ import annotations

import numpy as np

from loadcell.analysis.java_threads import with_java_names
from loadcell.store.frames import Frame, Text


def frame(**columns: list[str | None] | list[float]) -> Frame:
    """A frame of texts and numbers."""
    return Frame(
        {
            name: np.array(values, float) if isinstance(values[0], int | float) else Text.of(values)  # type: ignore[arg-type]
            for name, values in columns.items()
        }
    )


def test_threads_that_the_jvm_named_have_their_whole_name() -> None:
    threads = frame(
        trial=["a", "a", "b"], pid=[7, 7, 7], tid=[8, 9, 8], name=["http-nio-8080-e", "gone", "other"]
    )
    names = frame(trial=["a"], pid=[7], tid=[8], java_name=["http-nio-8080-exec-1"])
    named = with_java_names(threads, names)
    assert named.text("name").tolist() == ["http-nio-8080-exec-1", "gone", "other"]
    assert with_java_names(threads, Frame({})) is threads
