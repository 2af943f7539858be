"""Targets of drafted plans that are existing databases, without any password."""

from __future__ import annotations

from urllib.parse import quote

from loadcell.drafting.document import Section
from loadcell.model.message import Message, MessageCode

DRAFT_PASSWORD = MessageCode("draft.password", "info", variable=str)

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
    options = Section(server="external", dsn=dsn or "dbname=postgres")
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
