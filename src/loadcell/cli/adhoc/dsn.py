"""Databases that a command line names by a URL or by libpq's words, and the passwords in these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from loadcell import parts
from loadcell.cli import language, messages
from loadcell.cli.adhoc import Hidden
from loadcell.systems import dsn as dsns

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject
    from loadcell.systems.base import DatabaseUrl


def databases() -> dict[str, DatabaseUrl]:
    """URLs of databases, by the target they mean."""
    return {
        name: url
        for name, target in parts.installed().targets.items()
        if (url := target.database_url) is not None
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
    try:
        clean, password = dsns.without_password(dsn)
    except ValueError as error:
        raise language.CallError(messages.CALL_INVALID_DSN(dsn=repr(_shown(dsn)), reason=error)) from None
    if colon and scheme in url.aliases:
        clean = url.schemes[0] + clean.removeprefix(scheme)
    variable = url.password_variable
    settings: JsonObject = {"server": "external", url.option: clean}
    if password is not None or variable in env:
        settings["password"] = f"${{env:{variable}}}"
    return {kind: settings}, clean, [] if password is None else [Hidden(dsn, clean, variable, password)]


def _shown(dsn: str) -> str:
    """The printable part of a DSN: without its password."""
    return re.sub(r":[^:@/]*@", ":...@", dsns.PASSWORD_WORD.sub(" password=...", dsn))
