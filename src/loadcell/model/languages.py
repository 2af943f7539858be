"""Languages of texts for people, and the one that the environment asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping

LANGUAGES = ("en", "zh")
DEFAULT = "en"
#: The variable that has precedence over the locale.
VARIABLE = "LOADCELL_LANG"
#: Categories of the locale, in the order of precedence that POSIX gives them.
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


def of_environment(environment: Mapping[str, str] = os.environ) -> str:
    """The language of the variables: `LOADCELL_LANG`, then the locale. An unknown locale means English."""
    chosen = environment.get(VARIABLE, "")
    if chosen in LANGUAGES:
        return chosen
    return of_locale(next((environment[name] for name in _LOCALE if environment.get(name)), ""))


def of_locale(name: str) -> str:
    """The language of a locale's name, such as `zh_CN.UTF-8`."""
    return "zh" if name[:2].lower() == "zh" and not name[2:3].isalpha() else DEFAULT
