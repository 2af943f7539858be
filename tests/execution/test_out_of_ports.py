"""A client machine that has nothing left for another connection, for real: no port, or no file.

What its user is reported.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from few_ports import FewPorts, few_ports
from hostile import Hostile, response, says
from lines import called, command
from loadcell.model.trial_record import TrialRecord
from loadcell.store.read import read_run
from loadcell.systems.mysql import connection as mysql
from loadcell.systems.postgres import connection as postgres
from loadcell.systems.redis import connection as redis
from mariadb import MariadbServer
from redis_server import RedisServer
from servers import PostgresServer

PORTS = 40
#: Used up by so few requests that the slowest machine makes more in no time.
HARDLY_ANY = 8
#: What helps, by the kernel's own name.
RANGE, REUSE = "net.ipv4.ip_local_port_range", "net.ipv4.tcp_tw_reuse"


@pytest.fixture
def network() -> Iterator[FewPorts]:
    with few_ports() as result:
        yield result


def squeezed(text: str) -> str:
    return " ".join(text.split())


def only_trial(home: Path) -> TrialRecord:
    [path] = home.glob("results/*/*")
    [trial] = read_run(path).trials
    return trial


def pages(home: Path) -> dict[str, str]:
    """The report in both languages, as it is read."""
    results = {}
    [path] = home.glob("results/*/*")
    for language in ("en", "zh"):
        done = called(
            home, "report", str(path), "--lang", language, "--format", "md", "--out", f"{language}.md"
        )
        assert done.returncode == 0, done.stderr
        results[language] = (home / f"{language}.md").read_text().replace("\\_", "_")
    return results


def failed(done: subprocess.CompletedProcess[str]) -> str:
    """Standard output of a call that brought no usable figure."""
    assert done.returncode == 3, done.stdout + done.stderr
    return squeezed(done.stdout)


class TestConnectionsForEachRequest:
    """Every request takes a port, and as it is the client who hangs up, the port rests for a minute."""

    def test_values_of_a_machine_without_ports_are_no_values_of_the_service(
        self, tmp_path: Path, network: FewPorts
    ) -> None:
        with Hostile(says(response())) as server:
            network.only(HARDLY_ANY)
            url = f"http://127.0.0.1:{server.port}/"
            words = ("http", url, "--no-keep-alive", "-c", "2", "-d", "1s", "--warmup", "0s", "-q")
            message = failed(called(tmp_path, *words, "--no-report"))
            assert server.connections <= HARDLY_ANY
            trial = only_trial(tmp_path)
            again = called(tmp_path, *words, "--no-report", "--out", "again")

        assert trial.status == "invalid", "no fault of the service, and no figure of it"
        assert trial.reason_code == "check.ports"
        assert trial.totals.transactions.succeeded < HARDLY_ANY
        [error] = trial.errors
        assert (error.code, error.message) == ("ports", "Cannot assign requested address")
        assert error.meaning == "this machine had no free port for another connection"
        for item in (message, trial.advice, error.advice, *pages(tmp_path).values()):
            assert RANGE in item
            assert REUSE in item
        assert "this machine ran out of ports" in message

        assert again.returncode == 2, "before any trial"
        assert "this machine has no free port for a connection to 127.0.0.1" in again.stderr
        assert RANGE in again.stderr
        assert not (tmp_path / "again").exists()


class TestMoreConnectionsThanPorts:
    def test_of_a_service_of_http(self, tmp_path: Path, network: FewPorts) -> None:
        with Hostile(says(response())) as server:
            network.only(PORTS)
            url = f"http://127.0.0.1:{server.port}/"
            message = failed(called(tmp_path, "http", url, "-c", "60", "-n", "600", "--warmup", "0s", "-q"))
        self._check(only_trial(tmp_path), message, pages(tmp_path))

    def test_of_a_redis(self, tmp_path: Path, network: FewPorts) -> None:
        with RedisServer(password="") as server:
            network.only(PORTS)
            words = ("-c", "60", "-n", "600", "--keys", "100", "--warmup", "0s", "-q")
            done = called(tmp_path, "redis", f"{server.host}:{server.port}", *words, "--json")
        trial = only_trial(tmp_path)
        [document] = json.loads(done.stdout)["trials"]
        assert (done.returncode, document["reason"]) == (3, trial.reason)
        [path] = tmp_path.glob("results/*/*")
        self._check(trial, squeezed(called(tmp_path, "show", str(path)).stdout), pages(tmp_path))

    @pytest.mark.parametrize("kind", ["postgresql", "mysql"])
    def test_of_a_database(self, tmp_path: Path, network: FewPorts, kind: str) -> None:
        database = PostgresServer() if kind == "postgresql" else MariadbServer()
        with database as server:
            network.only(PORTS)
            password = {"PGPASSWORD": "", "MYSQL_PWD": server.password or ""}
            dsn = f"{kind}://{server.user}@{server.host}:{server.port}/" + "postgres" * (kind == "postgresql")
            words = [
                "-w",
                "ycsb:c",
                "--set",
                "workload.ycsb.recordcount=100",
                "-c",
                "60",
                "-n",
                "600",
                "--warmup",
                "0s",
                "-q",
            ]
            message = failed(called(tmp_path, "sql", dsn, *words, **password))
        self._check(only_trial(tmp_path), message, pages(tmp_path))

    def _check(self, trial: TrialRecord, message: str, report: dict[str, str]) -> None:
        assert (trial.status, trial.reason_code) == ("failed", "connect-failed")
        assert "of 60 clients could not connect" in trial.reason
        assert "Cannot assign requested address" in trial.reason
        assert "died" not in trial.reason, "the target is not dead: it cannot be asked"
        for item in (message, trial.advice, *report.values()):
            assert RANGE in item


def test_a_server_that_cannot_be_asked_for_want_of_a_port_is_not_taken_for_dead() -> None:
    message = os.strerror(errno.EADDRNOTAVAIL)
    of_libpq = f'connection failed: connection to server at "10.0.0.5", port 5432 failed: {message}'
    of_pymysql = pymysql.OperationalError(
        2003, f"Can't connect to MySQL server on '10.0.0.5' ([Errno 99] {message})"
    )
    results = {
        redis: redis.connection_error(OSError(errno.EADDRNOTAVAIL, message), "10.0.0.5:6379", None),
        mysql: mysql.not_connected(of_pymysql, "10.0.0.5:3306", "me"),
        postgres: postgres.not_connected(of_libpq, "10.0.0.5:5432", "me"),
    }
    for kind, error in results.items():
        assert error.message.code in kind.ANSWERED
        assert "this machine has no free port for a connection to 10.0.0.5" in error.finding
        assert RANGE in error.advice


def test_more_connections_than_files(tmp_path: Path) -> None:
    """Named before the load begins, with the limit, and what it must be."""
    least = 256
    with Hostile(says(response())) as server:
        words = ("http", f"http://127.0.0.1:{server.port}/", "-c", "500", "-n", "5000", "--warmup", "0s")
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (least, least))  # noqa: E731
        done = command(tmp_path, *words, before=limit)
    message, trial = failed(done), only_trial(tmp_path)
    assert (trial.status, trial.reason_code) == ("failed", "load.limit")
    finding = f"500 clients need 564 file descriptors, and this process may have {least}"
    for item in (message, trial.reason):
        assert finding in item
    for item in (message, trial.advice, *pages(tmp_path).values()):
        assert "ulimit -Hn 564" in item
