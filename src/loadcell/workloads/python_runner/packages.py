"""Packages that an interpreter lacks. Standard library only."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Sequence
from functools import cache

from loadcell.model.message import Message, MessageCode

PYTHON_PACKAGES = MessageCode("python.packages", interpreter=str, packages=list, command=str)

_TIMEOUT_S = 20.0
_ASK = """
import importlib.metadata, json, sys
missing = []
for name in sys.argv[1:]:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        missing.append(name)
print(json.dumps(missing))
"""
#: The name of a distribution before its versions, as in `polars>=1`.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@cache
def missing(interpreter: str, packages: tuple[str, ...]) -> list[str]:
    """Those of these packages that are not installed for an interpreter; none if it does not answer."""
    names = {match[0]: package for package in packages if (match := _NAME.match(package)) is not None}
    if not names:
        return []
    try:
        done = subprocess.run(
            [interpreter, "-c", _ASK, *names], capture_output=True, text=True, check=True, timeout=_TIMEOUT_S
        )
        return [names[name] for name in json.loads(done.stdout)]
    except (OSError, subprocess.SubprocessError, ValueError):
        return []


def lack(interpreter: str, packages: Sequence[str]) -> Message | None:
    """The message that packages are missing, with the command that installs them; None if none are."""
    lacking = missing(interpreter, tuple(packages))
    if not lacking:
        return None
    command = shlex.join([interpreter, "-m", "pip", "install", *lacking])
    return PYTHON_PACKAGES(interpreter=interpreter, packages=lacking, command=command)
