"""Secrets: named in a plan as `${env:NAME}`, known only in memory, written nowhere.

A plan is copied into every run's directory as it is written, so a password in it is a mistake, not a risk to
manage.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from loadcell.model.message import MessageError, as_written
from loadcell.plan.messages import (
    INVALID,
    PASSWORD_WRITTEN,
    SECRET_MISSING,
    SECRET_WRITTEN,
    VARIABLE_NOT_SET,
)
from loadcell.plan.nodes import Keys, Node, scalars
from loadcell.plan.problems import Problem, nearest, shown

#: How a plan refers to a secret.
_FORM = "${env:NAME}"
REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_ANY_REFERENCE = re.compile(r"\$\{[^}]*\}?")
#: What a workload fills in for itself (`/get?key=${key}`): a name without a colon is no reference to a secret
#: there.
_PLACE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_WITH_PLACES = ("workload", "workloads")
_FACTORS = ("factors", "cross")
_SECRET_KEY = re.compile(r"(^|[_.-])(password|passwd|pwd|passphrase|secret|token|pgpassword)$", re.IGNORECASE)
_IN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/@:\s]*:(?P<secret>[^@\s]+)@")
_IN_WORDS = re.compile(
    r"(?:^|[\s?&;,'\"])-{0,2}(?:pg|ssl)?(?:password|passwd|pwd)\s*=\s*(?P<secret>'[^']*'|[^\s&;]+)",
    re.IGNORECASE,
)


class MissingSecretError(MessageError, ValueError):
    """A secret was asked for whose environment variable is not set."""


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
            self._values[self._env[name]] = match[0]
            return self._env[name]

        return REFERENCE.sub(value, text)

    def redact(self, text: str) -> str:
        """`text` with every secret revealed so far replaced by the reference it came from."""
        for secret in sorted(self._values, key=len, reverse=True):
            for form in (secret, quote(secret, safe="")):
                if form:
                    text = text.replace(form, self._values[secret])
        return text


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


def is_secret_key(key: str) -> bool:
    """True if a setting of this name holds a secret."""
    return _SECRET_KEY.search(key) is not None


def holds_literal(text: str) -> bool:
    """True if a text (a DSN, a command line) holds a password written out."""
    for pattern in (_IN_URL, _IN_WORDS):
        for match in pattern.finditer(text):
            literal = REFERENCE.sub("", match["secret"].strip("'\""))
            if literal:
                return True
    return False


def problems_of(root: Keys, env: Mapping[str, str]) -> Iterator[Problem]:
    """Passwords written out, references that are not understood, and variables that are not set."""
    for key, entry in root.entries.items():
        if key not in ("title", "question"):
            yield from _problems_below(entry.node, (key,), env)


def _has_places(keys: tuple[str, ...]) -> bool:
    """True if a workload is set there, by itself or by a level of a factor."""
    sections = keys[1:] if keys[0] in _FACTORS else keys[:1]
    return any(key.partition(".")[0] in _WITH_PLACES for key in sections)


def _problems_below(node: Node, path: tuple[str, ...], env: Mapping[str, str]) -> Iterator[Problem]:
    for keys, scalar in scalars(node, path):
        where = ".".join(keys)
        text = scalar.text
        if is_secret_key(keys[-1]):
            if scalar.value is not None and REFERENCE.sub("", text):
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
                message = INVALID(value=shown(match[0]), allowed=as_written(_FORM))
                yield Problem(scalar.mark, where, message)
            elif reference[1] not in env:
                message = VARIABLE_NOT_SET(name=reference[1])
                yield Problem(scalar.mark, where, message, nearest(reference[1], env))
