"""Finding PostgreSQL's programs, and making them reachable for the server's user."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from loadcell.systems.base import TargetError
from loadcell.systems.postgres import binaries
from loadcell.systems.postgres.binaries import Binaries
from loadcell.systems.postgres.target import Postgres
from loadcell.systems.shared import account
from servers import debian_postgres
from systems.bench import Bench

from .conftest import DATA, ROWS, load, query


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(binaries, "_PLACES", ())


def program(path: Path, says: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


def installation(directory: Path, version: str) -> Path:
    for name in ("postgres", "initdb"):
        program(directory / name, f"{name} (PostgreSQL) {version} (Somewhere)")
    return directory


def test_the_machines_own_are_found() -> None:
    programs = binaries.local()
    assert programs.directory == debian_postgres()
    assert programs.version.startswith(f"{programs.major}.")


def test_on_path_even_as_links(
    nothing_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = installation(tmp_path / "opt/pg/bin", "17.2")
    links = tmp_path / "links"
    links.mkdir()
    for name in ("postgres", "initdb"):
        (links / name).symlink_to(real / name)
    monkeypatch.setenv("PATH", f"{links}:/usr/bin:/bin")
    assert binaries.local(version=17) == Binaries(real, "17.2")


def test_where_pg_config_says(
    nothing_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = installation(tmp_path / "opt/pg/bin", "17.2")
    program(tmp_path / "pg_config", str(real))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert binaries.local(version=17) == Binaries(real, "17.2")


def test_the_newest_is_chosen_by_number_not_by_letter(
    tmp_path: Path, nothing_installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("9.6.24", "15.18", "15.2", "12.22"):
        installation(tmp_path / f"opt/{version}/bin", version)
    monkeypatch.setattr(binaries, "_PLACES", (f"{tmp_path}/opt/*/bin",))
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setattr(binaries.shutil, "which", lambda _: None)
    monkeypatch.setattr(
        binaries, "output_of", lambda command: "" if command[0] == "pg_config" else says(command)
    )
    assert binaries.local().version == "15.18"
    assert binaries.local(version=12).version == "12.22"
    with pytest.raises(
        TargetError, match=r"no PostgreSQL 14 on this machine, only 12\.22, 15\.18, 15\.2 and 9\.6\.24"
    ):
        binaries.local(version=14)


says = binaries.output_of


def test_a_named_directory_may_be_the_installations(tmp_path: Path) -> None:
    installation(tmp_path / "pg/bin", "16.1")
    assert binaries.local(str(tmp_path / "pg")) == binaries.local(str(tmp_path / "pg/bin"))


def test_one_that_is_too_old_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"PostgreSQL 9\.6\.24 in .* is too old"):
        binaries.local(str(installation(tmp_path / "bin", "9.6.24")))


def test_none_at_all(nothing_installed: None) -> None:
    with pytest.raises(TargetError, match="no PostgreSQL server found on this machine") as caught:
        binaries.local()
    assert "server: embedded" in caught.value.advice


def test_programs_where_only_root_can_go_are_copied_once(
    bench: Bench[Postgres], another_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when loadcell was installed under /root. A user's own programs are always within his reach."""
    wheel = binaries.embedded().directory.parents[1]
    package = another_directory / "closed" / wheel.name
    shutil.copytree(wheel / "pginstall18", package / "pginstall18")
    shutil.copytree(wheel.with_name(wheel.name + ".libs"), package.with_name(package.name + ".libs"))
    (another_directory / "closed").chmod(0o700)
    cache = another_directory / "cache"
    cache.mkdir(mode=0o755)
    monkeypatch.setattr(binaries, "shared_cache", lambda: cache)
    programs = Binaries(package / "pginstall18" / "bin", "18.4")
    monkeypatch.setattr(binaries, "embedded", lambda: programs)

    target = bench.up()
    target.prepare(DATA, load, will_change=False)
    assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)]
    used = Path(target.describe().binaries)
    copies = list(cache.iterdir())
    if os.geteuid() != 0:
        assert (used, copies) == (programs.directory, [])
        return
    assert used.is_relative_to(cache)
    assert len(copies) == 1
    assert (
        binaries.usable_by(programs, account.choose(None, product="PostgreSQL", kind="postgres")).directory
        == used
    )
    assert list(cache.iterdir()) == copies
    assert all(not path.stat().st_mode & 0o022 for path in cache.rglob("*") if not path.is_symlink())


def test_what_does_not_look_like_an_installation_is_not_copied(another_directory: Path) -> None:
    """Else a flat directory in root's home would drag all of that home along."""
    closed = another_directory / "home"
    flat = installation(closed / "mine", "18.4")
    closed.chmod(0o700)
    me = account.Account("nobody", os.geteuid(), os.getegid(), (), other=True)
    with pytest.raises(TargetError, match="is not an installation"):
        binaries._copy(Binaries(flat, "18.4"), another_directory)
    assert me.uid == os.geteuid()
