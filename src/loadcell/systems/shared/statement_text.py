"""Texts of statements as reports show them: on one line, without constants, comments and secrets."""

from __future__ import annotations

import re

#: Longest text that is kept, in characters.
LONGEST = 500
#: Statements whose constants a server replaces in its statistics.
_PLANNED = re.compile(r"(select|insert|update|delete|merge|replace|with|values)\b", re.IGNORECASE)
_WORDS = re.compile(r"[a-z]+(?: [a-z]+)?\b", re.IGNORECASE)
#: In the rare text that it could not replace them in, they are replaced here.
_CONSTANTS = re.compile(r"'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$", re.DOTALL)
_COMMENTS = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)


def shown(text: str) -> str:
    """A statement in one line, without constants; of one whose constants a server may keep, its
    first two words.
    """
    bare = " ".join(_COMMENTS.sub(" ", text).split())
    if not _PLANNED.match(bare):
        first = _WORDS.match(bare)
        words = first[0] if first else ""
        return words if bare.rstrip("; ") == words else f"{words} …"
    bare = " ".join(_CONSTANTS.sub("?", bare).split())
    return bare if len(bare) <= LONGEST else bare[: LONGEST - 1] + "…"
