"""Passwords stay where they are needed: in no command line, no log, no file."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from loadcell.model.json import document
from loadcell.systems.postgres.scram import scram_verifier
from loadcell.systems.postgres.server import Server
from loadcell.systems.postgres.target import Postgres
from systems.bench import Bench

from .conftest import DATA, load, query


def command_lines() -> str:
    """Every process's words and environment, as `ps` and root see them."""
    seen = []
    for directory in Path("/proc").iterdir():
        for name in ("cmdline", "environ") if directory.name.isdigit() else ():
            try:
                seen.append((directory / name).read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
    return "\n".join(seen)


def files_below(directory: Path) -> bytes:
    """All plain files, the data directory's too: only there the server keeps a digest of the password."""
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_the_password_of_our_own_server(shared: Bench[Postgres], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    started = Server.start

    def start(self: Server) -> None:
        started(self)
        seen.append(command_lines())

    monkeypatch.setattr(Server, "start", start)
    # The plan has the server log all it can: still nothing of it may show.
    made = shared.up(settings={"log_statement": "all", "log_connections": True})
    made.prepare(DATA, load, will_change=True)
    password = made.endpoint().password.get_secret_value()
    assert len(password) >= 24
    assert any("CREATE TABLE sbtest1" in line for line in shared.log), (
        "the load's statements are logged, as asked"
    )
    assert password not in "\n".join(shared.log)
    assert "SCRAM-SHA-256$" not in "\n".join(shared.log)
    assert password not in "".join(seen) + command_lines()
    assert password.encode() not in files_below(shared.work)
    assert password not in repr(made._load_address())


def test_each_start_has_another_password(shared: Bench[Postgres]) -> None:
    made = shared.up()
    first = made.endpoint().password.get_secret_value()
    made.down()
    made.up()
    assert made.endpoint().password.get_secret_value() != first
    assert query(made, "SELECT 1") == [(1,)]


def test_the_password_of_an_external_server(
    external: Callable[..., Postgres], bench: Bench[Postgres]
) -> None:
    made = external("maker")
    made.up()
    made.prepare(DATA, load, will_change=True)
    assert made.endpoint().password.get_secret_value() == "maker-secret"
    assert "maker-secret" not in "\n".join(bench.log)
    assert "maker-secret" not in command_lines()
    assert b"maker-secret" not in files_below(bench.work)


def test_a_setting_from_the_environment_is_not_read_back(shared: Bench[Postgres]) -> None:
    shared.env["NAME"] = "hidden-value"
    made = shared.up(settings={"cluster_name": "${env:NAME}"})
    assert query(made, "SHOW cluster_name") == [("hidden-value",)]
    settings = document(made.describe())["settings"]
    [name] = [setting for setting in settings if setting["name"] == "cluster_name"]
    assert (name["value"], name["setting"]) == ("${env:NAME}", "${env:NAME}")


def test_the_verifier_is_the_standards() -> None:
    """Example of RFC 7677: user `user`, password `pencil`."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    assert scram_verifier("pencil", lambda _: salt) == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
        "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )
