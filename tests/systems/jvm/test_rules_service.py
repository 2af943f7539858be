"""The stream rule service: its unit tests, and the rules that fire, compared with an evaluation in Python."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from loadcell.systems.jvm.services import ServiceBuild, services
from loadcell.systems.shared.packages import QUICK_START
from rule_servers import Process, started_server
from rules_model import Record, answer, fired_rules, random_records

RULES = services()["rules"]
#: So few keys that records of a key follow each other soon, and that each rule fires.
KEYS = 300
RETAINED = 8_000
WINDOW_MS = 7_000
SIZE_BYTES = 200
PROPERTIES = {"retained": RETAINED, "window": WINDOW_MS, "answers": "each"}


Start = Callable[..., Process]


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home))
        build = ServiceBuild(RULES, RULES.versions[-1])
        build.fetch()
        return build.jar


@pytest.fixture(scope="module")
def start(jar: Path) -> Iterator[Start]:
    """Starts each combination of settings once: a load begins with an empty store."""
    started: dict[tuple[tuple[str, object], ...], Process] = {}

    def process(**settings: object) -> Process:
        combination = tuple(sorted(settings.items()))
        if combination not in started:
            started[combination] = started_server(jar, QUICK_START, **{**PROPERTIES, **settings})
        return started[combination]

    yield process
    for running in started.values():
        running.kill()


def exchange(connection: socket.socket, stream: bytes) -> list[str]:
    """Send all, and read the answers meanwhile up to the end of the connection."""

    def send() -> None:
        connection.sendall(stream)
        connection.shutdown(socket.SHUT_WR)

    with connection:
        sender = threading.Thread(target=send)
        sender.start()
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
        sender.join()
    return b"".join(parts).decode().splitlines()


def by_number(answers: list[str]) -> list[str]:
    return sorted(answers, key=lambda line: int(line.split()[0]))


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return list(random_records(20_000, KEYS, seed=24))


@pytest.fixture(scope="module")
def stream(records: list[Record]) -> bytes:
    return "".join(record.csv(SIZE_BYTES) for record in records).encode()


@pytest.fixture(scope="module")
def expected(records: list[Record]) -> list[str]:
    fired = fired_rules(records, 10, RETAINED, WINDOW_MS)
    return [answer(record, rules) for record, rules in zip(records, fired, strict=True)]


def test_unit_tests_of_the_service(tmp_path: Path) -> None:
    project = tmp_path / "rules"
    shutil.copytree(RULES.directory, project, ignore=shutil.ignore_patterns("target"))
    command = ["mvn", "--batch-mode", "--no-transfer-progress", f"-DargLine={QUICK_START}", "test"]
    environment = {**os.environ, "MAVEN_OPTS": QUICK_START}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
    assert "Tests run: 96, Failures: 0, Errors: 0, Skipped: 0" in done.stdout


@pytest.mark.parametrize("queue", ["locked", "lock-free"])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_rules_of_the_model_fire(
    start: Start, stream: bytes, expected: list[str], threads: int, queue: str
) -> None:
    server = start(threads=threads, queue=queue)
    before = server.fired()
    assert by_number(exchange(server.connect(), stream)) == expected
    fired = {rule: count - before[rule] for rule, count in server.fired().items()}
    words = [word for line in expected for word in line.split()[1:]]
    assert fired == {f"r{rule}": words.count(f"r{rule}") for rule in range(1, 11)}
    assert min(fired.values()) > 10


def test_through_a_coordinator_the_same_rules_fire(start: Start, stream: bytes, expected: list[str]) -> None:
    servers = [start(threads=4, queue=queue) for queue in ("locked", "lock-free")]
    coordinator = start(servers=",".join(f"127.0.0.1:{server.port}" for server in servers))
    assert coordinator.get("/health") == "ready\n"
    assert by_number(exchange(coordinator.connect(), stream)) == expected


def test_fewer_rules_fire_the_same_among_them(start: Start, records: list[Record], stream: bytes) -> None:
    server = start(rules=4, retained=2_000, window=100_000)
    fired = fired_rules(records, 4, 2_000, 100_000)
    expected = [answer(record, rules) for record, rules in zip(records, fired, strict=True)]
    assert by_number(exchange(server.connect(), stream)) == expected


def test_json_after_lengths_over_a_unix_socket(
    start: Start, tmp_path_factory: pytest.TempPathFactory, records: list[Record], expected: list[str]
) -> None:
    path = str(tmp_path_factory.mktemp("socket") / "rules.sock")
    start(framing="length", format="json", socket=path)
    payloads = [record.json().encode() for record in records]
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(path)
    answers = exchange(connection, b"".join(len(text).to_bytes(4) + text for text in payloads))
    assert by_number(answers) == expected


def test_a_server_that_is_killed_ends_the_connection_of_the_client(start: Start, stream: bytes) -> None:
    servers = [start(threads=1, queue="locked", highWater=value) for value in (1_000, 1_001)]
    coordinator = start(servers=",".join(f"127.0.0.1:{server.port}" for server in servers))
    with coordinator.connect() as connection:
        connection.sendall(stream[: 1_000 * SIZE_BYTES])
        assert connection.recv(10)
        servers[1].process.send_signal(signal.SIGKILL)
        answers = b""
        while part := connection.recv(1 << 16):
            answers += part
    last = answers.decode().splitlines()[-1]
    assert last.startswith(f"! server 127.0.0.1:{servers[1].port}")
    servers[1].process.wait()
    reason = f"connection closed: server 127.0.0.1:{servers[1].port}"
    deadline_s = time.monotonic() + 30
    while not any(reason in line for line in coordinator.output):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_a_wrong_setting_ends_the_service(jar: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    paths = [tmp_path / name for name in ("file", "link", "pipe", "datagrams")]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(str(paths[-1]))
        sockets = [*map(str, paths), f"/tmp/{'x' * 120}"]
        servers = ["host", "nohost.invalid:9000"]
        settings = [*(f"socket={path}" for path in sockets), *(f"servers={address}" for address in servers)]
        for setting in ("rules=11", *settings):
            command = [
                "java",
                *QUICK_START.split(),
                "-Dport=0",
                "-Drules=1",
                f"-D{setting}",
                "-jar",
                str(jar),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 2
            assert done.stdout.startswith("wrong setting: -D" + setting.partition("=")[0])
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_a_coordinator_and_its_servers_listen_on_the_loopback_address_alone(jar: Path) -> None:
    coordinator = started_server(jar, QUICK_START, coordinate=2, rules=1, host="0.0.0.0")
    try:
        assert coordinator.get("/health") == "ready\n"
        process = psutil.Process(coordinator.process.pid)
        processes = [process, *process.children()]
        assert len(processes) == 3
        for jvm in processes:
            [listening] = [at for at in jvm.net_connections() if at.status == psutil.CONN_LISTEN]
            assert listening.laddr.ip.removeprefix("::ffff:") == "127.0.0.1"
    finally:
        coordinator.kill()
