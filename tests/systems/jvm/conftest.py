"""Targets `jvm` that are removed at the end of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jvms import classes
from loadcell.systems.base import TargetContext
from loadcell.systems.jvm.options import JvmOptions
from loadcell.systems.jvm.target import Jvm
from systems.jvm.programs import SERVICE

Make = Callable[..., Jvm]


class Log(list[str]):
    """Lines that the target logged."""


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture(scope="session")
def compiled() -> Path:
    return classes(SERVICE)


@pytest.fixture
def make(tmp_path: Path, log: Log, compiled: Path) -> Iterator[Make]:
    targets: list[Jvm] = []

    def make_target(way: str = "", **options: Any) -> Jvm:
        values = {
            "main": "Service",
            "classpath": str(compiled),
            "arguments": ["{port}", way],
            "url": "http://127.0.0.1:{port}",
            "heap": "64MiB",
            "collector": "Serial",
            **options,
        }
        values = {name: value for name, value in values.items() if value is not None}
        parsed = JvmOptions.model_validate(values, context={"directory": tmp_path})
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        targets.append(Jvm(parsed, TargetContext(work, log.append, str)))
        return targets[-1]

    yield make_target
    for target in targets:
        target.destroy()
