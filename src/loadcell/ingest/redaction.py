"""Copies of imported texts without the secrets in them: values of options, settings and connection strings.

A text without secrets is copied byte for byte. A secret is replaced where it was recognised. Unless it is
short or a number, it is also replaced wherever else it stands in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadcell.ingest import commands
from loadcell.ingest.inputs import unpacker
from loadcell.plan import secrets

#: Stands in the place of a secret, and tells a reader of the copy who removed it.
REDACTED = "[redacted-by-loadcell]"

#: Settings in texts: names that end like those of secrets, with a value behind `=` or `:`.
_NAMES = "|".join(
    ("password", "passwd", "pwd", "passphrase", "secret", "token", "authorization", *commands.secret_names())
)
_VALUE = r"\"(?P<double>[^\"\n]{1,1000})\"|'(?P<single>[^'\n]{1,1000})'|(?P<plain>[^\s,;&\"'<>)}\]]{1,1000})"
_SETTING = re.compile(
    rf"(?<![A-Za-z0-9])(?P<key>[\w.-]{{0,40}}(?:{_NAMES}))(?![\w.-])[\"']?[ \t]{{0,9}}[=:][ \t]{{0,9}}"
    rf"(?:(?:Bearer|Basic|Token)[ \t]+)?(?:{_VALUE})",
    re.IGNORECASE,
)
#: Password of a URL, between its user and its host.
_IN_URL = re.compile(r"://[^/@:\s]{0,100}:(?P<plain>[^@/\s]{1,1000})@")
#: One of these stands in each line with a secret: lines are found by them before patterns are tried.
_SIGNS = ("://", "passw", "pwd", "passphrase", "secret", "token", "authorization", *commands.secret_names())
#: Characters around a sign in which patterns are tried.
_BEFORE, _BEHIND = 200, 2000
#: What a tool prints in place of a password, a variable, and a directory (`PWD`).
_NO_SECRET = re.compile(
    rf"{re.escape(REDACTED[:-1])}.*|\*+|x+|X+|\$\S+|<\S+|/\S*|null|none|true|false|yes|no", re.IGNORECASE
)


@dataclass(frozen=True)
class Copy:
    """A copy to keep under `name`: the file itself, or `content` without the `secrets` that were in it."""

    file: Path
    name: str
    content: bytes | None = None
    secrets: frozenset[str] = frozenset()


def copy_of(file: Path, tool: str, prefix: str, most_bytes: int) -> Copy | None:
    """The copy of a tool's text; unpacked where it has secrets. None if it is larger than `most_bytes`."""
    opener: Any = unpacker(file)
    with file.open("rb") if opener is None else opener(file) as source:
        content = source.read(most_bytes + 1)
    if len(content) > most_bytes:
        return None
    text, values = redacted(content, tool)
    if text == content:
        return Copy(file, f"{prefix}{file.name}")
    name = file.stem if file.suffix in (".gz", ".bz2", ".xz") and opener is not None else file.name
    return Copy(file, f"{prefix}{name}", text, values)


def redacted(content: bytes, tool: str) -> tuple[bytes, frozenset[str]]:
    """A tool's text without its secrets, and these secrets; none if it has none.

    All other bytes stay as they are, whatever the encoding.
    """
    text = content.decode("latin-1")
    spans = sorted({*_settings(text), *_options(text, tool)})
    if not spans:
        return content, frozenset()
    values = {text[begin:end] for begin, end in spans}
    parts, at = [], 0
    for begin, end in spans:
        parts += [text[at:begin], REDACTED] if begin >= at else []
        at = max(at, end)
    text = "".join([*parts, text[at:]])
    common = (secrets.is_short, secrets.is_number)
    elsewhere = {value: REDACTED for value in values if not any(is_common(value) for is_common in common)}
    names = frozenset(value.encode("latin-1").decode("utf-8", "replace") for value in elsewhere)
    return secrets.replaced(text, elsewhere).encode("latin-1"), names


def _settings(text: str) -> Iterator[tuple[int, int]]:
    """Positions of the values of secret settings."""
    lower = text.lower()
    for begin, end in _windows(lower):
        for pattern in (_SETTING, _IN_URL):
            for match in pattern.finditer(text, begin, end):
                group = match.lastgroup or ""
                if not _NO_SECRET.fullmatch(match[group]):
                    yield match.span(group)


def _windows(lower: str) -> Iterator[tuple[int, int]]:
    """Parts of lines around signs of secrets."""
    for sign in _SIGNS:
        at = lower.find(sign)
        while at >= 0:
            begin = max(lower.rfind("\n", 0, at) + 1, at - _BEFORE)
            end = lower.find("\n", at, at + _BEHIND)
            yield begin, end if end >= 0 else min(len(lower), at + _BEHIND)
            at = lower.find(sign, max(end, at + len(sign)) if end >= 0 else at + _BEHIND)


def _options(text: str, tool: str) -> Iterator[tuple[int, int]]:
    """Positions of the values of secret options, or of a command that writes them in another form."""
    for begin, end, values in commands.secrets_in(text, tool):
        for value in values:
            if _NO_SECRET.fullmatch(value):
                continue
            alone = rf"(?:(?<![A-Za-z0-9_])|(?<=\s-[A-Za-z])){re.escape(value)}(?![A-Za-z0-9_])"
            spans = [match.span() for match in re.finditer(alone, text[begin:end])]
            yield from ((begin + first, begin + last) for first, last in spans or [(0, end - begin)])
