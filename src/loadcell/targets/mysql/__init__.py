"""MariaDB and MySQL as a target: a MariaDB run by loadcell from the machine's binaries, or a server that stands already."""

from __future__ import annotations

from loadcell.targets.mysql.options import MysqlOptions
from loadcell.targets.mysql.target import Mysql

PART = Mysql

__all__ = ["PART", "Mysql", "MysqlOptions"]
