"""Text from outside, made fit for a terminal and for JSON that a terminal shows.

A server's error, a tool's line, a title or a file name may hold sequences that move the cursor, rename the
window or reverse the reading direction (Unicode Technical Report 36, 2.10; CVE-2021-42574).
"""

from __future__ import annotations

import re

#: C0 and C1 controls but newline and tab, DEL, bidirectional controls, line separators, half surrogates.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def printable(text: str) -> str:
    """The text with each control character as its escape: `\\x1b`, `\\u202e`."""
    return _CONTROL.sub(_escape, text)


def json_printable(text: str) -> str:
    """JSON text with the same characters escaped as JSON does it; its value stays the same."""
    if text.isprintable():  # as the data of most pages; three times as fast as the pattern
        return text
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
