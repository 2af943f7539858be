"""Run a script by the Python that has loadcell: `loadcell_python.py SCRIPT WORD`. Only standard library."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def interpreter() -> str:
    """The Python of the program `loadcell` that runs this plan: that of an ancestor of this process."""
    pid = os.getppid()
    while pid > 1:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"python" in words[0] and any(word.endswith(b"loadcell") for word in words[1:]):
            return os.fsdecode(words[0])
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return sys.executable


if __name__ == "__main__":
    script = Path(__file__).with_name(sys.argv[1])
    python = interpreter()
    os.execvp(python, [python, "-B", str(script), *sys.argv[2:]])  # noqa: S606
