"""What a PostgreSQL shows to monitors: where it is, and which of its databases the load works on."""

from __future__ import annotations

from dataclasses import dataclass

from loadcell.systems.postgres.connection import Address


@dataclass(frozen=True)
class Observed:
    """`address` is for sessions of the monitor's own, begun with `options`; `database` is the load's.

    `own` says that the server is loadcell's: the address is its superuser's.
    """

    address: Address
    database: str
    own: bool
    options: str | None = None
