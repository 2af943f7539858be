"""Chinese for click's own sentences: usage, errors of options, prompts.

Click passes each sentence through gettext, which knows languages of the environment alone. Its modules get a
function that looks into `help/click.toml` instead, once a command speaks another language than English.
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType

import click

from loadcell.cli import help_texts, locales

_MODULES = ("core", "decorators", "exceptions", "formatting", "parser", "termui", "types")


def install() -> None:
    """Let click speak the language of the running command."""
    for name in _MODULES:
        module = sys.modules[f"{click.__name__}.{name}"]
        if getattr(module, "_", translated) is not translated:
            _replace(module, "_", translated)
        if hasattr(module, "ngettext"):
            _replace(module, "ngettext", translated_number)


def _replace(module: ModuleType, name: str, value: object) -> None:
    vars(module)[name] = value


def translated(text: str) -> str:
    """A sentence of click in the language of the running command."""
    language = locales.current()
    return text if language == locales.DEFAULT else _by_english().get(text, {}).get(language, text)


def translated_number(singular: str, plural: str, count: int) -> str:
    """The same for a sentence with a number."""
    return translated(singular if count == 1 else plural)


def ended(sentence: str) -> str:
    """A sentence that click composes, with the full stop of the language."""
    chinese = locales.current() == "zh" and sentence.endswith(".")
    return f"{sentence[:-1]}。" if chinese else sentence


@cache
def _by_english() -> dict[str, help_texts.Text]:
    return {text["en"]: text for text in help_texts.of_click().values()}
