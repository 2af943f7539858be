"""`caching_sha2_password` without TLS, of the load and of administration, on a scripted server, which sees
what is sent (`test_mysql8.py` has a real one). Its nonce and answers are those of MySQL 8; OpenSSL decrypts
what it receives.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.loads import failure, prepare
from loadcell.systems.base import Secret, TargetError
from loadcell.systems.mysql.connection import Address

PASSWORD = "a secret of some length, 密码"
NONCE = b"12345678abcdefghijkl"
PLUGIN = b"caching_sha2_password\0"
CAPABILITIES = 0x81FFF7FE & ~(1 << 11)
OK = b"\0\0\0\x02\0\0\0"
REFUSED = b"\xff\x15\x04#28000Access denied for user 'app'@'localhost' (using password: YES)"
WANTS_PASSWORD, WANTS_KEY, IS_KEY = b"\x01\x04", b"\x02", b"\x01"


@dataclass
class Scripted:
    """A server that has no password in its cache; `passwords` are those that it decrypted."""

    key: Path
    public: bytes
    switches: bool = False
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    passwords: list[bytes] = field(default_factory=list)
    logins: list[bytes] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with client, contextlib.suppress(OSError, EOFError):
                    client.settimeout(20)
                    self.converse(client)

    def converse(self, client: socket.socket) -> None:
        low, high = (CAPABILITIES.to_bytes(4, "little")[part : part + 2] for part in (0, 2))
        plugin = b"mysql_native_password\0" if self.switches else PLUGIN
        send(
            client, 0, b"\x0a8.0.41\0\x09\0\0\0" + NONCE[:8] + b"\0" + low + b"\x2d\x02\0" + high + b"\x15"
            + bytes(10) + NONCE[8:] + b"\0" + plugin,
        )  # fmt: skip
        number, login = receive(client)
        self.logins.append(login)
        if self.switches:
            send(client, number + 1, b"\xfe" + PLUGIN + NONCE + b"\0")
            number, _ = receive(client)
        send(client, number + 1, WANTS_PASSWORD)
        number, request = receive(client)
        if request != WANTS_KEY:
            self.passwords.append(request)
            send(client, number + 1, REFUSED)
            return
        send(client, number + 1, IS_KEY + self.public)
        number, secret = receive(client)
        self.passwords.append(self.decrypted(secret))
        if self.passwords[-1] != PASSWORD.encode() + b"\0":
            send(client, number + 1, REFUSED)
            return
        send(client, number + 1, OK)
        while receive(client)[1][:1] == b"\x03":
            send(client, 1, OK)

    def decrypted(self, secret: bytes) -> bytes:
        """The password, by OpenSSL."""
        done = subprocess.run(
            ["openssl", "pkeyutl", "-decrypt", "-inkey", str(self.key), "-pkeyopt", "rsa_padding_mode:oaep"],
            input=secret, capture_output=True, check=False,
        )  # fmt: skip
        masks = NONCE * (len(done.stdout) // len(NONCE) + 1)
        return bytes(byte ^ mask for byte, mask in zip(done.stdout, masks, strict=False))


def send(client: socket.socket, number: int, body: bytes) -> None:
    client.sendall(len(body).to_bytes(3, "little") + bytes([number]) + body)


def receive(client: socket.socket) -> tuple[int, bytes]:
    head = exactly(client, 4)
    return head[3], exactly(client, int.from_bytes(head[:3], "little"))


def exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = client.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A private key, and the public one as the server sends it."""
    path = tmp_path_factory.mktemp("rsa") / "key.pem"
    size = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
    subprocess.run(["openssl", "genpkey", *size, "-out", str(path)], check=True, capture_output=True)
    public = subprocess.run(
        ["openssl", "pkey", "-in", str(path), "-pubout"], check=True, capture_output=True
    ).stdout
    return path, public


@pytest.fixture(params=[False, True], ids=["at once", "by a switch"])
def server(key: tuple[Path, bytes], request: pytest.FixtureRequest) -> Iterator[Scripted]:
    scripted = Scripted(*key, switches=request.param)
    thread = threading.Thread(target=scripted.serve, daemon=True)
    thread.start()
    yield scripted
    scripted.listener.shutdown(socket.SHUT_RDWR)
    scripted.listener.close()
    thread.join(10)


def address(server: Scripted, password: str = PASSWORD) -> Address:
    return Address("127.0.0.1", server.port, "app", password=Secret(password), sslmode="prefer")


def endpoint(server: Scripted, password: str = PASSWORD) -> dict[str, object]:
    return {
        "protocol": "mysql", "host": "127.0.0.1", "port": server.port, "socket": None, "user": "app",
        "password": password, "database": "d", "sslmode": "prefer", "sslrootcert": None,
        "application_name": "loadcell", "connect_timeout_ns": 10_000_000_000,
    }  # fmt: skip


def test_administration_encrypts_the_password_for_the_servers_key(server: Scripted) -> None:
    address(server).connect().close()
    assert server.passwords == [PASSWORD.encode() + b"\0"]
    assert all(PASSWORD.encode() not in login for login in server.logins)


def test_the_load_encrypts_the_password_for_the_servers_key(server: Scripted) -> None:
    """The server answers every statement after the login with OK."""
    with contextlib.suppress(Exception):
        prepare(endpoint(server), {"tables": 1, "table_size": 10})
    assert server.passwords[:1] == [PASSWORD.encode() + b"\0"]
    assert all(PASSWORD.encode() not in login for login in server.logins)


def test_a_wrong_password_is_refused_by_the_server(server: Scripted) -> None:
    with pytest.raises(TargetError, match="refused user app: Access denied"):
        address(server, "wrong").connect()
    problem = failure(lambda: prepare(endpoint(server, "wrong"), {"tables": 1, "table_size": 10}), "mysql")
    assert "Access denied" in problem["finding"]


def test_a_key_that_is_none_is_reported(server: Scripted) -> None:
    server.public = b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
    with pytest.raises(TargetError):
        address(server).connect()
    problem = failure(lambda: prepare(endpoint(server), {"tables": 1, "table_size": 10}), "mysql")
    assert "public key" in problem["finding"]
