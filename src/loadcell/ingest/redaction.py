"""Imported texts without the secrets in them: values of options, settings, header fields and URLs.

A text without secrets is copied byte for byte. A secret is replaced where it was recognised. Unless it is
short or a number, it is also replaced wherever else it stands in any text of the import.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadcell.ingest.command_secrets import secrets_in
from loadcell.ingest.inputs import unpacker
from loadcell.plan import secrets
from loadcell.plan.secret_patterns import REDACTED, Span, apart, cut_out, is_placeholder, spans

#: Of a compressed file, the text may be larger than this only if the file is not kept.
MOST_TEXT_BYTES = 256 * 2**20
#: Signs that may stand around a secret and belong to the text.
_AROUND = "\"'\\ ,;.)]}"
#: Options whose value is a user and a password.
_LOGINS = ("A", "P")


@dataclass(frozen=True)
class Text:
    """A file as it was read at one instant: its bytes, its text (unpacked), and its mode.

    The text is `None` if it is too large to be kept.
    """

    file: Path
    stored: bytes
    text: bytes | None
    mode: int

    @classmethod
    def of(cls, file: Path) -> Text:
        """The text of a file. Raises OSError."""
        opener: Any = unpacker(file)
        with file.open("rb") as source:
            mode = stat.S_IMODE(os.fstat(source.fileno()).st_mode)
            stored = source.read()
        if opener is None:
            return cls(file, stored, stored, mode)
        with opener(io.BytesIO(stored)) as unpacked:
            text = unpacked.read(MOST_TEXT_BYTES + 1)
        return cls(file, stored, text if len(text) <= MOST_TEXT_BYTES else None, mode)

    @property
    def is_packed(self) -> bool:
        """True for a compressed file."""
        return self.stored is not self.text


@dataclass(frozen=True)
class Copy:
    """A copy to keep under `name`, for whom the file itself is readable; `is_redacted` if it had secrets."""

    name: str
    content: bytes
    mode: int
    is_redacted: bool

    def write(self, directory: Path) -> None:
        """Write the copy. Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(directory / self.name, flags, self.mode & 0o666), "wb") as file:
            file.write(self.content)


def copy_of(text: Text, prefix: str, hidden: Collection[str]) -> Copy | None:
    """The copy of a text without its secrets and the `hidden` ones; unpacked where it has any. None if
    it is too large.
    """
    if text.text is None:
        return None
    content = redacted(text.text, hidden)
    if content == text.text:
        return Copy(f"{prefix}{text.file.name}", text.stored, text.mode, is_redacted=False)
    packed = text.is_packed and text.file.suffix in (".gz", ".bz2", ".xz")
    name = text.file.stem if packed else text.file.name
    return Copy(f"{prefix}{name}", content, text.mode, is_redacted=True)


def secrets_of(content: bytes) -> frozenset[str]:
    """The secrets in a text that are to be replaced wherever they stand: no numbers, and no short ones."""
    text = content.decode("latin-1")
    return _to_hide(text, _positions(text))


def _to_hide(text: str, positions: Sequence[Span]) -> frozenset[str]:
    values = {value for position in positions for value in _values(text, position)}
    hidden = (value.encode("latin-1").decode("utf-8", "replace") for value in values)
    return frozenset(value for value in hidden if not (secrets.is_short(value) or secrets.is_number(value)))


def redacted(content: bytes, hidden: Collection[str] = ()) -> bytes:
    """A text without its secrets and the `hidden` ones.

    All other bytes stay as they are, whatever the encoding.
    """
    text = content.decode("latin-1")
    positions = _positions(text)
    values = {value.encode().decode("latin-1"): REDACTED for value in {*hidden, *_to_hide(text, positions)}}
    return secrets.replaced(cut_out(text, positions), values).encode("latin-1")


def redacted_text(text: str, hidden: Mapping[str, str]) -> str:
    """One line or message of an import without its secrets and the `hidden` ones."""
    return secrets.replaced(cut_out(text, _positions(text)), hidden)


def _positions(text: str) -> list[Span]:
    """Places of all secrets, in order and apart."""
    options = (
        position for position in secrets_in(text) if not is_placeholder(text[position.begin : position.end])
    )
    return apart([*spans(text), *options])


def _values(text: str, position: Span) -> list[str]:
    """A secret as it may stand elsewhere: as it was written, and without signs around it or its user."""
    value = text[position.begin : position.end]
    forms = [value, value.strip(_AROUND)]
    if position.name in _LOGINS:
        forms.append(value.partition(":")[2])
    return [form for form in forms if form.strip()]
