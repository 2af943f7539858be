"""Databases that a command line names by a URL or by libpq's words, and the passwords in these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from loadcell import parts
from loadcell.cli import language, messages
from loadcell.cli.adhoc import Hidden
from loadcell.plan import secrets as plan_secrets

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject
    from loadcell.systems.base import DatabaseUrl

_PASSWORD_WORD = re.compile(r"(^|\s)password\s*=\s*('(?P<quoted>(?:[^'\\]|\\.)*)'|(?P<plain>\S+))")


def databases() -> dict[str, DatabaseUrl]:
    """URLs of databases, by the target they mean."""
    return {
        name: url
        for name, target in parts.installed().targets.items()
        if (url := getattr(target, "database_url", None)) is not None
    }


def target(dsn: str, env: Mapping[str, str]) -> tuple[JsonObject, str, list[Hidden]]:
    """The target, how a DSN is shown, and the password in it, if there is one.

    Raises CallError for what is none.
    """
    scheme, colon, _ = dsn.partition("://")
    matches = [
        (kind, url)
        for kind, url in databases().items()
        if (scheme in (*url.schemes, *url.aliases) if colon else url.keywords and "=" in dsn)
    ]
    if not matches:
        raise language.CallError(messages.CALL_NO_DSN(dsn=repr(_shown(dsn))))
    kind, url = matches[0]
    clean, password = _without_password(dsn) if colon else _without_password_word(dsn)
    if colon and scheme in url.aliases:
        clean = url.schemes[0] + clean.removeprefix(scheme)
    variable = url.password_variable
    settings: JsonObject = {"server": "external", url.option: clean}
    if password is not None or variable in env:
        settings["password"] = f"${{env:{variable}}}"
    return {kind: settings}, clean, [] if password is None else [Hidden(dsn, clean, variable, password)]


def _without_password(url: str) -> tuple[str, str | None]:
    """A URL without its password, and that; one that stands for a variable stays."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise language.CallError(messages.CALL_INVALID_DSN(dsn=repr(_shown(url)), reason=error)) from None
    user, colon, password = parts.netloc.rpartition("@")[0].partition(":")
    if not colon or not password or plan_secrets.REFERENCE.fullmatch(password):
        return url, None
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}@{host}" if user else host)), unquote(password)


def _without_password_word(dsn: str) -> tuple[str, str | None]:
    """The same of libpq's `key=value` form."""
    match = _PASSWORD_WORD.search(dsn)
    if match is None:
        return dsn, None
    quoted = match["quoted"]
    value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else match["plain"]
    if plan_secrets.REFERENCE.fullmatch(value):
        return dsn, None
    return (dsn[: match.start()] + dsn[match.end() :]).strip(), value


def _shown(dsn: str) -> str:
    """The printable part of a DSN: without its password."""
    return re.sub(r":[^:@/]*@", ":...@", _PASSWORD_WORD.sub(" password=...", dsn))
