"""Rows loaded with and without `LOAD DATA LOCAL INFILE`, which a server may refuse."""

from __future__ import annotations

from typing import Any

from mariadb import MariadbServer

from .loads import prepare

#: A workload, options of its data, and a table to compare.
CASES = [
    ("sysbench", {"tables": 2, "table_size": 3000, "script": "oltp_point_select"}, "sbtest2"),
    ("tpcc", {"warehouses": 1}, "bmsql_customer"),
]


def assert_equal_rows(server: MariadbServer, workload: str, options: dict[str, Any], table: str) -> None:
    """Load the data in both ways; number and checksum of the rows must be equal."""
    sums = []
    [(default,)] = server.sql("SELECT @@GLOBAL.local_infile")
    for state in ("OFF", "ON"):
        database = f"infile_{workload}_{state}"
        server.sql(f"CREATE DATABASE {database}")
        server.sql(f"SET GLOBAL local_infile = {state}")
        try:
            account = prepare(server.endpoint(database), options, workload=workload)
        finally:
            server.sql(f"SET GLOBAL local_infile = {default}")
        [(_, checksum)] = server.sql(f"CHECKSUM TABLE {table}", database=database)
        sums.append((account["rows"], checksum))
        server.sql(f"DROP DATABASE {database}")
    assert sums[0] == sums[1]
    assert sums[0][0] > 0
