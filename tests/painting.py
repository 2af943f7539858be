"""One painter for all reports that a test process writes: of a short report, its start takes most time."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import ClassVar

from loadcell.model.json import JsonObject
from loadcell.report import pictures


class SharedPainter(pictures.Painter):
    """A painter whose process stays for the next report."""

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _shared: ClassVar[subprocess.Popen[bytes] | None] = None

    def __init__(self, version: str) -> None:
        self._version = version
        self._waiting, self._painted = [], []
        self._thread = self._process = None

    def _converse(self, specs: list[JsonObject]) -> None:
        with self._lock:
            painter = self._started()
            assert painter.stdin is not None
            assert painter.stdout is not None
            for spec in specs:
                painter.stdin.write(json.dumps(spec).encode() + b"\n")
                painter.stdin.flush()
                if picture := painter.stdout.readline():
                    self._painted.append(picture)
                else:  # it cannot be painted
                    self._end()
                    break

    def _started(self) -> subprocess.Popen[bytes]:
        if SharedPainter._shared is None:
            SharedPainter._shared = subprocess.Popen(
                [sys.executable, "-P", "-m", pictures.__name__, self._version],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return SharedPainter._shared

    @classmethod
    def _end(cls) -> None:
        if cls._shared is not None:
            cls._shared.kill()
            cls._shared.communicate()
            cls._shared = None

    @classmethod
    def close(cls) -> None:
        """End the process, if there is one."""
        with cls._lock:
            cls._end()
