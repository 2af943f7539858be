"""The used part of psycopg, loaded at the first use of one of these names (`loadcell.lazy`)."""

from psycopg import Connection, Error, connect, errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import DiagnosticField, ExecStatus

__all__ = [
    "Connection",
    "DiagnosticField",
    "Error",
    "ExecStatus",
    "connect",
    "conninfo_to_dict",
    "errors",
    "sql",
]
