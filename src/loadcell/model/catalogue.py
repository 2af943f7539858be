"""The one catalogue of texts: every `messages.toml` and `messages-*.toml` of loadcell and of installed
plug-ins.

An entry is a code with a text for each language; beneath it may stand `advice` (the remedy), `advice.call`
(the remedy for a load without a plan file) and `exact` (a more precise text, used when the message has all
arguments that it names). A placeholder is `{name}`; `{name|one|many}` is the first form where the number is
1, else the second. `{unit}`, `{units}`, `{Units}`, `{unit_short}` and `{time_unit}` are what throughput
counts and the unit of response times, `{count:units}` by a number.

The catalogue as read is kept in the user's cache directory, which holds what loadcell can make again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path


def cache_directory() -> Path:
    """Where loadcell keeps what it can make again: `$XDG_CACHE_HOME/loadcell`, or `~/.cache/loadcell`."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".cache") / "loadcell"


def keep(path: Path, text: str) -> None:
    """Write a file by rename, so that a reader sees all of it or nothing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)  # noqa: PTH105 - both are names in one directory
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise


_FILE = re.compile(r"messages(-[\w-]+)?\.toml")
LANGUAGES = ("en", "zh")
#: Installations whose texts the cache holds.
_MOST_STORED = 8
PLACEHOLDER = re.compile(r"\{(?P<name>\w+)(?:\|(?P<one>[^|{}]*)\|(?P<many>[^|{}]*)|(?P<by>:units))?\}")
#: What stands before a list of items, or behind it, in which the last item has no "and".
_LIST_BEGINS = re.compile(r"(?:[:：;；(（.。→]|\b(?:and|or|one of)|[和或])\s*$")
_LIST_CONTINUES = re.compile(r"(?:,? (?:and|or)\b| ?…|\s*(?:[:：;；→和或等]|之[一列]))")
#: Placeholders that are no arguments -> the suffix of their code.
UNIT_WORDS = {"unit": "", "units": ".many", "Units": ".many", "unit_short": ".short", "time_unit": ""}
#: Suffixes of a code under which it may have more texts.
VARIANTS = ("", ".advice", ".exact", ".advice.exact", ".advice.call")


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """Code -> language -> text. Raises ValueError where two files have the same code.

    All files together are kept in the user's cache: reading them as TOML takes a fifth of a second. Each
    installation, with its plug-ins, has its own file there. A cache that cannot be read or written only costs
    time.
    """
    sources = {str(file): file.stat().st_mtime_ns for file in files()}
    name = f"texts-{zlib.crc32(json.dumps(list(sources)).encode()):08x}.json"
    stored: Path | None = None
    with contextlib.suppress(OSError, RuntimeError, ValueError):  # RuntimeError: no home directory
        stored = cache_directory() / name
        entries: Mapping[str, Mapping[str, str]]
        previous, entries = json.loads(stored.read_text(encoding="utf-8"))
        if previous == sources:
            return entries
    entries = _read(sources)
    if stored is not None:
        with contextlib.suppress(OSError):
            keep(stored, json.dumps([sources, entries], ensure_ascii=False))
            _remove_oldest(stored.parent.glob("texts*.json"))
    return entries


def _remove_oldest(stored: Iterable[Path]) -> None:
    """Remove the files of other installations, except for the latest. Raises OSError."""
    for path in sorted(stored, key=lambda path: path.stat().st_mtime_ns)[:-_MOST_STORED]:
        path.unlink(missing_ok=True)


def _read(sources: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
    entries: dict[str, Mapping[str, str]] = {}
    for file in sources:
        section = flattened(tomllib.loads(Path(file).read_text(encoding="utf-8")))
        if repeated := sorted(entries.keys() & section.keys()):
            raise ValueError(f"{file}: {', '.join(repeated)} is in another file already")
        entries |= section
    return entries


def files() -> Iterator[Path]:
    """The files that the catalogue consists of."""
    for directory in (Path(__file__).parents[1], *_plugin_directories()):
        for folder, folders, names in os.walk(directory):
            folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
            yield from (Path(folder, name) for name in sorted(names) if _FILE.fullmatch(name))


def flattened(table: Mapping[str, object], prefix: str = "") -> dict[str, Mapping[str, str]]:
    """The texts of nested tables, each under its full dotted code."""
    entries: dict[str, Mapping[str, str]] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            languages = {language: text for language, text in value.items() if isinstance(text, str)}
            if languages:
                entries[prefix + name] = languages
            entries |= flattened(value, f"{prefix}{name}.")
    return entries


def placeholders(text: str) -> frozenset[str]:
    """The names of the arguments that a text takes."""
    names = (match["name"] for match in PLACEHOLDER.finditer(text))
    return frozenset(name for name in names if name not in UNIT_WORDS)


def is_enumerated(match: re.Match[str]) -> bool:
    """True if a list in the place of a placeholder is part of the sentence: "a, b and c".

    Behind a colon, a bracket or a sentence it is a bare list, and so is a choice ("one of a, b") and one that
    has more items beside it.
    """
    before, after = match.string[: match.start()], match.string[match.end() :]
    is_alone = not before and not after
    return not (is_alone or _LIST_BEGINS.search(before) or _LIST_CONTINUES.match(after))


def fill(text: str, written: Callable[[re.Match[str]], str]) -> str:
    """The text with each placeholder replaced by `written(match)`; the written number selects the plural."""

    def value(match: re.Match[str]) -> str:
        number = written(match)
        return number if match["one"] is None else match["one"] if number == "1" else match["many"]

    return PLACEHOLDER.sub(value, text)


def _plugin_directories() -> Iterator[Path]:
    """Folders of the top-level packages that add parts by entry points (`loadcell.model.extensions`)."""
    entries = (entry for package in distributions() for entry in package.entry_points)
    names = {entry.module.partition(".")[0] for entry in entries if entry.group.startswith("loadcell.")}
    for name in sorted(names - {"loadcell"}):
        spec = find_spec(name)
        yield from (Path(location) for location in (spec.submodule_search_locations if spec else None) or ())
