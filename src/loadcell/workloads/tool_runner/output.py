"""Output of a tool: kept for its reader, and passed on as it comes, both within bounds."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

#: Of one command, so much is passed on to output.log ...
_PASSED_ON_BYTES = 4 << 20
#: ... and so much is kept to be read: the longest output of a tool known is that of a day of interval lines,
#: some 10 MB.
_STORED_BYTES = 256 << 20


class TooMuchError(Exception):
    """The tool printed more than is kept."""


class Output:
    """One command's output. `errors_apart`: what it writes to standard error is passed on, but not read."""

    def __init__(self, *, errors_apart: bool = False, passed_on: bool = True) -> None:
        self._apart = errors_apart
        self._most_passed_on = _PASSED_ON_BYTES if passed_on else 0
        self._file = tempfile.NamedTemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 (see close)
        self._bytes = self._passed = self._left_out = 0
        self._last = {1: "", 2: ""}
        #: streams on which a tool has begun to say how it is called: what was wrong it has said before
        self._usage: set[int] = set()

    def announce(self, words: Sequence[str]) -> None:
        """Say what is run."""
        if self._most_passed_on:
            print(f"$ {shlex.join(words)}", file=sys.stderr, flush=True)

    def take(self, stream: int, line: str) -> bool:
        """One more line; whether it is one to be read. Raises TooMuchError."""
        size = len(line) + 1
        self._bytes += size
        if line.strip() and stream not in self._usage:
            if self._last[stream] and line.lstrip().lower().startswith("usage:"):
                self._usage.add(stream)
            else:
                self._last[stream] = line.strip()
        self._pass_on(line, size)
        if self._apart and stream == 2:
            return False
        if self._bytes > _STORED_BYTES:
            raise TooMuchError
        self._file.write(f"{line}\n")
        return True

    def _pass_on(self, line: str, size: int) -> None:
        if self._passed + size > self._most_passed_on:
            self._left_out += 1
            return
        self._passed += size
        print(line, file=sys.stderr, flush=True)

    @property
    def last_words(self) -> str:
        """The last line that is not empty and not how the tool is called, of errors if there were any."""
        return (self._last[2] or self._last[1])[:500]

    def file(self) -> Path:
        """The file with all that is to be read."""
        self._file.flush()
        return Path(self._file.name)

    def text(self) -> str:
        """The same as text."""
        return self.file().read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """Say what was not passed on, and forget it all."""
        if self._left_out and self._most_passed_on:
            print(f"({self._left_out} more lines are not kept)", file=sys.stderr, flush=True)
        self._file.close()
