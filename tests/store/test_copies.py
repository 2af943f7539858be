"""Copies of the files that a plan names: each content once, none with a secret, none that is too large; and
what a run needs to be run again is checked.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from loadcell.model.run_record import RunRecord
from loadcell.plan.files import PlanFiles
from loadcell.store import copies
from loadcell.store.copies import copy_files, to_run_again
from loadcell.store.layout import StoreError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The directory of a plan with its files."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "schema.sql").write_text("CREATE TABLE t (id int);")
    (home / "same.sql").write_text("CREATE TABLE t (id int);")
    (home / "orders.csv").write_text("id\n1\n")
    return home


def copied(run: Path, home: Path, *names: str, secrets: tuple[str, ...] = ()) -> RunRecord:
    """A run whose plan names these files."""
    run.mkdir(exist_ok=True)
    files = PlanFiles(home)
    for name in names:
        files.find(name)
    return RunRecord(files=copy_files(run, files, secrets))


def test_a_copy_is_the_file_and_the_record_says_what_it_was(tmp_path: Path, home: Path) -> None:
    run = tmp_path / "run"
    [record] = copied(run, home, "orders.csv").files or ()
    assert (record.file, record.path, record.size_bytes) == ("orders.csv", str(home / "orders.csv"), 5)
    assert record.sha256 == hashlib.sha256(b"id\n1\n").hexdigest()
    assert record.copy == f"files/{record.sha256}/orders.csv"
    assert (run / record.copy).read_text() == "id\n1\n"
    assert record.why_not is None


def test_a_private_file_has_a_private_copy(tmp_path: Path, home: Path) -> None:
    (home / "orders.csv").chmod(0o600)
    (home / "schema.sql").chmod(0o755)
    private, public = copied(tmp_path / "run", home, "orders.csv", "schema.sql").files or ()
    modes = [(tmp_path / "run" / str(file.copy)).stat().st_mode & 0o777 for file in (private, public)]
    assert modes == [0o600, 0o644]


def test_a_program_that_cannot_be_read_is_left_out(tmp_path: Path, home: Path) -> None:
    """`/proc/self/mem` is a regular file, and reading its beginning fails for every user."""
    files = PlanFiles(home)
    files.program("/proc/self/mem")
    files.program("orders.csv")
    assert [record.file for record in copy_files(tmp_path, files)] == ["orders.csv"]


def test_a_private_file_with_the_content_of_a_public_one_has_a_private_copy(
    tmp_path: Path, home: Path
) -> None:
    (home / "schema.sql").chmod(0o644)
    (home / "same.sql").chmod(0o600)
    _, private = copied(tmp_path / "run", home, "schema.sql", "same.sql").files or ()
    assert (tmp_path / "run" / str(private.copy)).stat().st_mode & 0o777 == 0o600


def test_the_same_content_is_stored_once(tmp_path: Path, home: Path) -> None:
    run = tmp_path / "run"
    first, other = copied(run, home, "schema.sql", "same.sql").files or ()
    assert first.copy is not None
    assert other.copy is not None
    assert (run / first.copy).stat().st_ino == (run / other.copy).stat().st_ino


def test_a_run_has_its_files_when_those_of_the_plan_are_gone(tmp_path: Path, home: Path) -> None:
    run = tmp_path / "run"
    record = copied(run, home, "schema.sql", "../home/orders.csv")
    (home / "schema.sql").unlink()
    (home / "orders.csv").write_text("other")
    again = to_run_again(run, record)
    assert again["schema.sql"].read_text() == "CREATE TABLE t (id int);"
    assert again["../home/orders.csv"].read_text() == "id\n1\n"


def test_a_file_with_a_secret_is_not_copied(tmp_path: Path, home: Path) -> None:
    (home / "props").write_text("password=hunter22\n")
    (home / "data").write_bytes(b"\0opensesame")
    run = tmp_path / "run"
    record = copied(run, home, "props", "data", secrets=("opensesame",))
    assert [(file.copy, file.why_not) for file in record.files or ()] == [(None, "secret")] * 2
    assert not (run / "files").exists()
    assert to_run_again(run, record) == {"props": home / "props", "data": home / "data"}


def test_a_large_file_is_recorded_by_its_hash(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "MOST_COPIED_BYTES", 4)
    record = copied(tmp_path / "run", home, "orders.csv")
    [file] = record.files or ()
    assert (file.copy, file.why_not) == (None, "large")
    assert file.sha256 == hashlib.sha256(b"id\n1\n").hexdigest()
    assert to_run_again(tmp_path / "run", record) == {"orders.csv": home / "orders.csv"}


def test_a_large_file_that_changed_is_refused(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "MOST_COPIED_BYTES", 4)
    record = copied(tmp_path / "run", home, "orders.csv")
    (home / "orders.csv").write_text("id\n2\n")  # of the same size
    with pytest.raises(
        StoreError, match=r"has changed since the run used it as orders.csv: .* a different SHA-256"
    ):
        to_run_again(tmp_path / "run", record)
    (home / "orders.csv").unlink()
    with pytest.raises(StoreError, match=r"cannot be read: No such file"):
        to_run_again(tmp_path / "run", record)


def test_a_damaged_copy_is_refused(tmp_path: Path, home: Path) -> None:
    run = tmp_path / "run"
    record = copied(run, home, "orders.csv")
    [file] = record.files or ()
    (run / str(file.copy)).write_text("id\n2\n")
    with pytest.raises(StoreError, match=r"copy of orders.csv, is damaged.*backup"):
        to_run_again(run, record)
    (run / str(file.copy)).unlink()
    with pytest.raises(StoreError, match=r"copy of orders.csv, is missing.*backup"):
        to_run_again(run, record)


def test_a_file_that_is_gone_before_the_copy_is_an_error(tmp_path: Path, home: Path) -> None:
    with pytest.raises(StoreError, match=r"which the plan names as nowhere.csv, cannot be read"):
        copied(tmp_path / "run", home, "nowhere.csv")


def test_a_pipe_is_not_read_again(tmp_path: Path, home: Path) -> None:
    os.mkfifo(home / "pipe")
    assert copied(tmp_path / "run", home, "pipe").files == ()


def test_programs_are_recorded_and_never_copied(tmp_path: Path, home: Path) -> None:
    files = PlanFiles(home)
    files.program("./schema.sql")
    [record] = copy_files(tmp_path, files)
    assert (record.file, record.copy, record.why_not) == ("./schema.sql", None, "program")
    run = RunRecord(files=(record,))
    assert to_run_again(tmp_path, run) == {}
    assert copies.changed_programs(run) == []
    (home / "schema.sql").write_text("rebuilt")
    assert copies.changed_programs(run) == ["./schema.sql"]
