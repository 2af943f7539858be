"""Charts as SVG pictures, drawn by a separate process.

Vega takes 0.7 s to start and up to half a second a chart, and lets no other thread run meanwhile. So the
painter is started before the run is read, and paints while the page is written. This file is also that
process's program.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
from types import TracebackType

from loadcell.linux import process
from loadcell.model.json import JsonObject

#: The Vega-Lite version charts are written for.
VEGA_LITE = "v6.4"
#: Anything: it only makes Vega ready.
_WARM_UP = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}}

#: Escapes of JSON text, among them all of C0, and characters that XML or JavaScript forbids, JSON not.
_UNFIT = re.compile(r"\\(?:u[0-9a-f]{4}|.)|[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_SHORT = {"b": 0x08, "f": 0x0C}


class Painter:
    """Turns specifications into pictures, in the order they were handed over."""

    def __init__(self, version: str) -> None:
        """`version` is that of Vega-Lite, as `v6.4`."""
        self._version = version
        self._waiting: list[JsonObject] = []
        self._painted: list[bytes] = []
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        # without room for another process, `pictures` does its work
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, version],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=process.plain_environment(),
            )

    def __enter__(self) -> Painter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        self._process.kill()
        if self._thread is None:
            self._process.communicate()
        else:
            self._thread.join()

    def hand_over(self, specs: list[JsonObject]) -> None:
        """Give it everything there is to paint, at once, without waiting for it."""
        self._waiting = specs
        self._thread = threading.Thread(target=self._converse, args=(specs,), daemon=True)
        self._thread.start()

    def _converse(self, specs: list[JsonObject]) -> None:
        """Write and read at the same time: specifications and pictures are larger than a pipe."""
        if self._process is not None:
            lines = b"".join(json.dumps(spec).encode() + b"\n" for spec in specs)
            self._painted = self._process.communicate(lines)[0].splitlines(keepends=True)

    def pictures(self) -> list[str]:
        """The pictures, once they are painted; painted here should the painter have died."""
        if self._thread is not None:
            self._thread.join()
        painted = [json.loads(line) for line in self._painted if line.endswith(b'"\n')]
        return painted + [paint(spec, self._version) for spec in self._waiting[len(painted) :]]


def paint(spec: JsonObject, version: str) -> str:
    """One specification, with its data, as SVG. Raises ValueError when Vega refuses it."""
    import vl_convert  # noqa: PLC0415 - the command that starts a painter does without

    svg: str = vl_convert.vegalite_to_svg(fit(spec), vl_version=version)
    return svg


def fit(spec: JsonObject) -> str:
    """A specification as JSON text without characters that XML 1.0 forbids; each has a sign in its place.

    The picture library aborts its process on them, and names of levels and files may hold them.
    """
    return _UNFIT.sub(_sign, json.dumps(spec, ensure_ascii=False))


def _sign(match: re.Match[str]) -> str:
    """The picture of a control character (U+2400 and following), or the replacement character."""
    written = match[0]
    if not written.startswith("\\"):
        return "\ufffd"
    code = _SHORT.get(written[1], int(written[2:], 16) if len(written) > 2 else None)
    return written if code is None else chr(0x2400 + code) if code < 0x20 else "\ufffd"


def main() -> None:
    """Paint a specification a line until there are no more."""
    version = sys.argv[1]
    paint(_WARM_UP, version)
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(paint(json.loads(line), version)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
