"""Settings of the machine that checks at full strength need."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from truth.loads import FULL_STRENGTH

#: While it is held open with 0 written to it, the kernel lets no core sleep so deep that waking takes longer
#: (Documentation/power/pm_qos_interface). Only root may.
_LATENCY = Path("/dev/cpu_dma_latency")


@pytest.fixture(scope="session", autouse=True)
def cores_awake() -> Iterator[None]:
    """A core that slept is milliseconds late on some virtual machines, which no check of a few percent
    survives.
    """
    with contextlib.ExitStack() as open_files:
        if FULL_STRENGTH:
            with contextlib.suppress(OSError):
                open_files.enter_context(_LATENCY.open("wb", buffering=0)).write(bytes(4))
        yield
