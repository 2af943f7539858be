"""Secrets: named in a plan as `${env:NAME}`, known only in memory, written nowhere.

A plan is copied into every run's directory as it is written, so a password in it is a mistake, not a risk to
manage.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from loadcell.model.message import Count, MessageCode, MessageError, as_written
from loadcell.plan.nodes import Keys, Node, Scalar, scalars
from loadcell.plan.problems import INVALID, Problem, nearest, shown
from loadcell.plan.secret_patterns import (
    MOST_OF_SECRET,
    headers,
    holds_private_key,
    is_secret_name,
    issued,
    login_passwords,
)

SECRET_MISSING = MessageCode("secret.missing", name=str)
SECRET_SHORT = MessageCode("secret.short", name=str, shortest=Count)
SECRET_WRITTEN = MessageCode("plan.secret-written", reference=str)
PASSWORD_WRITTEN = MessageCode("plan.password-written", reference=str)
ALLOWED_SHELL_VARIABLE = MessageCode("allowed.shell-variable", form=str, variable=str)
VARIABLE_NOT_SET = MessageCode("plan.variable-not-set", name=str)

#: How a plan refers to a secret.
_FORM = "${env:NAME}"
REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_ANY_REFERENCE = re.compile(r"\$\{[^}]*\}?")
#: Schemes of the header field Authorization, which stand in front of a value.
_SCHEMES = ("bearer", "basic", "digest", "token")
#: What a workload fills in for itself (`/get?key=${key}`, `${users.password}`): a name without a colon is no
#: reference to a secret there.
_PLACE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?\}")
#: The fault whose commands a shell executes.
_OF_SHELL = "command"
_WITH_PLACES = ("workload", "workloads")
_FACTORS = ("factors", "cross")
#: Sections for people alone; labels and facts take no secret in any form (`loadcell.plan.labels`).
_OF_PEOPLE = ("title", "question", "labels", "about")
#: A password as libpq's words, Java's options and variables of the environment have it. Other names stand in
#: statements and bodies of requests as well (`token = $1`).
_IN_WORDS = re.compile(
    r"(?:^|[\s?&;,'\"])-{0,2}(?:pg|ssl)?(?:password|passwd|pwd)\s{0,9}=\s{0,9}"
    rf"(?P<secret>'[^']{{0,{MOST_OF_SECRET}}}'|[^\s&;]{{1,{MOST_OF_SECRET}}})",
    re.IGNORECASE,
)


#: Shortest secret in characters: a shorter text is part of too many others to be found in them.
SHORTEST = 4
#: A word or a number. It may be part of another one by chance, as no other secret of this length is.
_COMMON = re.compile(r"[^\W\d_]+|[\d.,:+-]+|.{1,7}", re.DOTALL)
_NUMBER = re.compile(r"(?=.*[0-9])[0-9.,:+-]+")
#: What continues a number or an instant on either side: `2026` in `2026-11-22` or `1.2026` is no secret. A
#: name that ends in a digit (`app1:`) is no number.
_NUMBER_BEFORE = re.compile(r"(?<![A-Za-z0-9_])[0-9](?:[A-Za-z0-9_]*[0-9])?[.,:+-]$")
_NUMBER_AFTER = re.compile(r"[.,:+-][0-9]")
#: What shows directly before or after a number that it is a secret.
_SECRET_BEFORE = re.compile(
    r"://[^/@:\s]*:$|(?:password|passwd|pwd|passphrase|secret|token)['\"]?\s{0,9}[=:]\s{0,9}['\"]?$",
    re.IGNORECASE,
)
#: Characters; texts of all languages are written without spaces around ASCII words.
_WORD = "[A-Za-z0-9_]"


class MissingSecretError(MessageError, ValueError):
    """A secret was asked for whose environment variable is not set, or holds too short a text."""


class Secrets:
    """Gives secrets to those who must have them, and takes them out of whatever is to be written.

    `env` is where they come from (default: the process's environment).
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._values: dict[str, str] = {}

    def reveal(self, text: str) -> str:
        """`text` with every `${env:NAME}` replaced by its value, which is remembered.

        Raises MissingSecretError.
        """

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name not in self._env:
                raise MissingSecretError(SECRET_MISSING(name=name))
            if is_short(self._env[name]):
                raise MissingSecretError(SECRET_SHORT(name=name, shortest=SHORTEST))
            self._values[self._env[name]] = match[0]
            return self._env[name]

        return REFERENCE.sub(value, text)

    def values_in(self, text: str) -> tuple[str, ...]:
        """Values of the references in a text, as far as their variables are set, in all written forms."""
        values = (self._env.get(name, "") for name in references(text))
        return tuple(form for value in values if len(value) >= SHORTEST for form in _forms(value))

    def redact(self, text: str) -> str:
        """One value with every secret revealed so far replaced by the reference it came from.

        A secret that is a word or a number, or is short, is replaced where it stands by itself, not where it
        is part of a longer word, number or instant, or of a line of separators.
        """
        return replaced(text, self._values)


def replaced(text: str, values: Mapping[str, str]) -> str:
    """A text with every secret in `values` replaced by what it stands for there, the longest first."""
    for secret in sorted(values, key=len, reverse=True):
        for form in _forms(secret):
            if form in text:
                text = _occurrences(form).sub(partial(_replaced, values[secret]), text)
    return text


def is_number(secret: str) -> bool:
    """True if a secret looks like a number or an instant."""
    return _NUMBER.fullmatch(secret) is not None


def is_short(secret: str) -> bool:
    """True if a text is too short to be taken out of others; an empty one is no secret."""
    return 0 < len(secret) < SHORTEST


@cache
def _forms(secret: str) -> tuple[str, ...]:
    """A secret as it is, and as URLs, JSON and shells write it; none of an empty one."""
    written = (secret, quote(secret, safe=""), json.dumps(secret)[1:-1], shlex.quote(secret))
    return tuple(form for form in dict.fromkeys(written) if secret)


@cache
def _occurrences(secret: str) -> re.Pattern[str]:
    """Where a secret stands in a text by itself, also directly after the letter of an option (`-pSECRET`)."""
    pattern = re.escape(secret)
    if not _COMMON.fullmatch(secret):
        return re.compile(pattern)
    before, after = (_apart(end) for end in (secret[0], secret[-1]))
    alone = rf"(?:(?<!{_WORD})|(?<=\s-{_WORD})|(?<=^-{_WORD}))" if secret[0].isalnum() else rf"(?<!{before})"
    return re.compile(f"{alone}{pattern}(?!{after})")


def _apart(end: str) -> str:
    """Pattern of characters that must not be next to a secret that begins or ends so."""
    return _WORD if end.isalnum() or end == "_" else re.escape(end)


def _replaced(reference: str, match: re.Match[str]) -> str:
    """The reference to a secret that was matched, or the text itself where it is part of a number."""
    if not _NUMBER.fullmatch(match[0]):
        return reference
    text, begin, end = match.string, match.start(), match.end()
    before = text[max(0, begin - MOST_OF_SECRET) : begin]
    if text.startswith("@", end) or _SECRET_BEFORE.search(before):
        return reference
    in_number = _NUMBER_BEFORE.search(before) or _NUMBER_AFTER.match(text, end)
    return match[0] if in_number else reference


def revealed(value: Any, reveal: Callable[[str], str]) -> Any:
    """Plain JSON values with `reveal` applied to every text in them."""
    if isinstance(value, str):
        return reveal(value)
    if isinstance(value, list | tuple):
        return [revealed(item, reveal) for item in value]
    if isinstance(value, dict):
        return {key: revealed(item, reveal) for key, item in value.items()}
    return value


def references(text: str) -> list[str]:
    """Names of the environment variables a text refers to."""
    return [match[1] for match in REFERENCE.finditer(text)]


def holds_literal(text: str) -> bool:
    """True if a text (a DSN, a command line) holds a password or a login written out."""
    positions = (*login_passwords(text), *headers(text), *issued(text))
    literals = [text[position.begin : position.end] for position in positions]
    literals += [match["secret"].strip("'\"") for match in _IN_WORDS.finditer(text)]
    return holds_private_key(text) or any(REFERENCE.sub("", literal) for literal in literals)


def problems_of(root: Keys, env: Mapping[str, str]) -> Iterator[Problem]:
    """Passwords written out, references that are not understood, and variables that are not set."""
    for key, entry in root.entries.items():
        if key not in _OF_PEOPLE:
            yield from _problems_below(entry.node, (key,), env)


def _has_places(keys: tuple[str, ...]) -> bool:
    """True if a workload is set there, by itself or by a level of a factor."""
    sections = keys[1:] if keys[0] in _FACTORS else keys[:1]
    return any(key.partition(".")[0] in _WITH_PLACES for key in sections)


def _not_understood(text: str, scalar: Scalar, keys: tuple[str, ...]) -> Problem:
    """Mistake of a text that is no reference; in a command of a fault it may be a variable of the shell."""
    mark, where = scalar.mark, ".".join(keys)
    if {"faults", _OF_SHELL} <= set(keys) and _PLACE.fullmatch(text):
        variable = f"${text[2:-1]}"
        allowed = ALLOWED_SHELL_VARIABLE(form=_FORM, variable=variable)
        return Problem(mark, where, INVALID(value=shown(text), allowed=allowed), variable)
    return Problem(mark, where, INVALID(value=shown(text), allowed=as_written(_FORM)))


def _problems_below(node: Node, path: tuple[str, ...], env: Mapping[str, str]) -> Iterator[Problem]:
    for keys, scalar in scalars(node, path):
        where = ".".join(keys)
        text = scalar.text
        if is_secret_name(keys[-1]):
            literal = REFERENCE.sub("", _PLACE.sub("", text) if _has_places(keys) else text)
            is_scheme = literal != text and literal.strip().lower() in _SCHEMES
            if scalar.value is not None and literal and not is_scheme:
                yield Problem(scalar.mark, where, SECRET_WRITTEN(reference=_FORM))
                continue
        elif holds_literal(text):
            yield Problem(scalar.mark, where, PASSWORD_WRITTEN(reference=_FORM))
            continue
        for match in _ANY_REFERENCE.finditer(text):
            reference = REFERENCE.fullmatch(match[0])
            if reference is None and _has_places(keys) and _PLACE.fullmatch(match[0]):
                continue
            if reference is None:
                yield _not_understood(match[0], scalar, keys)
            elif reference[1] not in env:
                message = VARIABLE_NOT_SET(name=reference[1])
                yield Problem(scalar.mark, where, message, nearest(reference[1], env))
            elif is_short(env[reference[1]]):
                yield Problem(scalar.mark, where, SECRET_SHORT(name=reference[1], shortest=SHORTEST))
