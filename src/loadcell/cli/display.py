"""Amount of output, colors and characters: `--quiet`, `--verbose`, `--no-color`, ASCII."""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata
from collections.abc import Mapping

import click

_QUIET = "loadcell.quiet"
_VERBOSE = "loadcell.verbose"
_NO_COLOR = "NO_COLOR"
#: Name of the handler of characters that the terminal's encoding lacks.
_SUBSTITUTES = "loadcell.substitutes"
#: ASCII -> characters of tables, bars and sentences that it replaces. One for one, so that columns stay
#: aligned.
_ASCII = {
    "-": "–—−‑─━╺╸",
    "~": "…≈",
    "x": "×✗✕",
    "/": "÷",
    "+": "±✓├┤┼┬┴┌┐└┘",
    ">": "≥→",
    "<": "≤←",
    "^": "↑",
    "v": "↓",
    "u": "µμ",
    ".": "·░",
    "*": "•●",
    "o": "○°",
    "|": "│",
    '"': "“”",
    "'": "‘’",
    "#": "█▇▆▅▄▃▂▁▒▓",
}


def is_quiet() -> bool:
    """True without progress."""
    return _flag(_QUIET)


def is_verbose() -> bool:
    """True to show phases of trials, and the trace of a fault."""
    return _flag(_VERBOSE)


def _flag(key: str) -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(key))


def note_quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    """Callback of the option `--quiet`."""
    context.meta[_QUIET] = value or context.meta.get(_QUIET, False)


def note_verbose(context: click.Context, _: click.Parameter, value: bool) -> None:
    """Callback of the option `--verbose`."""
    context.meta[_VERBOSE] = value or context.meta.get(_VERBOSE, False)


def note_no_color(context: click.Context, _: click.Parameter, value: bool) -> None:
    """Callback of the option `--no-color`: consoles read the variable until the command ends."""
    if value and _NO_COLOR not in os.environ:
        os.environ[_NO_COLOR] = "1"
        context.find_root().call_on_close(lambda: os.environ.pop(_NO_COLOR, None))


#: A character of Chinese texts, which an encoding can show or not.
_HAN = "中"


def adapt_streams(*, keep_utf8: bool, language: str) -> None:
    """Let standard output and error replace characters that their terminal lacks.

    `keep_utf8`: the user asked for a language that ASCII cannot show. Chinese is written in UTF-8 where the
    encoding has no Chinese characters: with replacements nothing of it would be left.
    """
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        encoding = stream.encoding.lower().replace("-", "")
        if language == "zh" and not _can_show(_HAN, stream.encoding):
            stream.reconfigure(encoding="utf-8", errors=_registered())
        elif encoding != "utf8":
            stream.reconfigure(errors=_registered())
        elif not keep_utf8 and stream.isatty() and (charset := _charset(os.environ)) != "utf8":
            stream.reconfigure(encoding=charset, errors=_registered())


def _can_show(text: str, encoding: str) -> bool:
    """True if an encoding has all characters of a text."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _charset(environment: Mapping[str, str]) -> str:
    """Character set of the locale, `ascii` without a known one.

    Python replaces the locale C by C.UTF-8 in the environment (PEP 538), whatever the terminal can show.
    """
    ctype = environment.get("LC_CTYPE", "")
    if ctype in ("C.UTF-8", "C.utf8", "UTF-8"):
        ctype = _initial("LC_CTYPE", ctype)
    name = environment.get("LC_ALL") or ctype or environment.get("LANG", "")
    if name.upper() == "UTF-8":
        return "utf8"
    charset = name.partition(".")[2].partition("@")[0].lower().replace("-", "")
    try:
        codecs.lookup(charset)
    except LookupError:
        return "ascii"
    return charset


def _initial(name: str, default: str) -> str:
    """A variable as the process was started with."""
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib loads slowly
            variables = file.read().split(b"\0")
    except OSError:
        return default
    prefix = f"{name}=".encode()
    return next(
        (item[len(prefix) :].decode(errors="replace") for item in variables if item.startswith(prefix)), ""
    )


def _registered() -> str:
    """Name of the handler of characters that an encoding lacks."""
    codecs.register_error(_SUBSTITUTES, _substituted)
    return _SUBSTITUTES


def _substituted(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return ascii_text(error.object[error.start : error.end]), error.end


def ascii_text(text: str) -> str:
    """A text in ASCII: symbols by similar ones, letters without their accents, all others as `?`."""
    table = {
        ord(character): substitute for substitute, characters in _ASCII.items() for character in characters
    }
    plain = unicodedata.normalize("NFKD", text.translate(table))
    return "".join(
        character if character.isascii() else "?"
        for character in plain
        if not unicodedata.combining(character)
    )
