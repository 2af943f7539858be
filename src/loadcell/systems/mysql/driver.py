"""The used part of PyMySQL, loaded at the first use of one of these names (`loadcell.lazy`)."""

from pymysql import Error, MySQLError, connect
from pymysql.connections import Connection

__all__ = ["Connection", "Error", "MySQLError", "connect"]
