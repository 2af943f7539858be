"""Recognition of files that may hold a secret: such a file is not copied into a run directory.

A doubt counts as a secret: the copy is then missing, and the run is repeated with the file itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadcell.plan.secrets import is_secret_key

#: A private key, a password in a URL, and a setting that holds a secret: its value is neither empty nor a
#: place that something else fills in (`${password}`, `:password`, `?`, `%s`, `<password>`, NULL).
_WRITTEN = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY"
    rb"|[A-Za-z][A-Za-z0-9+.-]{1,31}://[^/@:\s]{0,256}:(?!\$)[^@/\s]{1,256}@"
    rb"|(?:password|passwd|pwd|passphrase|secret|token|api_?key)[\"']?[ \t]{0,9}[=:][ \t]{0,9}[\"']?"
    rb"(?![ \t\"'$:?%<{,;)\]}]|null|none|nil|true|false)[^\s\"']"
    rb"|(?:\bpassword|\bidentified[ \t]{1,9}by)[ \t]{1,9}'[^']",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(rb"[,;\t|]")
#: A file with a NUL byte among these is no text.
_BEGINNING = 8192


def may_hold_secret(content: bytes, values: Iterable[str] = ()) -> bool:
    """True if a file may hold a secret: one of these values, or something that looks like one."""
    if _WRITTEN.search(content):
        return True
    beginning = content[:_BEGINNING]
    if b"\0" not in beginning and _names_secret(beginning.partition(b"\n")[0]):
        return True
    return any(value.encode("utf-8", "replace") in content for value in values)


def _names_secret(header: bytes) -> bool:
    """True if a column of a table is called as secrets are."""
    columns = _SEPARATORS.split(header)
    names = (column.strip().strip(b"\"'").decode("utf-8", "replace") for column in columns)
    return len(columns) > 1 and any(is_secret_key(name) for name in names)
