"""Getting in: every way to prove who one is, TLS and its refusals, and servers that go and come back."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.loads import MS, SECOND, Event, Result, assert_counted, failure, operation, prepare, run
from servers import PostgresServer, free_port

PASSWORD = "correct-horse"
POINTS = {"script": "oltp_point_select", "table_size": 1_000}


def openssl(*arguments: str, cwd: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA (`ca.pem`), another one (`other.pem`), and a server's certificate for 127.0.0.1 (`server.pem`,
    `.key`).
    """
    path = tmp_path_factory.mktemp("certificates")
    for name in ("ca", "other"):
        openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"),
            *("-keyout", f"{name}.key", "-out", f"{name}.pem"),
            cwd=path,
        )
    openssl(
        *(
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=database",
            "-keyout",
            "server.key",
            "-out",
            "server.csr",
        ),
        cwd=path,
    )
    (path / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:database.test\n")
    openssl(
        *(
            "x509",
            "-req",
            "-in",
            "server.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
        ),
        *("-sha384", "-extfile", "names", "-out", "server.pem"),
        cwd=path,
    )
    return path


def tls_server(certificates: Path, settings: dict[str, str], hba: list[str]) -> PostgresServer:
    server = PostgresServer(settings=settings, hba=["local all all trust", *hba], password=PASSWORD)
    for name in ("server.pem", "server.key"):
        server.write_file(name, (certificates / name).read_bytes())
    return server


@pytest.fixture(scope="module")
def scram_server(certificates: Path) -> Iterator[PostgresServer]:
    """SCRAM over TLS for everybody; database `plain` without TLS only, `secure` with TLS only."""
    settings = {"ssl": "on", "ssl_cert_file": "server.pem", "ssl_key_file": "server.key"}
    hba = [
        "hostnossl plain all 127.0.0.1/32 scram-sha-256",
        "hostssl secure all 127.0.0.1/32 scram-sha-256",
        "host postgres all 127.0.0.1/32 scram-sha-256",
        "host cleartext all 127.0.0.1/32 password",
    ]
    with tls_server(certificates, settings, hba) as server:
        for database in ("plain", "secure", "cleartext"):
            server.sql(f"CREATE DATABASE {database}")
        yield server


def encrypted(server: PostgresServer, target: dict[str, Any]) -> bool:
    """Make a short load; whether its connections were encrypted, as the server saw it."""
    seen: list[Any] = []

    def look(event: Event) -> None:
        if event["type"] == "interval" and not seen:
            seen.extend(
                server.sql(
                    "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                    "WHERE application_name = 'loadcell'"
                )
            )

    prepare(target, POINTS)
    try:
        result = run(target, POINTS, on_event=look, duration_ns=SECOND)
    finally:
        server.sql("DROP TABLE IF EXISTS sbtest1", database=target["database"])
    assert result["outcome"] == "completed", result
    assert result["lifetime"]["failed"] == 0
    assert len(seen) == 1, seen
    return bool(seen[0][0])


@pytest.mark.parametrize(
    ("database", "sslmode", "expected"),
    [
        ("postgres", "disable", False),
        ("postgres", "allow", False),
        ("postgres", "prefer", True),
        ("postgres", "require", True),
        ("postgres", "verify-ca", True),
        ("postgres", "verify-full", True),
        ("plain", "prefer", False),
        ("secure", "allow", True),
        ("cleartext", "require", True),
    ],
)
def test_scram_and_tls_as_asked_for(
    scram_server: PostgresServer, certificates: Path, database: str, sslmode: str, expected: bool
) -> None:
    roots = str(certificates / "ca.pem") if sslmode.startswith("verify") else None
    target = scram_server.endpoint(database, sslmode=sslmode, sslrootcert=roots)
    assert encrypted(scram_server, target) is expected


@pytest.mark.parametrize(
    ("database", "change", "code", "part"),
    [
        ("postgres", {"sslmode": "verify-ca", "sslrootcert": "other.pem"}, "tls", "certificate"),
        (
            "postgres",
            {"sslmode": "verify-full", "sslrootcert": "ca.pem", "host": "localhost"},
            "tls",
            "certificate",
        ),
        ("postgres", {"password": "wrong"}, "28P01", "password authentication failed"),
        ("postgres", {"password": None}, "28P01", "none was given"),
        ("nowhere", {}, "28000", "nowhere"),
        ("secure", {"sslmode": "disable"}, "28000", "no encryption"),
        ("plain", {"sslmode": "require"}, "28000", "SSL"),
    ],
)
def test_refusals_are_findings(
    scram_server: PostgresServer,
    certificates: Path,
    database: str,
    change: dict[str, Any],
    code: str,
    part: str,
) -> None:
    if change.get("sslrootcert"):
        change = {**change, "sslrootcert": str(certificates / change["sslrootcert"])}
    target = {**scram_server.endpoint(database), **change}
    problem = failure(lambda: prepare(target, POINTS), "postgres")
    assert problem["code"] == code, problem
    assert part.lower() in problem["finding"].lower()
    assert problem["advice"]
    result = run(target, POINTS)
    assert result["outcome"] == "connect-failed"
    assert part.lower() in result["reason"].lower()
    assert result["advice"]


def test_channel_binding_with_a_certificate_of_another_hash(
    certificates: Path, scram_server: PostgresServer
) -> None:
    # The certificate is signed with SHA-384. A server that offers SCRAM-SHA-256-PLUS refuses a client that
    # could bind and says it was not offered; and refuses wrong binding data. To get in is to have bound
    # rightly.
    target = scram_server.endpoint("postgres", sslmode="require")
    assert encrypted(scram_server, target)


def test_md5() -> None:
    hba = ["local all all trust", "host all all 127.0.0.1/32 md5"]
    with PostgresServer(settings={"password_encryption": "md5"}, hba=hba, password=PASSWORD) as server:
        assert server.sql("SELECT rolpassword LIKE 'md5%' FROM pg_authid WHERE rolname = 'postgres'") == [
            (True,)
        ]
        assert encrypted(server, server.endpoint()) is False
        problem = failure(lambda: prepare(server.endpoint(password="wrong"), POINTS))
        assert problem["code"] == "28P01"


def test_a_unix_socket(postgres_server: PostgresServer, database: str) -> None:
    for socket in (postgres_server.root, postgres_server.root / f".s.PGSQL.{postgres_server.port}"):
        target = postgres_server.endpoint(database, socket=str(socket), sslmode="require")
        prepare(target, POINTS)
        result = run(target, POINTS)
        assert (result["outcome"], result["lifetime"]["failed"]) == ("completed", 0)
        postgres_server.sql("DROP TABLE sbtest1", database=database)


def test_data_that_is_missing_is_known_before_the_load(
    postgres_server: PostgresServer, database: str
) -> None:
    result = run(postgres_server.endpoint(database), POINTS)
    assert result["outcome"] == "connect-failed"
    assert "sbtest1" in result["reason"]
    assert "load the data" in result["advice"]


def test_no_server_is_reported(postgres_server: PostgresServer) -> None:
    result = run({**postgres_server.endpoint(), "port": free_port()}, POINTS, lost_ns=SECOND)
    assert result["outcome"] == "connect-failed"
    assert "refused" in result["reason"].lower()


def test_too_many_clients_are_said() -> None:
    with PostgresServer(settings={"max_connections": "5"}) as server:
        prepare(server.endpoint(), {**POINTS, "load_workers": 1})
        result = run(server.endpoint(), POINTS, clients=10, lost_ns=SECOND)
    assert result["outcome"] == "connect-failed"
    assert "too many clients" in result["reason"]
    assert "max_connections" in result["advice"]


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_server_that_goes_and_comes_back(how: str) -> None:
    with PostgresServer() as server:
        # Nothing is written, so that nothing else can fail.
        reading = {"script": "oltp_read_only", "table_size": 1_000}
        prepare(server.endpoint(), reading)
        trouble: list[Event] = []

        def act(event: Event) -> None:
            if event["type"] == "interval" and event["phase"] == "measure" and event["index"] == 2:
                getattr(server, how)()
                server.restart()
            if event["type"] == "trouble":
                trouble.append(event)

        result = run(server.endpoint(), reading, on_event=act, clients=4, duration_ns=3 * SECOND)
    assert result["outcome"] == "completed", result
    assert_counted(result)
    transaction = operation(result, "transaction")
    codes = {error["code"] for error in result["errors"]}
    # A killed server says nothing, or (its last children) that it crashed; a stopped one says that it stops.
    assert codes <= {"connection", "57P01", "57P02", "57P03"}, result["errors"]
    assert 1 <= transaction["failed"] <= 4
    client = result["client"]
    assert client["reconnects"] == 4
    assert client["reconnecting_ns"] > 10 * MS
    assert trouble
    # It went on afterwards, and the time without a server is in the response times.
    assert transaction["response"]["max_ns"] > 20 * MS
    assert result["queries"]["total"] == 16 * transaction["succeeded"]


def conflicts(server: PostgresServer, database: str, *, max_retries: int, **sysbench: Any) -> Result:
    options = "-c default_transaction_isolation=serializable -c deadlock_timeout=5ms"
    target = server.endpoint(database, options=options)
    few = {"script": "oltp_write_only", "table_size": 10, **sysbench}
    prepare(target, few)
    return run(target, few, clients=8, threads=2, duration_ns=SECOND, max_retries=max_retries)


def test_serialization_failures_are_retried_and_counted_apart(
    postgres_server: PostgresServer, database: str
) -> None:
    retry = ["40001", "40P01", "23505"]
    result = conflicts(postgres_server, database, max_retries=1_000, retry_sqlstates=retry)
    assert result["outcome"] == "completed"
    assert_counted(result)
    transaction = operation(result, "transaction")
    assert transaction["retried"] > 10
    assert transaction["failed"] == 0, result["errors"]
    assert transaction["succeeded"] > 10
    assert result["queries"]["total"] == 6 * transaction["succeeded"]
    # Errors of statements are reported under their operation, and none under the transaction.
    assert {error["code"] for error in result["errors"]} <= set(retry)
    assert all(error["operation"] != "transaction" for error in result["errors"])
    # What a retry undid is not counted as changed: every transaction changes at most four rows, for good.
    assert result["lifetime"]["rows_changed"] <= 4 * result["lifetime"]["transactions"]


def test_without_retries_they_are_failures(postgres_server: PostgresServer, database: str) -> None:
    result = conflicts(postgres_server, database, max_retries=0)
    transaction = operation(result, "transaction")
    assert transaction["retried"] == 0
    assert transaction["failed"] > 10
    failures = sum(error["count"] for error in result["errors"] if error["operation"] == "transaction")
    assert failures == transaction["failed"]
    assert {error["code"] for error in result["errors"]} >= {"40001"}
