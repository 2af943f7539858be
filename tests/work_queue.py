"""A queue of test files for several pytest processes: each takes the next file that no other has taken.

`scripts/pytest-side-by-side` starts the processes, and names the queue in a variable. Without that
pytest runs as usual. All tests of a file run in one process, so that they share fixtures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest

DIRECTORY = "LOADCELL_TEST_QUEUE"


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests of the files that this process takes."""
    directory = os.environ.get(DIRECTORY)
    if directory is None or session.config.option.collectonly:
        return None
    if session.testsfailed:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    items = taken(session.items, Path(directory))
    item = next(items, None)
    while item is not None:
        following = next(items, None)  # fixtures of the present file end unless this is in it
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True


def taken(items: Sequence[pytest.Item], directory: Path) -> Iterator[pytest.Item]:
    """The tests of this process; a file is taken when its first test is asked for."""
    files = set()
    for path, tests in groupby(items, key=lambda item: item.path):
        if path not in files:
            try:
                (directory / str(path).replace("/", "%")).touch(exist_ok=False)
            except FileExistsError:
                continue
            files.add(path)
        yield from tests
