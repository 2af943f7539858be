"""The git checkout of a directory: commit, branch, and whether tracked files were changed.

The program `git` is asked; without it, outside a checkout, or when it does not answer in time, nothing is
known, and nothing fails.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from subprocess import SubprocessError

from loadcell.linux.process import plain_environment
from loadcell.model.run_record import Checkout

#: Seconds. A status of a large tree on a cold disk takes a few; a run does not wait longer for it.
LIMIT_S = 10.0
#: The configuration of a repository may start no program: a monitor of files, filters of contents
#: (`_filters`), or a transport for contents by which renames are recognised. No lock is taken in somebody's
#: tree.
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")
_STATUS = (
    *("status", "--porcelain=v2", "--branch"),
    *("--untracked-files=no", "--ignore-submodules=dirty", "--no-renames"),
)
_FILTERS = ("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$")
#: Exit status of `git config` where nothing matches.
_NO_MATCH = 1


def checkout_of(directory: Path, limit_s: float = LIMIT_S) -> Checkout | None:
    """The checkout that `directory` lies in; None where there is none, or git cannot tell.

    Filters do not run: a file whose time changed, and whose contents git stores filtered, is a change.
    """
    try:
        filters = _filters(directory, limit_s)
        answer = None if filters is None else _git(directory, [*filters, *_STATUS], limit_s)
    except (OSError, SubprocessError, ValueError):
        return None
    return None if answer is None or answer.returncode else _read(answer.stdout)


def _filters(directory: Path, limit_s: float) -> list[str] | None:
    """Options that disable every configured filter; None if one of them cannot be disabled, or git fails."""
    answer = _git(directory, _FILTERS, limit_s)
    if answer.returncode not in (0, _NO_MATCH):
        return None
    keys = dict.fromkeys(key for key in answer.stdout.split("\0") if key)
    if any("=" in key for key in keys):  # an option ends its key there
        return None
    values = {key: "false" if key.endswith(".required") else "" for key in keys}
    return [word for key, value in values.items() for word in ("-c", f"{key}={value}")]


def _git(directory: Path, words: Sequence[str], limit_s: float) -> subprocess.CompletedProcess[str]:
    """Raises OSError, SubprocessError and ValueError."""
    return subprocess.run(
        ["git", *_QUIET, "-C", str(directory), *words],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**plain_environment(), "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
    )


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
