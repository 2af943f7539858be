"""Secrets on a command line: every user of the machine can read them there, and the shell's history keeps
them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.cli import language, messages
from loadcell.cli.streams import echo


@dataclass(frozen=True)
class Hidden:
    """A secret in a `word` of the command line: the word without it, `clean`, and the variable for its
    `value`.
    """

    word: str
    clean: str
    variable: str
    value: str


def hide(secrets: Sequence[Hidden]) -> dict[str, str]:
    """The environment with these secrets in it, after a warning.

    Where they stand on this process's own command line it starts again without them: only its user can read
    an environment. (It is another's command line in tests, and where loadcell is a library.)
    """
    env = {**os.environ, **{secret.variable: secret.value for secret in secrets}}
    if not secrets:
        return env
    message = messages.SECRET_MOVED(variables=[secret.variable for secret in secrets])
    echo(language.written(message), err=True)
    words = [cleaned(word, secrets) for word in sys.argv[1:]]
    if words != sys.argv[1:]:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(  # noqa: S606  (no shell is wanted)
            sys.executable, [sys.executable, "-m", "loadcell", *words], env
        )
    return env


def cleaned(word: str, secrets: Sequence[Hidden]) -> str:
    """A word of the command line without them, be it `VALUE` or `--option=VALUE`."""
    for secret in secrets:
        word = word.replace(secret.word, secret.clean)
    return word


def typed(name: str, words: Sequence[str], secrets: Sequence[Hidden]) -> tuple[str, ...]:
    """The command line as it was typed, but for secrets; `words` where this is not the process's own."""
    arguments = sys.argv[1:]
    after = arguments[arguments.index(name) + 1 :] if name in arguments else words
    return ("loadcell", name, *(cleaned(word, secrets) for word in after))
