"""Recognition of files that may hold a secret: such a file is not copied into a run directory.

A doubt counts as a secret: the copy is then missing, and the run is repeated with the file itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadcell.plan.secret_patterns import holds_private_key, is_secret_name, spans

_SEPARATORS = re.compile(rb"[,;\t|]")
#: A file with a NUL byte among these is no text.
_BEGINNING = 8192


def may_hold_secret(content: bytes, values: Iterable[str] = ()) -> bool:
    """True if a file may hold a secret: one of these values, or something that looks like one."""
    if any(value.encode("utf-8", "replace") in content for value in values):
        return True
    beginning = content[:_BEGINNING]
    if b"\0" not in beginning and _names_secret(beginning.partition(b"\n")[0]):
        return True
    text = content.decode("latin-1")
    return holds_private_key(text) or bool(spans(text))


def _names_secret(header: bytes) -> bool:
    """True if a column of a table is called as secrets are."""
    columns = _SEPARATORS.split(header)
    names = (column.strip().strip(b"\"'").decode("utf-8", "replace") for column in columns)
    return len(columns) > 1 and any(is_secret_name(name) for name in names)
