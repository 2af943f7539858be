"""PostgreSQL as a target: run by loadcell from its own or the machine's binaries, or standing already."""

from __future__ import annotations

from loadcell.targets.postgres.options import PostgresOptions
from loadcell.targets.postgres.target import Postgres

PART = Postgres

__all__ = ["PART", "Postgres", "PostgresOptions"]
