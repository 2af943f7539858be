"""The git checkout of a directory: commit, branch, and whether tracked files were changed.

The program `git` is asked; without it, outside a checkout, or when it does not answer in time, nothing is
known, and nothing fails.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from subprocess import SubprocessError

from loadcell.linux.process import plain_environment
from loadcell.model.run_record import Checkout

#: Seconds. A status of a large tree on a cold disk takes a few; a run does not wait longer for it.
LIMIT_S = 10.0
#: No file of the repository's configuration may start a program, and no lock is taken in somebody's tree.
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")
_STATUS = ("status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=dirty")


def checkout_of(directory: Path, limit_s: float = LIMIT_S) -> Checkout | None:
    """The checkout that `directory` lies in; None where there is none, or git cannot tell."""
    try:
        answer = subprocess.run(
            ["git", *_QUIET, "-C", str(directory), *_STATUS],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**plain_environment(), "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
        )
    except (OSError, SubprocessError, ValueError):
        return None
    return None if answer.returncode else _read(answer.stdout)


def _read(status: str) -> Checkout:
    """Read `git status --porcelain=v2 --branch`: headers (`# branch.oid ...`), then a line a changed file."""
    headers: dict[str, str] = {}
    dirty = False
    for line in status.splitlines():
        if line.startswith("# "):
            name, _, value = line[2:].partition(" ")
            headers[name] = value
        else:
            dirty = dirty or bool(line)
    commit, branch = headers.get("branch.oid"), headers.get("branch.head")
    return Checkout(
        commit=None if commit == "(initial)" else commit,
        branch=None if branch == "(detached)" else branch,
        dirty=dirty,
    )
