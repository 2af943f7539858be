"""A data directory on a device that really fills up: a small file system in a file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from loadcell.systems.base import ServerEndpoint, TargetError
from loadcell.systems.postgres.target import Postgres
from systems.bench import Bench
from systems.test_image import refusal

from .conftest import DATA, ROWS, load, query, session


def fill(directory: Path) -> Path:
    """Take all the room of a device; the file that takes it."""
    path = directory / "filler"
    with path.open("wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                room = os.statvfs(directory)
                os.posix_fallocate(file.fileno(), file.tell(), max(room.f_bavail // 2, 1) * room.f_frsize)
                file.seek(0, os.SEEK_END)
        with contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 512)
    return path


def refused(target: Postgres, until_full: Callable[[ServerEndpoint], int]) -> None:
    with pytest.raises(TargetError) as caught:
        target.prepare(DATA, until_full, will_change=False)
    assert "no space left on the device of" in caught.value.finding
    assert "target.postgres.data" in caught.value.advice
    assert caught.value.during == "prepare"


def test_a_device_that_the_data_fill(bench: Bench[Postgres]) -> None:
    target = bench.target(data={"image": str(bench.work.parent), "size": "128MiB"})
    if refusal(target.up) is not None:
        return

    def too_much(endpoint: ServerEndpoint) -> int:
        with session(endpoint) as connection:
            connection.execute(
                "CREATE TABLE wide AS SELECT repeat('x', 1000) FROM generate_series(1, 400000)"
            )
        return 400000

    refused(target, too_much)


def test_a_device_that_is_full_at_the_checkpoint(bench: Bench[Postgres]) -> None:
    target = bench.target(data={"image": str(bench.work.parent), "size": "128MiB"})
    if refusal(target.up) is not None:
        return
    [data] = bench.work.parent.glob("**/pgdata")
    filler: list[Path] = []

    def just_fits(endpoint: ServerEndpoint) -> int:
        rows = load(endpoint)
        filler.append(fill(data.parent))
        return rows

    refused(target, just_fits)
    filler[0].unlink()
    target.up()
    target.prepare(DATA, load, will_change=False)
    assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)], "with room again"
