"""Errors are found, named, and come with a remedy."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from loadcell.model.json import document
from loadcell.systems.base import TargetError
from loadcell.systems.postgres import databases
from loadcell.systems.postgres.server import DataDirectory, initdb_error, startup_error
from loadcell.systems.postgres.target import Postgres
from servers import PostgresServer, free_port
from systems.bench import Bench

from .conftest import DATA, ROWS, load, query

External = Callable[..., Postgres]


def trouble_of(target: Postgres) -> TargetError:
    with pytest.raises(TargetError) as caught:
        target.up()
    assert caught.value.advice
    assert caught.value.during == "up"
    return caught.value


def _certificate(directory: Path, name: str) -> tuple[bytes, bytes]:
    """A certificate that signs itself, and its key."""
    key, certificate = directory / f"{name}.key", directory / f"{name}.crt"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    return certificate.read_bytes(), key.read_bytes()


def _another_ca(directory: Path) -> str:
    _certificate(directory, "stranger")
    return str(directory / "stranger.crt")


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server that offers TLS, with a certificate for another name than it is called by."""
    with PostgresServer(
        settings={"ssl": "off"},
        hba=["local all all trust", "hostssl all all 127.0.0.1/32 trust", "host all all 127.0.0.1/32 trust"],
    ) as server:
        certificate, key = _certificate(tmp_path_factory.mktemp("tls"), "db.example")
        server.write_file("server.crt", certificate)
        server.write_file("server.key", key)
        server.sql("ALTER SYSTEM SET ssl = on")
        yield server.restart()


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "finding", "advice"),
        [
            (
                {"shared_bufers": "64MB"},
                'refused `shared_bufers: 64MB`: unrecognized configuration parameter "shared_bufers"',
                "did you mean `shared_buffers`?",
            ),
            (
                {"work_mem": "1kB"},
                "refused `work_mem: 1kB`: 1 kB is outside the valid range",
                "correct `target.postgres.settings.work_mem`",
            ),
            (
                {"wal_sync_method": "hope"},
                "refused `wal_sync_method: hope`: invalid value",
                "correct `target.postgres.settings.wal_sync_method`",
            ),
            (
                {"superuser_reserved_connections": 20, "max_connections": 10},
                "superuser_reserved_connections (20) must be less than max_connections (10)",
                "correct `target.postgres.settings.superuser_reserved_connections`",
            ),
            (
                {"shared_preload_libraries": "no_such_extension"},
                "refused `shared_preload_libraries: no_such_extension`",
                "install the extension",
            ),
        ],
    )
    def test_a_refused_setting_is_named_with_the_servers_words(
        self, shared: Bench[Postgres], settings: dict[str, str | int], finding: str, advice: str
    ) -> None:
        target = shared.target(server="local", settings=settings)
        trouble = trouble_of(target)
        assert finding in trouble.finding
        assert advice in trouble.advice
        assert not target.alive()
        assert target.processes() == []

    def test_memory_that_is_not_there(self) -> None:
        output = ["FATAL:  could not map anonymous shared memory: Cannot allocate memory"]
        trouble = startup_error(output, {"work_mem": "4MB", "shared_buffers": "4000GB"})
        assert "could not allocate memory for `shared_buffers: 4000GB`" in trouble.finding
        assert "a smaller `target.postgres.settings.shared_buffers`" in trouble.advice

    def test_what_is_not_understood_is_handed_on_in_the_servers_words(self) -> None:
        output = [
            "LOG:  starting",
            "FATAL:  the moon is in the wrong house",
            "LOG:  database system is shut down",
        ]
        assert "the moon is in the wrong house" in startup_error(output, {}).finding


class TestDataDirectory:
    def test_a_cluster_of_somebody_elses_is_refused_and_untouched(
        self, bench: Bench[Postgres], another_directory: Path
    ) -> None:
        (another_directory / "PG_VERSION").write_text("15\n")
        trouble = trouble_of(bench.target(data=str(another_directory)))
        assert "that loadcell did not create" in trouble.finding
        bench.made[0].destroy()
        assert [path.name for path in another_directory.iterdir()] == ["PG_VERSION"]

    def test_so_is_one_that_stands_where_ours_would(
        self, bench: Bench[Postgres], another_directory: Path
    ) -> None:
        theirs = another_directory / "postgres-18"
        theirs.mkdir()
        (theirs / "precious").write_text("data")
        trouble = trouble_of(bench.target(data=str(another_directory)))
        assert f"{theirs} was not created by loadcell" in trouble.finding
        bench.made[0].destroy()
        assert (theirs / "precious").read_text() == "data"

    def test_one_of_another_major_version(self, bench: Bench[Postgres], another_directory: Path) -> None:
        target = bench.up(data=str(another_directory), keep_data=True)
        target.down()
        version = another_directory / "postgres-18" / "pgdata" / "PG_VERSION"
        version.write_text("16\n")
        assert "belongs to PostgreSQL 16, but the server is 18." in trouble_of(target).finding
        version.write_text("18\n")

    def test_one_that_belongs_to_another_user(self, bench: Bench[Postgres], another_directory: Path) -> None:
        home = another_directory / "postgres-18"
        (home / "pgdata").mkdir(parents=True)
        (home / "loadcell.json").write_text(json.dumps({"made_by": "loadcell", "state": "ready"}))
        me = bench.target(data=str(another_directory))
        if os.geteuid() == 0:  # the server's user is another one; else: an owner nobody else can give away
            assert "belongs to user root, and the server would run as" in trouble_of(me).finding
        else:
            assert "has lost its contents" in trouble_of(me).finding

    def test_a_file_in_its_place(self, bench: Bench[Postgres], another_directory: Path) -> None:
        (another_directory / "file").write_text("")
        assert "is not a directory" in trouble_of(bench.target(data=str(another_directory / "file"))).finding

    def test_one_that_the_servers_user_cannot_reach(
        self, bench: Bench[Postgres], another_directory: Path
    ) -> None:
        closed = another_directory / "closed"
        closed.mkdir(mode=0o700 if os.geteuid() == 0 else 0o500)
        trouble = trouble_of(bench.target(data=str(closed / "data")))
        assert str(closed) in trouble.finding
        assert "target.postgres.data" in trouble.advice

    def test_initdb_broken_off_is_done_again(
        self, bench: Bench[Postgres], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def killed(self: DataDirectory, state: str, made_parent: bool) -> None:
            write(self, state, made_parent)
            if state == "initdb":
                raise KeyboardInterrupt

        write = DataDirectory._write_marker
        monkeypatch.setattr(DataDirectory, "_write_marker", killed)
        target = bench.target()
        with pytest.raises(KeyboardInterrupt):
            target.up()
        monkeypatch.undo()
        target.up()
        assert target.alive()


class TestPorts:
    def test_a_port_that_is_taken_meanwhile_is_changed_for_another(
        self, shared: Bench[Postgres], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            ports = iter([taken.getsockname()[1], taken.getsockname()[1], free_port()])
            monkeypatch.setattr("loadcell.systems.managed_server.free_port", lambda: next(ports))
            target = shared.up(server="local")
            assert target.endpoint().port != taken.getsockname()[1]

    def test_when_every_port_is_taken_it_says_so(
        self, shared: Bench[Postgres], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            monkeypatch.setattr("loadcell.systems.managed_server.free_port", lambda: taken.getsockname()[1])
            assert "took all ports" in trouble_of(shared.target(server="local")).finding


class TestRoom:
    """A full device, in words that servers really said: 15 and 18, on a small tmpfs."""

    @pytest.mark.parametrize(
        "output",
        [
            'FATAL:  could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 10',
            'initdb: error: could not create directory "pgdata/base/1": No space left on device',
        ],
    )
    def test_initdb(self, output: str) -> None:
        assert "no space left" in initdb_error(f"creating subdirectories ... ok\n{output}\n").finding

    def test_start(self) -> None:
        output = (
            '2026-11-21 07:19:27 UTC [1] FATAL:  could not write lock file "postmaster.pid": '
            "No space left on device"
        )
        assert "no space left" in startup_error([output], {}).finding

    def test_a_checkpoint_of_a_managed_server(
        self, bench: Bench[Postgres], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The server says that the checkpoint failed, and only its log says why."""
        target = bench.up()

        def failed(connection: psycopg.Connection[Any]) -> None:
            connection.execute("DO $$ BEGIN RAISE LOG 'could not fsync: No space left on device'; END $$")
            connection.execute("DO $$ BEGIN RAISE 'checkpoint request failed'; END $$")

        with monkeypatch.context() as patched:
            patched.setattr(databases, "checkpoint", failed)
            with pytest.raises(TargetError, match="no space left") as caught:
                target.prepare(DATA, load, will_change=False)
        assert caught.value.during == "prepare"
        with monkeypatch.context() as patched:
            patched.setattr(databases, "checkpoint", lambda connection: connection.execute("SELECT 1 / 0"))
            with pytest.raises(TargetError, match="division by zero"):
                target.prepare(DATA, load, will_change=False)
        assert target.prepare(DATA, load, will_change=False).how == "reused"

    def test_prepare(self, external: External, standing: PostgresServer) -> None:
        target = external("maker")
        target.up()

        def full(endpoint: dict[str, object]) -> dict[str, object]:
            query(target, "DO $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$")
            return {}

        with pytest.raises(TargetError, match="no space left") as caught:
            target.prepare(DATA, full, will_change=False)
        assert caught.value.during == "prepare"
        assert target.prepare(DATA, load, will_change=False).how == "loaded"
        assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)]


class TestReaching:
    """An external server that cannot be reached, or not in this way."""

    def test_a_wrong_password(self, external: External, bench: Bench[Postgres]) -> None:
        target = external("maker")
        bench.env["PW_maker"] = "wrong-horse"
        trouble = trouble_of(target)
        assert "refused the password of user maker" in trouble.finding
        assert "wrong-horse" not in trouble.finding + trouble.advice

    def test_no_password(self, bench: Bench[Postgres], standing: PostgresServer) -> None:
        target = bench.target(
            server="external", dsn=f"postgresql://maker@{standing.host}:{standing.port}/maker"
        )
        assert "no password supplied" in trouble_of(target).finding

    def test_no_server(self, bench: Bench[Postgres]) -> None:
        target = bench.target(server="external", dsn=f"postgresql://maker@127.0.0.1:{free_port()}/maker")
        trouble = trouble_of(target)
        assert "no server responds at 127.0.0.1:" in trouble.finding
        assert not target.alive()

    def test_no_such_host(self, bench: Bench[Postgres]) -> None:
        target = bench.target(server="external", dsn="postgresql://maker@nowhere.invalid/maker")
        assert "the host name of nowhere.invalid:5432 is unknown" in trouble_of(target).finding

    def test_no_such_database(self, external: External) -> None:
        assert "the database does not exist" in trouble_of(external("maker", database="nowhere")).finding

    def test_tls_that_is_not_offered(self, external: External) -> None:
        trouble = trouble_of(external("maker", sslmode="require"))
        assert "does not offer TLS" in trouble.finding
        assert "sslmode: prefer" in trouble.advice

    def test_certificates_that_do_not_check_out(
        self, bench: Bench[Postgres], encrypted: PostgresServer
    ) -> None:
        dsn = encrypted.dsn()
        trusted = str(encrypted.data / "server.crt")
        missing = bench.target(
            server="external", dsn=dsn, sslmode="verify-full", sslrootcert="/nowhere/ca.pem"
        )
        assert '"/nowhere/ca.pem"' in trouble_of(missing).finding
        stranger = bench.target(
            server="external", dsn=dsn, sslmode="verify-ca", sslrootcert=_another_ca(bench.work)
        )
        assert "is not trusted" in trouble_of(stranger).finding
        name = bench.target(server="external", dsn=dsn, sslmode="verify-full", sslrootcert=trusted)
        assert "is for another name" in trouble_of(name).finding

    def test_tls_that_works_is_in_the_record(self, bench: Bench[Postgres], encrypted: PostgresServer) -> None:
        trusted = str(encrypted.data / "server.crt")
        target = bench.up(server="external", dsn=encrypted.dsn(), sslmode="verify-ca", sslrootcert=trusted)
        assert target.describe().tls is True
        assert (target.endpoint().sslmode, target.endpoint().sslrootcert) == ("verify-ca", trusted)

    def test_a_way_that_pg_hba_forbids(self, external: External) -> None:
        assert "does not allow user tlsonly to connect this way" in trouble_of(external("tlsonly")).finding

    def test_a_server_that_is_too_old(self, external: External, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("loadcell.systems.postgres.target.OLDEST", 99)
        assert "which is too old" in trouble_of(external("maker")).finding

    def test_a_dsn_that_is_none_is_not_repeated(self, bench: Bench[Postgres]) -> None:
        trouble = trouble_of(bench.target(server="external", dsn="postgresql://u:pass%zzword@host/db"))
        assert "is not a connection string" in trouble.finding
        assert "pass" not in trouble.finding

    def test_a_client_certificate(self, bench: Bench[Postgres]) -> None:
        target = bench.target(server="external", dsn="host=127.0.0.1 sslcert=/x.crt sslkey=/x.key")
        assert "a client certificate" in trouble_of(target).finding

    def test_what_the_dsn_leaves_out_comes_from_the_environment(
        self, bench: Bench[Postgres], standing: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PGPASSWORD", "maker-secret")
        monkeypatch.setenv("PGPORT", str(standing.port))
        target = bench.up(server="external", dsn="host=127.0.0.1 user=maker")
        endpoint = target.endpoint()
        assert (endpoint.port, endpoint.password.get_secret_value(), endpoint.database) == (
            standing.port,
            "maker-secret",
            "maker",
        )
        assert endpoint.sslmode == "prefer"

    def test_a_server_that_goes_away_is_not_alive(self, bench: Bench[Postgres]) -> None:
        with PostgresServer() as server:
            target = bench.up(server="external", dsn=server.dsn())
            assert target.alive()
            server.kill()
            assert not target.alive()
            assert target.processes() == []

    def test_a_server_without_a_free_connection_is_alive(self, bench: Bench[Postgres]) -> None:
        settings = {"max_connections": "4", "superuser_reserved_connections": "1", "max_wal_senders": "0"}
        with PostgresServer(settings=settings) as server:
            server.sql("CREATE ROLE visitor LOGIN")
            dsn = f"postgresql://visitor@127.0.0.1:{server.port}/postgres"
            target = bench.up(server="external", dsn=dsn)
            connections: list[psycopg.Connection] = []
            until = time.monotonic() + 30
            while len(connections) < 3:  # a connection that was closed has its place for a moment yet
                try:
                    connections.append(psycopg.connect(dsn))
                except psycopg.OperationalError:
                    assert time.monotonic() < until
                    time.sleep(0.05)
            try:
                assert target.alive()
                with pytest.raises(TargetError, match="has no free connection"):
                    target.up()
            finally:
                for connection in connections:
                    connection.close()


class TestPrograms:
    def test_a_version_that_is_not_there(self, bench: Bench[Postgres]) -> None:
        trouble = trouble_of(bench.target(server="local", version=99))
        assert "no PostgreSQL 99 on this machine, only " in trouble.finding

    def test_a_package_that_was_not_fetched(
        self, bench: Bench[Postgres], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing is fetched during a trial."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(bench.work / "empty"))
        trouble = trouble_of(bench.target(server="embedded", version=16))
        assert "linux-amd64:16.9.0 is not in the cache" in trouble.finding
        assert not (bench.work / "empty").exists()

    def test_a_directory_without_programs(self, bench: Bench[Postgres], another_directory: Path) -> None:
        trouble = trouble_of(bench.target(server="local", binaries=str(another_directory)))
        assert "does not contain the programs `postgres` and `initdb`" in trouble.finding

    def test_a_user_that_is_not_there(self, bench: Bench[Postgres]) -> None:
        trouble = trouble_of(bench.target(run_as="nosuchuser"))
        assert "nosuchuser" in trouble.finding

    def test_root_itself(self, bench: Bench[Postgres]) -> None:
        trouble = trouble_of(bench.target(run_as="root"))
        assert ("refuses to run as root" if os.geteuid() == 0 else "only root can") in trouble.finding


def test_processes_of_an_external_server_are_found_when_it_runs_here(
    external: External, standing: PostgresServer
) -> None:
    target = external("maker")
    target.up()
    assert target.processes() == [standing.pid]


def test_an_external_servers_record_has_settings_but_no_secrets(external: External) -> None:
    target = external("maker")
    target.up()
    target.prepare(DATA, load, will_change=False)
    record = document(target.describe())
    names = {setting["name"] for setting in record["settings"]}
    assert {"shared_buffers", "fsync", "synchronous_commit"} <= names
    assert "maker-secret" not in json.dumps(record)
    assert record["tls"] is False


def test_ctrl_c_for_loadcell_is_not_one_for_the_server(bench: Bench[Postgres]) -> None:
    """The terminal sends its interrupt to the whole process group: the server must not be in it."""
    target = bench.up()
    output = subprocess.run(
        ["ps", "-o", "sid=", "-p", str(target.processes()[0])], capture_output=True, text=True, check=True
    )
    assert int(output.stdout) != os.getsid(0)
