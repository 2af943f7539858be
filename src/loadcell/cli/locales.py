"""The language of a command's output: option `--lang`, variable `LOADCELL_LANG`, or the locale."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence

import click

from loadcell.model.languages import DEFAULT, LANGUAGES, VARIABLE, of_environment, of_locale

__all__ = [
    "DEFAULT",
    "LANGUAGES",
    "VARIABLE",
    "choose",
    "current",
    "is_chosen",
    "note",
    "of_environment",
    "of_locale",
    "of_words",
]

#: Where the contexts of a command and of its group have the language.
_KEY = "loadcell.language"


def current() -> str:
    """The language of the running command; outside one, that of the environment."""
    context = click.get_current_context(silent=True)
    return of_environment() if context is None else context.meta.get(_KEY) or of_environment()


def choose(context: click.Context, language: str) -> None:
    """Set the language of a context and of those within it."""
    context.meta[_KEY] = language


def note(context: click.Context, _: click.Parameter, language: str | None) -> None:
    """Callback of the option `--lang`."""
    if language is not None:
        choose(context, language)


def is_chosen(words: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """True if the user names the language instead of inheriting it from the locale."""
    return of_words(words) is not None or environment.get(VARIABLE, "") in LANGUAGES


def of_words(words: Sequence[str]) -> str | None:
    """The language that a command line names, for errors before its option is parsed."""
    chosen = None
    for word, following in itertools.zip_longest(words, words[1:], fillvalue=""):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        language = value if equals else following
        if option == "--lang" and language in LANGUAGES:
            chosen = language
    return chosen
