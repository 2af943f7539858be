"""Targets of drafted plans that are existing databases, without any password."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from loadcell.drafting.document import Section
from loadcell.drafting.draft import DraftError
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.systems.dsn import joined, without_password

DRAFT_PASSWORD = MessageCode("draft.password", "info", variable=str)
DRAFT_INVALID_DSN = MessageCode("draft.invalid-dsn", reason=ForeignText)

POSTGRES_VARIABLE, MYSQL_VARIABLE = "PGPASSWORD", "MYSQL_PWD"
#: Variables of drafts for databases.
VARIABLES = frozenset({POSTGRES_VARIABLE, MYSQL_VARIABLE})


def reference(variable: str) -> str:
    """Reference of a plan to an environment variable."""
    return f"${{env:{variable}}}"


def postgres(
    host: str | None,
    port: str | None,
    user: str | None,
    database: str | None,
    *,
    has_password: bool = False,
) -> Section:
    """An existing PostgreSQL, as libpq's options name it."""
    words = {"host": host, "port": port, "user": user, "dbname": database}
    if host is not None and not host.startswith("/") and "," not in host:
        login = f"{quote(user, safe='')}@" if user else ""
        where = _host(host) + (f":{port}" if port else "")
        dsn = f"postgresql://{login}{where}/{quote(database or '', safe='')}"
    else:
        dsn = " ".join(f"{name}={_libpq(value)}" for name, value in words.items() if value)
    return _postgres(dsn or "dbname=postgres", has_password=has_password)


def postgres_dsn(dsn: str, host: str | None, port: str | None, user: str | None) -> Section:
    """An existing PostgreSQL by a DSN, which decides what libpq's options name, too. Raises DraftError."""
    try:
        clean, password = without_password(dsn)
        if "://" not in clean:
            words = {"host": host, "port": port, "user": user}
            first = [f"{name}={_libpq(value)}" for name, value in words.items() if value]
            return _postgres(" ".join([*first, clean]), has_password=password is not None)
        parts = urlsplit(clean)
        login, at, where = parts.netloc.rpartition("@")
        if not where:
            where = _host(host or "") + (f":{port}" if port else "")
        elif port and "," not in where and parts.port is None:
            where = f"{where}:{port}"
    except ValueError as error:
        raise DraftError(DRAFT_INVALID_DSN(reason=error)) from None
    login = login if at or not user else quote(user, safe="")
    netloc = f"{login}@{where}" if login else where
    return _postgres(joined(parts._replace(netloc=netloc)), has_password=password is not None)


def _postgres(dsn: str, *, has_password: bool) -> Section:
    options = Section(server="external", dsn=dsn)
    comments = () if has_password else (_password(POSTGRES_VARIABLE),)
    options.put("password", reference(POSTGRES_VARIABLE), *comments, active=has_password)
    return Section(postgres=options)


def mysql(host: str | None, port: str | None, user: str | None, *, has_password: bool) -> Section:
    """An existing MariaDB or MySQL, by its client's options."""
    where = _host(host or "127.0.0.1") + (f":{port}" if port else "")
    options = Section(server="external", url=f"mysql://{quote(user or 'root', safe='')}@{where}")
    comments = () if has_password else (_password(MYSQL_VARIABLE),)
    options.put("password", reference(MYSQL_VARIABLE), *comments, active=has_password)
    return Section(mysql=options)


def _password(variable: str) -> Message:
    return DRAFT_PASSWORD(variable=variable)


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _libpq(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'" if not value or " " in value or escaped != value else value
