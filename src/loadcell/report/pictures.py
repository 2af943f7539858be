"""Charts as SVG pictures, drawn by a separate process.

Vega takes 0.7 s to start and up to half a second a chart, and lets no other thread run meanwhile. So the
painter is started before the run is read, and paints while the page is written. This file is also that
process's program.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from types import TracebackType

from loadcell.model.json import JsonObject

#: The Vega-Lite version charts are written for.
VEGA_LITE = "v6.4"
#: Anything: it only makes Vega ready.
_WARM_UP = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}}


class Painter:
    """Turns specifications into pictures, in the order they were handed over."""

    def __init__(self, version: str) -> None:
        """`version` is that of Vega-Lite, as `v6.4`."""
        self._version = version
        self._waiting: list[JsonObject] = []
        self._painted: list[bytes] = []
        self._process = _started([sys.executable, "-m", __name__, version])
        # a picture is larger than a pipe: without a reader, it and we would wait for each other
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._writer: threading.Thread | None = None

    def __enter__(self) -> Painter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._writer is not None:
            self._writer.join()
        self._close()
        self._reader.join()

    def hand_over(self, specs: list[JsonObject]) -> None:
        """Give it everything there is to paint, at once: it takes what is larger than a pipe while it paints,
        and is not waited for.
        """
        self._waiting = specs
        self._writer = threading.Thread(target=self._write, args=(specs,), daemon=True)
        self._writer.start()

    def _write(self, specs: list[JsonObject]) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):  # it has died: `pictures` does its work
                for spec in specs:
                    self._process.stdin.write(json.dumps(spec).encode() + b"\n")
        self._close()

    def pictures(self) -> list[str]:
        """The pictures, once they are painted; painted here should the painter have died."""
        self._reader.join()
        painted = [json.loads(line) for line in self._painted if line.endswith(b'"\n')]
        return painted + [paint(spec, self._version) for spec in self._waiting[len(painted) :]]

    def _read(self) -> None:
        if self._process is None:
            return
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self._painted.extend(lines)

    def _close(self) -> None:
        """Say that there is no more: closing a pipe that nobody reads complains once, and is closed then."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()


def _started(command: list[str]) -> subprocess.Popen[bytes] | None:
    """None where one may not start it, or where there is no room for another process: `pictures` does its
    work then.
    """
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None


def paint(spec: JsonObject, version: str) -> str:
    """One specification, with its data, as SVG. Raises ValueError when Vega refuses it."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=version)
    return svg


def main() -> None:
    """Paint a specification a line until there are no more."""
    version = sys.argv[1]
    paint(_WARM_UP, version)
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(paint(json.loads(line), version)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
