"""Directories of processes: whose owner is gone, on a disk of this machine and on storage of several."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from loadcell.linux import process_directories
from loadcell.linux.process_directories import abandoned, is_abandoned, make_directory, remove_abandoned

#: An id above the kernel's highest.
NOBODY = 2**22 + 1


def recorded(path: Path, **owner: object) -> None:
    """Record another owner of a directory."""
    note = path / "owner.json"
    note.write_text(json.dumps(json.loads(note.read_text()) | owner))


def aged(path: Path, hours: float) -> Path:
    path.mkdir(parents=True)
    then = time.time() - hours * 3600
    os.utime(path, (then, then))
    return path


def test_a_directory_of_this_process_is_not_abandoned_and_one_of_an_ended_process_is(tmp_path: Path) -> None:
    directory = make_directory("run", tmp_path)
    assert [item.name for item in directory.iterdir()] == ["owner.json"]
    assert not is_abandoned(directory)
    recorded(directory, pid=NOBODY)
    assert abandoned(tmp_path) == [directory]


def test_its_name_has_no_pattern_of_a_process_id(tmp_path: Path) -> None:
    assert make_directory("load 50%p", tmp_path).name == "load 50_p"


def test_a_directory_of_another_machine_on_shared_storage_is_not_abandoned(tmp_path: Path) -> None:
    directory = make_directory("loadcell-import", tmp_path)
    recorded(directory, boot="another machine's", host="vm-2")
    assert not is_abandoned(directory)
    recorded(directory, boot="another machine's", host="vm-2", machine="other", pid=NOBODY)
    assert not is_abandoned(directory)


def test_in_var_tmp_a_directory_of_another_boot_is_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = make_directory("run", tmp_path)
    recorded(directory, boot="earlier", namespace="pid:[1]")
    assert not is_abandoned(directory)
    monkeypatch.setattr(process_directories, "HOME", tmp_path)
    assert is_abandoned(directory)


def test_a_directory_in_the_making_is_abandoned_only_after_an_hour(tmp_path: Path) -> None:
    base = process_directories.usual(tmp_path)
    young = aged(base / f".new-{NOBODY}-1-young", hours=0.5)
    old = aged(base / f".new-{NOBODY}-1-old", hours=1.5)
    assert abandoned(tmp_path) == [old]
    assert young.is_dir()


def test_a_directory_whose_name_a_new_one_has_got_is_not_removed(tmp_path: Path) -> None:
    dead = make_directory("run", tmp_path)
    recorded(dead, pid=NOBODY)
    [path] = abandoned(tmp_path)
    assert remove_abandoned(dead)
    new = make_directory("run", tmp_path)
    assert new == path
    assert not remove_abandoned(path)
    assert [item.name for item in new.iterdir()] == ["owner.json"]


def test_no_name_is_given_while_a_directory_of_it_is_removed(tmp_path: Path) -> None:
    dead = make_directory("run", tmp_path)
    recorded(dead, pid=NOBODY)
    made: list[Path] = []
    other = threading.Thread(target=lambda: made.append(make_directory("run", tmp_path)))

    def free(path: Path) -> bool:
        other.start()
        other.join(0.1)
        return made == [] and path == dead

    assert remove_abandoned(dead, free)
    other.join()
    assert made == [dead]
    assert not is_abandoned(dead)
