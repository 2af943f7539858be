"""Data files of the workload `sql`, loaded into a real PostgreSQL and a real MariaDB."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from loadcell.workloads.sql import Sql, SqlOptions, stores
from loadcell.workloads.sql.loading import LoadError, prepare
from mariadb import MariadbServer
from servers import PostgresServer

SCHEMA = """-- The shop.
CREATE TABLE customers (id int PRIMARY KEY, name varchar(100) NOT NULL, city varchar(50));
CREATE TABLE orders (
    id int PRIMARY KEY,
    customer_id int NOT NULL,
    status varchar(20) NOT NULL DEFAULT 'new',
    total numeric(10,2)
);
"""
CUSTOMERS = 'id,name,city\n1,"Müller, ""Jo"" \\",Köln\n2,王,\n3,\'x\',"Rome\nnorth"\n'
_numbers = itertools.count()


@dataclass
class Database:
    """An empty database, and a directory with files for it."""

    server: PostgresServer | MariadbServer
    name: str
    home: Path
    options: dict[str, Any]

    def load(self, *files: Any, before_treatment: tuple[str, ...] = ()) -> int:
        """Load files as the worker does; returns the number of rows of CSV and Parquet files."""
        data = {"data": {"files": list(files)}, "before-treatment": before_treatment}
        context = {"directory": self.home}
        options = SqlOptions.model_validate({**data, "statements": ["SELECT 1"]}, context=context)
        spec = {"target": self.server.endpoint(self.name, **self.options), "workload": Sql(options).loading()}
        return int(json.loads(prepare(json.dumps(spec), lambda line: None))["rows"])

    def refused(self, *files: Any, **other: Any) -> str:
        with pytest.raises(LoadError) as caught:
            self.load(*files, **other)
        assert caught.value.advice or caught.value.message.code
        return caught.value.finding.replace(f"{self.home}/", "")

    def file(self, name: str, text: str | bytes) -> str:
        (self.home / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.sql(statement, database=self.name)


@pytest.fixture(params=["postgres", "mariadb"])
def database(
    request: pytest.FixtureRequest,
    postgres_server: PostgresServer,
    mariadb_server: MariadbServer,
    tmp_path: Path,
) -> Iterator[Database]:
    name = f"files_{next(_numbers)}"
    server = postgres_server if request.param == "postgres" else mariadb_server
    server.sql(f"CREATE DATABASE {name}" + (" CHARACTER SET utf8mb4" if server is mariadb_server else ""))
    yield Database(server, name, tmp_path, {})
    server.sql(f"DROP DATABASE {name}")


@pytest.fixture
def shop(database: Database) -> Database:
    database.file("schema.sql", SCHEMA)
    database.file("customers.csv", CUSTOMERS)
    return database


def is_postgres(database: Database) -> bool:
    return isinstance(database.server, PostgresServer)


def test_sql_and_csv_files_are_loaded_in_their_order(shop: Database) -> None:
    shop.file("orders.csv", "customer_id,ID,total\r\n1,10,9.50\r\n2,11,\r\n")
    assert shop.load("schema.sql", "customers.csv", "orders.csv") == 5
    assert shop.sql("SELECT * FROM customers ORDER BY id") == [
        (1, 'Müller, "Jo" \\', "Köln"),
        (2, "王", None),
        (3, "'x'", "Rome\nnorth"),
    ]
    orders = shop.sql("SELECT id, customer_id, status, total FROM orders ORDER BY id")
    assert [(*row[:3], None if row[3] is None else float(row[3])) for row in orders] == [
        (10, 1, "new", 9.5),
        (11, 2, "new", None),
    ]


def test_a_table_delimiter_and_null_can_be_named(shop: Database) -> None:
    shop.file("export.tsv", "\ufeffid\tname\tcity\n7\tA,B\t-\n")
    assert shop.load("schema.sql", {"file": "export.tsv", "table": "customers", "null": "-"}) == 1
    assert shop.sql("SELECT * FROM customers") == [(7, "A,B", None)]


def test_parquet_files_are_loaded(shop: Database) -> None:
    with duckdb.connect() as engine:
        engine.sql(
            "SELECT 1::BIGINT AS id, 'a,\"b\"' AS name, NULL::VARCHAR AS city UNION ALL SELECT 2, 'c', 'd'"
        ).write_parquet(str(shop.home / "customers.parquet"))
    assert shop.load("schema.sql", "customers.parquet") == 2
    assert shop.sql("SELECT * FROM customers ORDER BY id") == [(1, 'a,"b"', None), (2, "c", "d")]


def test_what_is_no_parquet_is_named(shop: Database) -> None:
    shop.file("customers.parquet", "id,name\n1,a\n")
    assert shop.refused("schema.sql", "customers.parquet").startswith("cannot read customers.parquet as")


def test_an_index_is_made_behind_the_files_and_tables_are_analyzed(shop: Database) -> None:
    shop.load("schema.sql", "customers.csv", before_treatment=("CREATE INDEX by_city ON customers (city)",))
    if is_postgres(shop):
        assert shop.sql("SELECT reltuples, relhasindex FROM pg_class WHERE relname = 'customers'") == [
            (3.0, True)
        ]
        assert shop.sql("SELECT count(*) FROM pg_stats WHERE tablename = 'customers'") == [(3,)]
    else:
        assert shop.sql("SHOW INDEX FROM customers WHERE Key_name = 'by_city'")
    wrong = shop.refused("schema.sql", before_treatment=("CREATE INDEX x ON nothing (a)",))
    assert "already exists" in wrong  # the schema is loaded twice


def test_a_syntax_error_has_file_line_and_the_servers_message(shop: Database) -> None:
    shop.file("wrong.sql", "-- first\nSELECT 1;\n\nCREATE TABLE t (\n  id int,\n  a int NOT NUL\n);\n")
    error = shop.refused("schema.sql", "wrong.sql")
    if is_postgres(shop):
        assert error == 'cannot load wrong.sql, line 6: syntax error at or near "NUL"'
    else:
        assert error.startswith("cannot load wrong.sql, line 6: You have an error in your SQL syntax")


def test_a_refused_statement_has_its_line(shop: Database) -> None:
    shop.file(
        "rows.sql",
        "INSERT INTO customers VALUES (1, 'a', NULL);\nINSERT INTO customers\nVALUES (1, 'b', NULL);",
    )
    error = shop.refused("schema.sql", "rows.sql")
    assert error.startswith("cannot load rows.sql, line 2: ")
    assert "uplicate" in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,name,city\n1,a\n", "line 2: "),
        ("id,name,city\n1,a,b,c\n", "line 2: "),
        ("id,name,city\n1,a,\nx,b,\n", "line 3: "),
        ("id,name,town\n1,a,b\n", "has a column town, which table customers does not have; its columns are"),
        ("id,nmae\n1,a\n", "has a column nmae, which table customers does not have; did you mean name?"),
        ("id,city\n1,a\n", "lacks columns that table customers requires: name"),
    ],
)
def test_rows_and_columns_that_do_not_fit_are_named(shop: Database, text: str, message: str) -> None:
    shop.file("customers.csv", text)
    error = shop.refused("schema.sql", "customers.csv")
    assert "customers.csv" in error
    assert message in error, error


def test_an_unknown_table_is_named(shop: Database) -> None:
    shop.file("costumers.csv", "id\n1\n")
    shop.file("zebra.csv", "id\n1\n")
    assert shop.refused("zebra.csv") == (
        "zebra.csv belongs to table zebra, which does not exist; there are no tables yet"
    )
    error = "costumers.csv belongs to table costumers, which does not exist; did you mean customers?"
    assert shop.refused("schema.sql", "costumers.csv") == error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1;\nSELECT 'x", "wrong.sql: the quote or comment that starts in line 2 is not closed"),
        (b"SELECT '\xff';", "wrong.sql: byte 8 is not UTF-8"),
        (
            "\nDROP DATABASE shop;",
            "wrong.sql, line 2 would change objects outside the data set: DROP DATA",
        ),
        ("\\i other.sql\n", "wrong.sql, line 1: \\i other.sql is a command of psql"),
    ],
)
def test_sql_that_cannot_be_executed_is_named(shop: Database, text: str | bytes, message: str) -> None:
    shop.file("wrong.sql", text)
    assert message in shop.refused("wrong.sql")


@pytest.mark.parametrize(
    "statement",
    ["USE mysql", "DROP TABLE IF EXISTS `shop`.`orders`", "INSERT INTO shop.t SELECT 1", "CREATE DATABASE x"],
)
def test_other_databases_of_a_mysql_server_are_left_alone(shop: Database, statement: str) -> None:
    shop.file("other.sql", statement + ";")
    if is_postgres(shop):
        shop.options["options"] = "-c search_path=loadcell"
        shop.sql("CREATE SCHEMA loadcell")
    assert "would change objects outside the data set" in shop.refused("other.sql")


def test_texts_that_look_like_secrets_or_formats_stay_as_they_are(shop: Database) -> None:
    shop.file("texts.sql", "INSERT INTO customers VALUES (5, '${env:HOME} %s %(a)s {x}', ':y');")
    shop.file("customers.csv", "id,name\n6,${env:PATH} %s\n")
    shop.load("schema.sql", "texts.sql", "customers.csv")
    assert shop.sql("SELECT name FROM customers ORDER BY id") == [
        ("${env:HOME} %s %(a)s {x}",),
        ("${env:PATH} %s",),
    ]


def test_a_dump_of_postgresql_is_loaded(shop: Database) -> None:
    if not is_postgres(shop):
        return
    shop.file(
        "dump.sql",
        "\\restrict x\nSELECT pg_catalog.set_config('search_path', '', false);\n"
        "CREATE TABLE public.cities (name text, size int);\n"
        "COPY public.cities (name, size) FROM stdin;\nRome\t3\nK\\tln\t\\N\n\\.\n\n"
        "ALTER TABLE ONLY public.cities ADD CONSTRAINT c PRIMARY KEY (name);\n\\unrestrict x\n",
    )
    shop.file("cities.csv", "name\nOslo\n")
    assert shop.load("dump.sql", "cities.csv") == 1
    assert shop.sql("SELECT * FROM cities ORDER BY 1") == [("K\tln", None), ("Oslo", None), ("Rome", 3)]
    shop.file("wrong.sql", "COPY cities FROM stdin;\nA\t1\nB\tx\n\\.\n")
    assert shop.refused("wrong.sql").startswith("cannot load wrong.sql, line 3: invalid input syntax")


def test_a_server_without_load_data_local_gets_inserts(shop: Database) -> None:
    if is_postgres(shop):
        return
    rows = "".join(f"{number},name {number},\n" for number in range(4, 2504))
    shop.file("customers.csv", CUSTOMERS + rows)
    shop.server.sql("SET GLOBAL local_infile = OFF")
    try:
        assert shop.load("schema.sql", "customers.csv") == 2503
        assert shop.sql("SELECT count(*), count(city) FROM customers") == [(2503, 2)]
        assert shop.sql("SELECT name FROM customers WHERE id = 1") == [('Müller, "Jo" \\',)]
        shop.file("orders.csv", "id,customer_id\n1,1\n2,2\n2,3\n")
        assert "orders.csv, line 4: Duplicate entry" in shop.refused("orders.csv")
        shop.file("orders.csv", "id,customer_id\n5\n")
        assert "orders.csv, line 2: 1 columns instead of 2" in shop.refused("orders.csv")
    finally:
        shop.server.sql("SET GLOBAL local_infile = ON")


def test_a_server_gets_no_other_file_than_that_of_the_statement(
    shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile server answers LOAD DATA with the name of another file."""
    if is_postgres(shop):
        return

    def other(text: str) -> str:
        return "'/etc/hostname'" if text.endswith("customers.csv") else f"'{text}'"

    monkeypatch.setattr(stores, "_literal", other)
    assert "the server asked for a different file" in shop.refused("schema.sql", "customers.csv")
