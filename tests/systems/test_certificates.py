"""Files of trusted certificates that a plan names: recorded and copied like other files, never with a key."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.test_own_certificate_postgres import self_signed
from loadcell.plan.files import PlanFiles
from loadcell.store.copies import SECRET, copy_files
from loadcell.systems.command.options import CommandOptions
from loadcell.systems.http.target import HttpOptions
from loadcell.systems.mysql.options import MysqlOptions
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.redis.options import RedisOptions

HTTPS = "https://shop.example"


def options_of(kind: type[Any], file: str, files: PlanFiles) -> Any:
    """Options that trust the certificates of a file."""
    values: dict[type[Any], dict[str, Any]] = {
        HttpOptions: {"url": HTTPS, "tls": {"ca": file}},
        CommandOptions: {"command": "true", "url": HTTPS, "tls": {"ca": file}},
        PostgresOptions: {"server": "external", "dsn": "host=h", "sslrootcert": file},
        MysqlOptions: {"server": "external", "url": "mysql://h", "sslrootcert": file},
        RedisOptions: {"server": "external", "host": "h", "tls": True, "tls_ca": file},
    }
    options = kind.model_validate(values[kind], context={"files": files, "directory": files.directory})
    return getattr(options, "tls", None) if kind in (HttpOptions, CommandOptions) else options


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate, `ca.pem`, with its key beside it."""
    return self_signed(tmp_path_factory.mktemp("certificates"), "ca", "subjectAltName=DNS:shop.example")


KINDS = pytest.mark.parametrize(
    "kind", [HttpOptions, CommandOptions, PostgresOptions, MysqlOptions, RedisOptions]
)


@KINDS
def test_a_certificate_is_recorded_and_copied(kind: type[Any], certificate: Path, tmp_path: Path) -> None:
    files = PlanFiles(tmp_path)
    assert options_of(kind, str(certificate), files).certificates == str(certificate)
    [record] = copy_files(tmp_path, files)
    assert (record.file, record.path) == (str(certificate), str(certificate))
    copy = tmp_path / str(record.copy)
    assert copy.read_bytes() == certificate.read_bytes()
    again = PlanFiles(tmp_path, copies={str(certificate): copy})
    assert options_of(kind, str(certificate), again).certificates == str(copy)


@KINDS
def test_a_file_with_a_private_key_is_not_copied(kind: type[Any], certificate: Path, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + certificate.with_suffix(".key").read_bytes())
    files = PlanFiles(tmp_path)
    options_of(kind, str(both), files)
    [record] = copy_files(tmp_path, files)
    assert (record.copy, record.why_not) == (None, SECRET)


def test_a_relative_name_starts_where_loadcell_is_run(
    certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(certificate, tmp_path / "ca.pem")
    monkeypatch.chdir(tmp_path)
    files = PlanFiles(tmp_path / "elsewhere")
    assert options_of(PostgresOptions, "ca.pem", files).certificates == str(tmp_path / "ca.pem")
    assert files.named == {"ca.pem": tmp_path / "ca.pem"}


def test_a_missing_file_is_left_to_the_system(tmp_path: Path) -> None:
    files = PlanFiles(tmp_path)
    assert options_of(RedisOptions, "/nowhere/ca.pem", files).certificates == "/nowhere/ca.pem"
    assert files.named == {}
