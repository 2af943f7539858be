"""Files in a real directory: loaded, used and put back; and what the comparison after a load notices."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadcell.execution import checks
from loadcell.execution.executor import LoadError
from loadcell.model.load_result import LoadResult
from loadcell.plan.workload import DATA_SEED
from loadcell.systems.base import TargetContext, TargetError
from loadcell.systems.directory import comparison
from loadcell.systems.directory.target import Directory, DirectoryOptions
from loadcell.workloads.files import Files, FilesMix, FilesOptions
from systems.bench import LoadBench

MS = 1_000_000
COUNT = 24
READS = FilesMix(read=2, list=1)
ALL = FilesMix(create=2, write=2, read=2, rename=2, list=1, delete=2)


def make(context: TargetContext, **options: Any) -> Directory:
    return Directory(DirectoryOptions(**options), context)


def workload(*, mix: FilesMix = READS) -> Files:
    return Files(
        FilesOptions(count=COUNT, directories=3, sizes={"from": "16B", "to": "9KiB"}, mix=mix, fsync=False)
    )


@pytest.fixture
def bench(tmp_path: Path) -> LoadBench[Directory]:
    work = tmp_path / "work"
    work.mkdir()
    load = {
        "clients": 2,
        "warmup_ns": 0,
        "duration_ns": 100 * MS,
        "interval_ns": 50 * MS,
        "lost_ns": 200 * MS,
    }
    return LoadBench(work, make, workload=workload, data=Files.engine, data_seed=DATA_SEED, load=load)


def codes(result: LoadResult) -> set[str]:
    return {error.code for error in result.errors}


def violations(target: Directory) -> dict[str, int]:
    return {condition.says: condition.wrong for condition in workload().verify(target.ask) if condition.wrong}


def test_files_are_used_compared_and_put_back(bench: LoadBench[Directory]) -> None:
    target = bench.up()
    first = bench.prepare(target, mix=ALL)
    assert (first.how, first.rows) == ("loaded", COUNT)
    result = bench.run(target, mix=ALL)
    assert codes(result) == set()
    assert {operation.name for operation in result.operations if operation.succeeded} == {
        "transaction", "create", "write", "read", "rename", "list", "delete",
    }  # fmt: skip
    assert violations(target) == {}
    assert bench.prepare(target).how == "restored"
    assert codes(bench.run(target)) == set()
    assert violations(target) == {}
    target.destroy()
    assert not (bench.work / "files").exists()


def flipped(path: Path) -> None:
    contents = bytearray(path.read_bytes())
    contents[-1] ^= 1
    path.write_bytes(contents)


def renamed(path: Path) -> None:
    path.rename(path.with_name(f"{path.name.partition('-')[0]}-7"))


def copied(path: Path) -> None:
    shutil.copy2(path, path.with_name(f"{path.name.partition('-')[0]}-7"))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (flipped, {"wrong_checksum == 0": 1}),
        (lambda path: path.chmod(0o1000), {"wrong_mode == 0": 1}),
        (lambda path: os.truncate(path, 20), {"wrong_size == 0": 1}),
        (Path.unlink, {"missing == 0": 1}),
        (renamed, {"missing == 0": 1}),
        (copied, {"two_names == 0": 1}),
    ],
)
def test_every_damage_is_reported(
    bench: LoadBench[Directory], damage: Callable[[Path], None], expected: dict[str, int]
) -> None:
    target = bench.up()
    bench.prepare(target)
    bench.run(target)
    damage(target.files.data / "d0001" / "f4-0")
    assert violations(target) == expected


def test_a_name_that_is_listed_twice_is_reported(
    bench: LoadBench[Directory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file system of this machine lists a name twice, so the listing is replaced."""
    target = bench.up()
    bench.prepare(target)
    bench.run(target)
    listed = comparison._listed

    def twice(directory: Path, folders: list[str]) -> Any:
        names = listed(directory, folders)
        names[4]["d0001/f4-0"] += 1
        return names

    monkeypatch.setattr(comparison, "_listed", twice)
    assert violations(target) == {"listed_twice == 0": 1}
    folders = comparison._folders
    monkeypatch.setattr(comparison, "_folders", lambda directory: folders(directory) + Counter(["d0002"]))
    assert violations(target) == {"listed_twice == 0": 2}


def test_a_directory_with_other_permissions_is_reported(bench: LoadBench[Directory]) -> None:
    target = bench.up()
    bench.prepare(target)
    bench.run(target)
    (target.files.data / "d0002").chmod(0o000)
    assert violations(target)["wrong_directory_mode == 0"] == 1
    rows = Files(FilesOptions()).verify(target.ask)
    assert [row.says for row in rows if not row.invalidates] == ["wrong_directory_mode == 0"]
    assert checks.conditions("files", rows).verdict == "noticed", "the files are intact"
    (target.files.data / "d0001" / "f4-0").unlink()
    assert checks.conditions("files", Files(FilesOptions()).verify(target.ask)).verdict == "broken"


def test_an_older_version_and_a_deleted_file_are_reported(bench: LoadBench[Directory]) -> None:
    target = bench.up()
    bench.prepare(target)
    bench.run(target)
    [path] = [path for path in target._lists.iterdir() if "\n4 0 1 " in path.read_text()]
    text = path.read_text()
    path.write_text(text.replace("\n4 0 1 ", "\n4 0 2 "))
    assert violations(target) == {"old_version == 0": 1}
    path.write_text("".join(line for line in text.splitlines(keepends=True) if line[:2] != "4 ").replace(
        "end\n", "4 0 1 16 gone\nend\n"
    ))  # fmt: skip
    assert violations(target) == {"deleted_but_listed == 0": 1}


def test_a_killed_load_is_reported_by_the_comparison(bench: LoadBench[Directory]) -> None:
    """The lists of its clients have no end, as after a call that never returns."""
    target = bench.up()
    bench.prepare(target)
    with pytest.raises(LoadError, match="killed by SIGKILL"):
        bench.run(target, kill=True, load={"duration_ns": 60_000 * MS})
    assert violations(target) == {"clients_without_end == 0": 2}
    assert codes(bench.run(target)) == set()
    assert violations(target) == {}


def test_a_pipe_in_place_of_a_file_is_reported_and_not_opened(bench: LoadBench[Directory]) -> None:
    """Opening a pipe without a writer would hang."""
    target = bench.up()
    bench.prepare(target)
    bench.run(target)
    path = target.files.data / "d0001" / "f4-0"
    path.unlink()
    os.mkfifo(path, 0o600)
    assert violations(target) == {"wrong_mode == 0": 1}


def test_files_of_others_are_left_alone(bench: LoadBench[Directory], tmp_path: Path) -> None:
    foreign = tmp_path / "here" / "files"
    foreign.mkdir(parents=True)
    (foreign / "precious").write_text("mine")
    with pytest.raises(TargetError, match="was not created by loadcell"):
        bench.up(data=str(tmp_path / "here"))
    assert (foreign / "precious").read_text() == "mine"
