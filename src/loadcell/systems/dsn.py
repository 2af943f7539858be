"""Passwords in the DSN of a database: a URL, or libpq's `key=value` words."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, unquote_plus, urlsplit

from loadcell.plan.secrets import REFERENCE

PASSWORD_WORD = re.compile(r"(^|\s)password\s*=\s*('(?P<quoted>(?:[^'\\]|\\.)*)'|(?P<plain>\S+))")


def without_password(dsn: str) -> tuple[str, str | None]:
    """A DSN without its password, and that; one that stands for a variable stays.

    Raises ValueError for what is no URL.
    """
    return _of_url(dsn) if "://" in dsn else _of_words(dsn)


def joined(parts: SplitResult) -> str:
    """The URL, also without a host (`postgresql:///shop`)."""
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}{parts.path}{query}"


def _of_url(url: str) -> tuple[str, str | None]:
    parts = urlsplit(url)
    user, colon, password = parts.netloc.rpartition("@")[0].partition(":")
    host = parts.netloc.rpartition("@")[2]
    if "," not in host:
        _ = parts.port
    pairs = [pair for pair in parts.query.split("&") if pair.partition("=")[0] != "password"]
    if len(pairs) < len(parts.query.split("&")):
        in_query = next(
            unquote_plus(pair.partition("=")[2]) for pair in parts.query.split("&") if pair not in pairs
        )
        clean, of_user = _of_url(joined(parts._replace(query="&".join(pairs))))
        return clean, in_query or of_user
    if not colon or not password or REFERENCE.fullmatch(password):
        return url, None
    return joined(parts._replace(netloc=f"{user}@{host}" if user else host)), unquote(password)


def _of_words(dsn: str) -> tuple[str, str | None]:
    match = PASSWORD_WORD.search(dsn)
    if match is None:
        return dsn, None
    quoted = match["quoted"]
    value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else match["plain"]
    if REFERENCE.fullmatch(value):
        return dsn, None
    return (dsn[: match.start()] + dsn[match.end() :]).strip(), value
