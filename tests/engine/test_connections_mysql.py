"""Connections to a real MariaDB: how they are secured, refused, lost and had again."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.loads import MS, SECOND, Event, failure, prepare, run
from engine.local_data import CASES, assert_equal_rows
from loadcell.systems.base import Secret
from loadcell.systems.mysql.connection import Address, rows
from loadcell.systems.shared.server_errors import DOING_READ_SETTINGS
from mariadb import MariadbServer

DATA = {"tables": 1, "table_size": 500, "script": "oltp_point_select"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A key and a self-signed certificate for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
    ]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return key.read_bytes(), cert.read_bytes()


@pytest.fixture(scope="module")
def secured(certificate: tuple[bytes, bytes]) -> Iterator[MariadbServer]:
    """A server with TLS, a user who must use it, and a few connections only."""
    init = (
        "CREATE USER tls@'%' IDENTIFIED BY 'secret' REQUIRE SSL;\nGRANT ALL ON *.* TO tls@'%';\n"
        "INSTALL SONAME 'auth_ed25519';\nCREATE USER ed@'%' IDENTIFIED VIA ed25519 USING "
        "PASSWORD('secret');\n"
        "CREATE DATABASE IF NOT EXISTS d;\n"
    )
    server = MariadbServer({"max_connections": "12"}, init=init)
    key, cert = certificate
    server.settings["ssl-key"] = str(server.write_file("key.pem", key))
    server.settings["ssl-cert"] = str(server.write_file("cert.pem", cert))
    with server:
        prepare(server.endpoint("d"), DATA)
        yield server


@pytest.mark.parametrize(
    ("user", "sslmode", "encrypted"),
    [
        ("test", "disable", False),
        ("test", "allow", False),
        ("test", "prefer", True),
        ("tls", "allow", True),
        ("tls", "require", True),
        ("tls", "verify-full", True),
    ],
)
def test_tls_is_used_as_the_mode_says(
    secured: MariadbServer,
    tmp_path: Path,
    certificate: tuple[bytes, bytes],
    user: str,
    sslmode: str,
    encrypted: bool,
) -> None:
    roots = tmp_path / "roots.pem"
    roots.write_bytes(certificate[1])
    verify = {"sslrootcert": str(roots)} if sslmode.startswith("verify") else {}

    before = secured.encrypted()
    cost = secured.encrypted() - before  # of the question itself
    result = run(secured.endpoint("d", user=user, sslmode=sslmode, **verify), DATA, clients=2)
    assert result["outcome"] == "completed", result
    assert result["lifetime"]["failed"] == 0
    assert secured.encrypted() - before - 2 * cost >= (2 if encrypted else 0)
    if not encrypted:
        assert secured.encrypted() - before == 3 * cost


def test_data_are_loaded_by_tls(secured: MariadbServer) -> None:
    secured.sql("CREATE DATABASE encrypted")
    account = prepare(secured.endpoint("encrypted", user="tls", sslmode="require"), DATA)
    assert account["rows"] == DATA["tables"] * DATA["table_size"]


def test_a_certificate_that_nobody_vouches_for_is_refused(secured: MariadbServer) -> None:
    result = run(secured.endpoint("d", sslmode="verify-full"), DATA, clients=1)
    assert (result["outcome"], "certificate" in result["reason"]) == ("connect-failed", True), result


@pytest.mark.parametrize(
    ("change", "words", "advice"),
    [
        ({"password": "wrong"}, "Access denied", "password"),
        ({"user": "tls"}, "Access denied", "user"),
        ({"database": "nowhere"}, "Unknown database", "database"),
        ({"user": "ed", "password": "wrong"}, "Access denied", "password"),
    ],
)
def test_a_login_that_is_refused_says_why(
    secured: MariadbServer, change: dict[str, str], words: str, advice: str
) -> None:
    endpoint = {**secured.endpoint("d"), **change}
    result = run(endpoint, DATA, clients=1)
    assert result["outcome"] == "connect-failed"
    assert words in result["reason"]
    assert advice in result["advice"]
    problem = failure(lambda: prepare(endpoint, DATA), "mysql")
    assert words in problem["finding"]
    assert advice in problem["advice"]


def test_more_clients_than_connections_names_the_setting(secured: MariadbServer) -> None:
    result = run(secured.endpoint("d"), DATA, clients=20)
    assert result["outcome"] == "connect-failed"
    assert "Too many connections" in result["reason"]
    assert "max_connections" in result["advice"]


def test_prepared_statements_that_are_too_many_name_the_setting(secured: MariadbServer) -> None:
    secured.sql("SET GLOBAL max_prepared_stmt_count = 3")
    try:
        result = run(secured.endpoint("d"), DATA, clients=5)
    finally:
        secured.sql("SET GLOBAL max_prepared_stmt_count = 16382")
    assert result["outcome"] == "connect-failed"
    assert "max_prepared_stmt_count" in result["advice"]


@pytest.mark.parametrize("password", ["secret", "a password of more than thirty-two bytes, 密码"])
def test_ed25519_is_spoken(secured: MariadbServer, password: str) -> None:
    secured.sql(f"ALTER USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{password}')")
    secured.sql("GRANT ALL ON *.* TO ed@'%'")
    endpoint = secured.endpoint("d", user="ed", password=password)
    result = run(endpoint, DATA, clients=2, duration_ns=200 * MS)
    assert (result["outcome"], result["lifetime"]["failed"]) == ("completed", 0), result
    address = Address("127.0.0.1", secured.port, "ed", password=Secret(password), sslmode="disable")
    with address.session(DOING_READ_SETTINGS(), during="up") as connection:
        assert rows(connection, "SELECT current_user()") == [("ed@%",)]


@pytest.mark.parametrize(("workload", "options", "table"), CASES)
def test_a_server_that_takes_no_local_data_gets_the_same_rows(
    secured: MariadbServer, workload: str, options: dict[str, Any], table: str
) -> None:
    """MySQL 8 has `local_infile` off."""
    assert_equal_rows(secured, workload, options, table)


def test_the_socket_is_spoken_to_as_well(secured: MariadbServer) -> None:
    result = run(
        secured.endpoint("d", host=None, socket=str(secured.socket), sslmode="require"), DATA, clients=2
    )
    assert (result["outcome"], result["lifetime"]["failed"]) == ("completed", 0), result


def test_connections_that_are_killed_are_made_again() -> None:
    with MariadbServer() as server:
        server.sql("CREATE DATABASE d")
        prepare(server.endpoint("d"), DATA)
        killer = threading.Timer(0.3, lambda: server.sql("KILL USER loader"))
        server.sql("CREATE USER loader@'%' IDENTIFIED BY 'secret'")
        server.sql("GRANT ALL ON d.* TO loader@'%'")

        def on_event(event: Event) -> None:
            if event["type"] == "phase" and event["phase"] == "measure":
                killer.start()

        result = run(
            server.endpoint("d", user="loader"), DATA, clients=3, duration_ns=2 * SECOND, on_event=on_event
        )
        killer.join()
        assert result["outcome"] == "completed", result
        assert result["client"]["reconnects"] >= 3
        assert result["lifetime"]["failed"] <= 3


def test_a_server_that_dies_under_load_is_lost() -> None:
    with MariadbServer() as server:
        server.sql("CREATE DATABASE d")
        prepare(server.endpoint("d"), DATA)
        killed = threading.Event()

        def on_event(event: Event) -> None:
            if event["type"] == "interval" and event["phase"] == "measure" and not killed.is_set():
                killed.set()
                server.kill()

        began = time.monotonic()
        result = run(
            server.endpoint("d"),
            DATA,
            clients=3,
            duration_ns=60 * SECOND,
            lost_ns=500 * MS,
            on_event=on_event,
        )
        assert result["outcome"] == "lost", result
        assert time.monotonic() - began < 50
        assert result["advice"]


def test_a_load_of_data_whose_server_dies_is_an_error() -> None:
    with MariadbServer() as server:
        server.sql("CREATE DATABASE d")

        def on_event(event: Event) -> None:
            if event.get("done_rows"):
                server.kill()

        big = {"tables": 1, "table_size": 5_000_000}
        problem = failure(lambda: prepare(server.endpoint("d"), big, on_event=on_event))
        assert problem["code"] == "connection"
