"""Plans drafted from the tables of real servers."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from drafting.drafted import drafted, init, refused, run
from mariadb import MariadbServer
from servers import PostgresServer

SHOP = """
    CREATE TABLE customers (id int PRIMARY KEY, name text, "Last Order" date);
    INSERT INTO customers SELECT n, 'customer ' || n, now() FROM generate_series(1, 500) n;
    CREATE TABLE orders (
        id bigint PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, total numeric, note text
    );
    INSERT INTO orders SELECT n, 1 + n % 500, n, repeat('x', 100) FROM generate_series(1, 2000) n;
    CREATE TABLE lines (order_id bigint, line int, sku text, PRIMARY KEY (order_id, line));
    INSERT INTO lines SELECT n, 1, 'sku' FROM generate_series(1, 100) n;
    CREATE TABLE sessions (id uuid PRIMARY KEY, data text);
    INSERT INTO sessions SELECT md5(n::text)::uuid, 'x' FROM generate_series(1, 50) n;
    CREATE TABLE log (message text);
    CREATE TABLE empty (id int PRIMARY KEY);
    CREATE TABLE "Ünusual; name:x" ("the key" int PRIMARY KEY, v int);
    INSERT INTO "Ünusual; name:x" VALUES (7, 1), (100007, 2);
    ANALYZE;
"""


@pytest.fixture
def shop(postgres_server: PostgresServer) -> str:
    """The DSN of a database with tables of every kind."""
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS shop")
        connection.execute("CREATE DATABASE shop")
    dsn = postgres_server.dsn("shop")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(SHOP)
    return dsn


def written(dsn: str) -> tuple[object, ...]:
    """Contents of the tables, and the number of transactions that wrote."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        query = (
            "SELECT (SELECT count(*) FROM orders), (SELECT sum(hashtext(orders::text)) FROM orders), "
            "(SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables), "
            "(SELECT count(*) FROM pg_class WHERE relkind = 'r')"
        )
        row = connection.execute(query).fetchone()
    assert row is not None
    return row


class TestPostgres:
    def test_the_largest_tables_are_read_by_primary_key(self, tmp_path: Path, shop: str) -> None:
        plan = drafted(tmp_path, "postgres", "--dsn", shop)
        work = plan["workload"]["sql"]
        assert plan["target"]["postgres"]["server"] == "external"
        statements = {item["name"]: item["sql"] for item in work["statements"]}
        assert statements["read_orders"] == "SELECT * FROM orders WHERE id = :orders_id"
        assert work["parameters"]["orders_id"] == "1..2000"
        assert statements["read_lines"] == "SELECT * FROM lines WHERE order_id = :lines_order_id LIMIT 100"
        assert statements["join_orders_customers"] == (
            "SELECT * FROM orders AS a JOIN customers AS b ON b.id = a.customer_id WHERE a.id = :orders_id"
        )
        assert work["parameters"]["sessions_id"] == {"query": "SELECT id FROM sessions LIMIT 10000"}

    def test_explanations_are_in_the_language_asked_for(self, tmp_path: Path, shop: str) -> None:
        plan = init(tmp_path, "postgres", "--dsn", shop, "--lang", "zh").stdout
        assert "title: 按主键读取 shop" in plan
        assert not re.findall("# [a-z ]{20,}", plan)

    def test_updates_are_commented_out(self, tmp_path: Path, shop: str) -> None:
        plan = init(tmp_path, "postgres", "--dsn", shop).stdout
        [line] = [line for line in plan.splitlines() if "UPDATE orders" in line]
        assert line.lstrip().startswith("#")
        (tmp_path / "plan.yaml").write_text(plan.replace("# - name", "- name").replace("#   ", "  "))
        trials = run(tmp_path, plan="plan.yaml")
        assert [trial.status for trial in trials] == ["ok"], trials[0].reason
        assert trials[0].operations["update_orders:update"].succeeded

    def test_keys_with_gaps_come_from_a_query(self, tmp_path: Path, shop: str) -> None:
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute("DROP TABLE lines, sessions; DELETE FROM orders WHERE id % 5 > 0; ANALYZE")
        parameters = drafted(tmp_path, "postgres", "--dsn", shop)["workload"]["sql"]["parameters"]
        assert parameters["orders_id"] == {"query": "SELECT id FROM orders LIMIT 10000"}
        assert parameters["_nusual__name_x_the_key"] == {
            "query": 'SELECT "the key" FROM "Ünusual; name:x" LIMIT 10000'
        }

    def test_keys_of_a_large_table_are_a_sample_of_it(self, tmp_path: Path, shop: str) -> None:
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute("""
                CREATE TABLE big (id bigint PRIMARY KEY);
                INSERT INTO big SELECT n * 10 FROM generate_series(1, 60000) n;
                ANALYZE
            """)
            query = drafted(tmp_path, "postgres", "--dsn", shop)["workload"]["sql"]["parameters"]["big_id"][
                "query"
            ]
            assert query == "SELECT id FROM big TABLESAMPLE SYSTEM (20) ORDER BY random() LIMIT 10000"
            keys = [key for (key,) in connection.execute(query)]
        assert 5_000 < len(keys) <= 10_000
        assert max(keys) > 400_000

    def test_a_user_sees_the_tables_that_it_may_read(self, tmp_path: Path, shop: str) -> None:
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute(
                "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN; GRANT SELECT ON orders TO guest"
            )
            dsn = shop.replace("postgres@", "guest@")
            work = drafted(tmp_path, "postgres", "--dsn", dsn)["workload"]["sql"]
            result = init(tmp_path, "postgres", "--dsn", dsn)
            connection.execute("DROP OWNED BY guest; DROP ROLE guest")
        assert [item["name"] for item in work["statements"]] == ["read_orders"]
        assert "customers cannot be read by this user (no right of SELECT): omitted" in result.stderr

    def test_tables_without_statements_take_no_place_of_others(self, tmp_path: Path, shop: str) -> None:
        with psycopg.connect(shop, autocommit=True) as connection:
            for number in range(6):
                connection.execute(
                    f"CREATE TABLE large_{number} AS SELECT repeat('x', 500) FROM generate_series(1, 20000)"
                )
                connection.execute(
                    f"CREATE TABLE tiny_{number} (id int PRIMARY KEY); INSERT INTO tiny_{number} VALUES (1)"
                )
            connection.execute("ANALYZE")
        work = drafted(tmp_path, "postgres", "--dsn", shop)["workload"]["sql"]
        assert "read_orders" in [item["name"] for item in work["statements"]]
        assert "tiny_4, tiny_5, " in init(tmp_path, "postgres", "--dsn", shop).stderr

    def test_looking_writes_nothing(self, tmp_path: Path, shop: str) -> None:
        before = written(shop)
        init(tmp_path, "postgres", "--dsn", shop)
        assert written(shop) == before

    def test_the_plan_runs_without_errors(self, tmp_path: Path, shop: str) -> None:
        before = written(shop)
        drafted(tmp_path, "postgres", "--dsn", shop)
        [trial] = run(tmp_path)
        assert (trial.status, trial.totals.transactions.failed) == ("ok", 0), trial.reason
        assert trial.totals.transactions.succeeded > 100
        assert written(shop) == before

    def test_tables_that_are_left_out_are_named(self, tmp_path: Path, shop: str) -> None:
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute("DROP TABLE lines, sessions")
        result = init(tmp_path, "postgres", "--dsn", shop)
        assert "log has no primary key: omitted" in result.stderr
        assert "empty is empty: omitted" in result.stderr
        assert "# - log has no primary key" in result.stdout

    def test_the_password_is_in_no_file(self, tmp_path: Path, shop: str) -> None:
        dsn = shop.replace("@", ":sesame-17@", 1)
        result = init(tmp_path, "postgres", "--dsn", dsn, "--out", "plan.yaml")
        assert result.returncode == 0, result.stderr
        plan = (tmp_path / "plan.yaml").read_text()
        assert "sesame-17" not in plan + result.stderr
        assert "${env:PGPASSWORD}" in plan

    def test_an_empty_schema(self, tmp_path: Path, shop: str) -> None:
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute('DROP TABLE lines, sessions, orders, customers, log, empty, "Ünusual; name:x"')
        assert "The database shop has no tables" in refused(tmp_path, "postgres", "--dsn", shop)

    def test_no_primary_key(self, tmp_path: Path, shop: str) -> None:
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute('DROP TABLE lines, sessions, orders, customers, empty, "Ünusual; name:x"')
        message = refused(tmp_path, "postgres", "--dsn", shop)
        assert "No table of the database shop can be read by primary key: log has no primary key" in message
        assert "loadcell sql DSN --query" in message

    def test_partitions_count_as_one_table(self, tmp_path: Path, shop: str) -> None:
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute("""
                CREATE TABLE events (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
                CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (1) TO (20000);
                CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (20000) TO (90000);
                INSERT INTO events SELECT n, repeat('y', 50) FROM generate_series(1, 30000) n;
                ANALYZE
            """)
        work = drafted(tmp_path, "postgres", "--dsn", shop)["workload"]["sql"]
        assert work["parameters"]["events_id"] == "1..30000"
        assert not any("events_1" in item["name"] for item in work["statements"])


@pytest.fixture
def mariadb_shop(mariadb_server: MariadbServer) -> str:
    """The URL of a database of MariaDB."""
    mariadb_server.sql("DROP DATABASE IF EXISTS shop")
    mariadb_server.sql("CREATE DATABASE shop")
    for statement in (
        "CREATE TABLE customers (id int PRIMARY KEY, name text)",
        "INSERT INTO customers SELECT seq, 'x' FROM seq_1_to_300",
        "CREATE TABLE orders (id bigint unsigned PRIMARY KEY AUTO_INCREMENT, customer_id int, note text, "
        "FOREIGN KEY (customer_id) REFERENCES customers (id))",
        "INSERT INTO orders (customer_id, note) SELECT 1 + seq % 300, repeat('x', 90) FROM seq_1_to_3000",
        "CREATE TABLE sessions (id char(36) PRIMARY KEY, `key` int)",
        "INSERT INTO sessions SELECT uuid(), seq FROM seq_1_to_20",
        "CREATE TABLE log (message text)",
        "ANALYZE TABLE customers, orders, sessions, log",
    ):
        mariadb_server.sql(statement, database="shop")
    return mariadb_server.url("shop")


class TestMariadb:
    def test_the_plan_runs_without_errors(self, tmp_path: Path, mariadb_shop: str) -> None:
        password = {"MYSQL_PWD": "secret"}
        dsn = mariadb_shop.replace(":secret@", "@")
        work = drafted(tmp_path, "mysql", "--dsn", dsn, **password)["workload"]["sql"]
        statements = {item["name"]: item["sql"] for item in work["statements"]}
        assert statements["read_orders"] == "SELECT * FROM `orders` WHERE `id` = :orders_id"
        assert work["parameters"]["orders_id"] == "1..3000"
        assert work["parameters"]["sessions_id"] == {"query": "SELECT `id` FROM `sessions` LIMIT 10000"}
        assert "JOIN `customers` AS b ON b.`id` = a.`customer_id`" in statements["join_orders_customers"]
        [trial] = run(tmp_path, **password)
        assert (trial.status, trial.totals.transactions.failed) == ("ok", 0), trial.reason

    def test_tables_that_may_not_be_read_are_named(
        self, tmp_path: Path, mariadb_shop: str, mariadb_server: MariadbServer
    ) -> None:
        mariadb_server.sql("CREATE OR REPLACE USER guest@'%'")
        mariadb_server.sql("GRANT SELECT ON shop.orders TO guest@'%'")
        mariadb_server.sql("GRANT INSERT ON shop.customers TO guest@'%'")
        dsn = f"mysql://guest@{mariadb_server.host}:{mariadb_server.port}/shop"
        result = init(tmp_path, "mysql", "--dsn", dsn)
        assert "customers cannot be read by this user (no right of SELECT): omitted" in result.stderr
        assert "read_orders" in result.stdout

    def test_without_a_database(self, tmp_path: Path, mariadb_server: MariadbServer) -> None:
        dsn = mariadb_server.url().replace(":secret@", "@")
        assert "names no database" in refused(tmp_path, "mysql", "--dsn", dsn, MYSQL_PWD="secret")


def test_a_database_of_another_kind(tmp_path: Path) -> None:
    message = refused(tmp_path, "mysql", "--dsn", "postgresql://me@db/shop")
    assert "loadcell init postgres --dsn" in message
    assert "redis does not accept --dsn" in refused(tmp_path, "redis", "--dsn", "postgresql://me@db/shop")
    assert "postgresql://" in refused(tmp_path, "postgres", "--dsn", "oracle://me@db/shop")
