"""A server that signed its own certificate, as most servers inside a house do: the certificate is its own
root.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.loads import failure, prepare, run
from servers import PostgresServer

POINTS = {"script": "oltp_point_select", "table_size": 100}


def self_signed(folder: Path, name: str, *extensions: str) -> Path:
    """`NAME.pem` and `NAME.key`; with OpenSSL's defaults a certificate that says of itself that it is an
    authority's.
    """
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
        f"/CN={name}",
    ]
    for extension in extensions:
        command += ["-addext", extension]
    command += ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / f"{name}.pem"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`server.pem` for 127.0.0.1, and `stranger.pem` of somebody else."""
    folder = tmp_path_factory.mktemp("own")
    self_signed(folder, "server", "subjectAltName=IP:127.0.0.1")
    self_signed(folder, "stranger", "subjectAltName=IP:127.0.0.1")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[PostgresServer]:
    """It lets in only who comes with TLS."""
    settings = {"ssl": "on", "ssl_cert_file": "server.pem", "ssl_key_file": "server.key"}
    hba = ("local all all trust", "hostssl all all 127.0.0.1/32 trust")
    server = PostgresServer(settings=settings, hba=hba)
    for name in ("server.pem", "server.key"):
        server.write_file(name, (folder / name).read_bytes())
    with server:
        prepare(server.endpoint(sslmode="require"), POINTS)
        yield server


@pytest.mark.parametrize("sslmode", ["require", "verify-ca", "verify-full"])
def test_it_is_trusted_by_who_has_it_as_root(server: PostgresServer, folder: Path, sslmode: str) -> None:
    result = run(server.endpoint(sslmode=sslmode, sslrootcert=str(folder / "server.pem")), POINTS)
    assert (result["outcome"], result["lifetime"]["failed"]) == ("completed", 0), result["reason"]


@pytest.mark.parametrize("sslmode", ["require", "verify-ca", "verify-full"])
def test_it_is_a_stranger_to_who_has_another_root(server: PostgresServer, folder: Path, sslmode: str) -> None:
    result = run(server.endpoint(sslmode=sslmode, sslrootcert=str(folder / "stranger.pem")), POINTS)
    assert result["outcome"] == "connect-failed"
    assert "certificate" in result["reason"]
    assert "certificate" in result["advice"]


def test_its_name_matters_to_who_verifies_names(server: PostgresServer, folder: Path) -> None:
    target = {**server.endpoint(sslrootcert=str(folder / "server.pem")), "host": "localhost"}
    assert run({**target, "sslmode": "verify-ca"}, POINTS)["outcome"] == "completed"
    refused = run({**target, "sslmode": "verify-full"}, POINTS)
    assert refused["outcome"] == "connect-failed"
    assert "localhost" in refused["reason"]


def test_a_root_that_cannot_be_read_is_named(server: PostgresServer, folder: Path) -> None:
    for name in ("missing.pem", "server.key"):
        target = server.endpoint(sslmode="verify-full", sslrootcert=str(folder / name))
        problem = failure(lambda target=target: run(target, POINTS))  # type: ignore[misc]
        assert problem["code"] == "tls"
        assert name in problem["finding"]
        assert "PEM" in problem["advice"]
