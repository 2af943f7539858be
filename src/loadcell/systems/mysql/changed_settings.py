"""Settings of a MariaDB or MySQL that somebody changed from the server's own defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from loadcell.plan.secret_patterns import is_secret_name
from loadcell.systems.mysql import driver
from loadcell.systems.mysql.connection import rows

if TYPE_CHECKING:
    from loadcell.systems.mysql.connection import Connection

#: MariaDB's `AUTO` and MySQL's `COMPILED` are the server's own choice.
_CHANGED = {
    "MariaDB": "SELECT LOWER(variable_name) FROM information_schema.system_variables "
    "WHERE global_value_origin IN ('CONFIG', 'SQL')",
    "MySQL": "SELECT LOWER(variable_name) FROM performance_schema.variables_info "
    "WHERE variable_source <> 'COMPILED'",
}


def changed_settings(connection: Connection, product: str, effective: Mapping[str, str]) -> set[str]:
    """Names of the changed settings among those in effect, without paths and what may hold a secret.

    Empty where the server does not tell: by its version, or for lack of a privilege.
    """
    try:
        names = {str(name) for (name,) in rows(connection, _CHANGED[product])}
    except driver.MySQLError:
        return set()
    return {
        name
        for name in names & effective.keys()
        if not is_secret_name(name) and not effective[name].startswith("/")
    }
