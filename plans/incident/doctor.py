"""The doctor of loadcell, called by rehearsals of incidents. Standard library only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def loadcell() -> list[str]:
    """The command `loadcell`: beside this Python, on PATH, or of the Python that runs this plan."""
    for directory in (str(Path(sys.executable).parent), None):
        if (program := shutil.which("loadcell", path=directory)) is not None:
            return [program]
    pid = os.getppid()
    while pid > 1:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"python" in words[0] and b"-m" in words:
            return [os.fsdecode(words[0]), "-m", "loadcell"]
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    sys.exit("loadcell is not on PATH")


def examination(*words: str, inside: Sequence[str] = ()) -> dict[str, Any]:
    """The JSON of `loadcell doctor`; `inside` is a command that runs another."""
    command = [*inside, *loadcell(), "doctor", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def diagnoses(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Incidents that it names."""
    return [item for subject in document["subjects"] for item in subject["diagnoses"]]
