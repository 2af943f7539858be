"""Faults that change the bricks of a real volume, while a file on it is read and written."""

from __future__ import annotations

import os
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadcell.faults.add_brick import AddBrick
from loadcell.faults.base import Fault
from loadcell.faults.heal import Heal
from loadcell.faults.rebalance import Rebalance
from loadcell.faults.remove_brick import RemoveBrick
from loadcell.faults.replace_brick import ReplaceBrick
from loadcell.linux import mounts
from loadcell.model.message import Message
from loadcell.monitors.base import MonitorContext
from loadcell.systems.base import TargetError
from loadcell.systems.gluster import volume
from loadcell.systems.gluster.changes import Changes
from loadcell.systems.gluster.command_line import COMMAND_FAILED, COMMAND_LATE, CommandError, CommandLine
from loadcell.systems.gluster.monitor import GlusterMonitor, GlusterMonitorOptions
from loadcell.systems.gluster.options import GlusterOptions
from loadcell.systems.gluster.storage import Gluster, unmet
from loadcell.systems.gluster.subjects import VOLUME

pytestmark = pytest.mark.skipif(
    unmet() is not None and "CI" not in os.environ, reason="needs root, GlusterFS and FUSE"
)

LIMIT_S = 60.0
#: few, because each takes a rebalance 0.15 s
FILES = 12


@pytest.fixture(scope="module")
def notes() -> list[Message]:
    return []


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory, notes: list[Message]) -> Iterator[Gluster]:
    """Two copies on two hosts."""
    options = GlusterOptions(hosts=2, replica=2)
    storage = Gluster(options, tmp_path_factory.mktemp("gluster"), lambda _: None, notes.append)
    yield storage
    storage.remove()


@pytest.fixture
def storage(pool: Gluster) -> Gluster:
    """The pool with its bricks 1 and 2, made again after a test that changed them, and files."""
    pool.make()
    for number in range(FILES):
        (pool.mount / f"file-{number}").write_text(str(number))
    return pool


def apply(kind: type[Fault[Any]], storage: Gluster, **options: Any) -> Fault[Any]:
    fault = kind(kind.Options.model_validate({"subject": VOLUME, **options}), storage.subject(VOLUME))
    fault.prepare()
    fault.apply()
    return fault


def changes(storage: Gluster) -> Changes:
    return Changes(storage.volume)


def bricks(storage: Gluster) -> list[str]:
    """The bricks of the volume, as GlusterFS lists them."""
    info = storage.volume.command_line.ask("volume", "info")
    return [Path(brick.findtext("name") or "").name for brick in info.iter("brick")]


def files_of(storage: Gluster, number: int) -> set[str]:
    return {path.name for path in storage.volume.brick(number).path.glob("file-*") if path.stat().st_size}


def until(condition: Any, event: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, event
        time.sleep(0.1)


def contents(storage: Gluster) -> list[str]:
    return [(storage.mount / f"file-{number}").read_text() for number in range(FILES)]


EXPECTED = [str(number) for number in range(FILES)]


def test_a_replaced_brick_is_healed(storage: Gluster) -> None:
    apply(ReplaceBrick, storage, brick=2, new=4)
    assert bricks(storage) == ["brick-1", "brick-4"]
    until(lambda: storage.volume.brick(4).path.is_dir(), "the new brick")
    apply(Heal, storage, full=True)
    until(lambda: len(files_of(storage, 4)) == FILES, "the heal of the new brick")
    assert contents(storage) == EXPECTED


def test_a_directory_with_the_remains_of_a_brick_is_refused(storage: Gluster) -> None:
    apply(RemoveBrick, storage, bricks=[2], replica=1)
    with pytest.raises(TargetError, match=r"directory of brick 2 is not empty \(\.glusterfs"):
        apply(AddBrick, storage, bricks=[2, 3])
    with pytest.raises(TargetError, match="brick 1 is in the volume already"):
        apply(AddBrick, storage, bricks=[1])


def test_files_move_to_added_bricks_and_back_from_removed_ones(storage: Gluster) -> None:
    apply(AddBrick, storage, bricks=[3, 4])
    rebalance = apply(Rebalance, storage)
    until(lambda: changes(storage).rebalance().ended, "the end of the rebalance")
    rebalance.restore()
    monitor = GlusterMonitor(GlusterMonitorOptions(), MonitorContext(list, storage=storage))
    progress = monitor.sample(0.0)
    assert {(row["node"], row["task"], row["status"], row["left_s"]) for row in progress} == {
        ("host-1", "rebalance", "completed", 0.0),
        ("host-2", "rebalance", "completed", 0.0),
    }
    assert sum(row["scanned"] for row in progress) >= FILES
    contents_of = {row["brick"]: row for row in monitor.further_rows()["bricks"]}
    assert [contents_of[brick]["running"] for brick in (1, 2, 3, 4)] == [1, 1, 1, 1]
    assert contents_of[1]["files"] >= FILES - len(files_of(storage, 3))
    moved = files_of(storage, 3)
    assert moved == files_of(storage, 4) != set()
    removal = apply(RemoveBrick, storage, bricks=[3, 4])
    until(lambda: bricks(storage) == ["brick-1", "brick-2"], "the commit of the removal")
    removal.restore()
    assert contents(storage) == EXPECTED


def test_an_unfinished_removal_is_stopped(storage: Gluster) -> None:
    apply(AddBrick, storage, bricks=[3, 4])
    removal = apply(RemoveBrick, storage, bricks=[3, 4])
    removal.restore()
    with pytest.raises(TargetError, match="not started"):
        changes(storage).removal([3, 4])
    assert bricks(storage) == ["brick-1", "brick-2", "brick-3", "brick-4"]


#: Of GlusterFS 10.3 while the process of a rebalance starts.
STARTING = (
    "Brick ops failed on 10.91.0.2. Glusterd Syncop Mgmt brick op 'Rebalance' failed. "
    "Please check brick log file for details."
)


def test_a_status_that_is_refused_for_a_moment_is_asked_again(
    storage: Gluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(AddBrick, storage, bricks=[3, 4])
    apply(Rebalance, storage)
    refusals = [STARTING, "Another transaction is in progress for loadcell."]
    ask = CommandLine.ask

    def refused(line: CommandLine, *words: str, **options: Any) -> ET.Element:
        if words[-1] == "status" and refusals:
            raise CommandError(COMMAND_FAILED(command="gluster", output=refusals.pop()))
        return ask(line, *words, **options)

    monkeypatch.setattr(CommandLine, "ask", refused)
    until(lambda: changes(storage).rebalance().ended, "the end of the rebalance")
    assert not refusals
    refusals.append(STARTING)
    monitor = GlusterMonitor(GlusterMonitorOptions(), MonitorContext(list, storage=storage))
    assert {row["status"] for row in monitor.sample(0.0)} == {"completed"}
    refusals.append("Volume loadcell does not exist")
    with pytest.raises(CommandError, match="does not exist"):
        changes(storage).rebalance()


@pytest.mark.parametrize(
    ("words", "output", "is_temporary"),
    [
        (("rebalance", "v", "status"), STARTING, True),
        (("rebalance", "v", "stop"), STARTING, True),
        (("add-brick", "v", "b"), STARTING, False),
        (("add-brick", "v", "b"), "Another transaction is in progress for v", True),
        (("rebalance", "v", "status"), "Volume v does not exist", False),
    ],
)
def test_a_change_that_may_be_half_done_is_not_repeated(
    words: tuple[str, ...], output: str, is_temporary: bool
) -> None:
    error = CommandError(COMMAND_FAILED(command="gluster", output=output))
    assert error.is_temporary(*words) is is_temporary


def test_a_changed_volume_is_made_again(storage: Gluster, notes: list[Message]) -> None:
    notes.clear()
    apply(RemoveBrick, storage, bricks=[2], replica=1)
    assert storage.make(), "what was open on it is lost"
    assert [note.code for note in notes if note.code == "gluster.made-again"] == ["gluster.made-again"]
    assert bricks(storage) == ["brick-1", "brick-2"]
    assert list(storage.mount.iterdir()) == []


def test_a_pool_that_does_not_answer_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = GlusterOptions(hosts=2, replica=2)
    storage = Gluster(options, tmp_path / "storage", lambda _: None, lambda _: None)
    ask = CommandLine.ask
    created: list[int] = []

    def unanswered(line: CommandLine, *words: str, **options: Any) -> ET.Element:
        if words[:2] == ("volume", "create"):
            created.append(storage.hosts.roots()[0])
            if created[-1] == created[0]:
                raise CommandError(COMMAND_LATE(command="gluster volume create", limit_s=0.0))
        return ask(line, *words, **options)

    monkeypatch.setattr(CommandLine, "ask", unanswered)
    monkeypatch.setattr(volume, "_POOL_LIMIT_S", 4.0)
    try:
        storage.make()
        assert len(set(created)) == 2, "the daemons were started again"
        assert mounts.is_mounted(storage.mount)
    finally:
        storage.remove()


def test_the_management_plane_answers_until_its_daemons_stop(storage: Gluster) -> None:
    operations = storage.management()
    for operation in operations.values():
        operation()
    assert bricks(storage) == ["brick-1", "brick-2"], "the volume of the probe is deleted"
    management = storage.subject("storage.management")
    assert management.stop is not None
    assert management.start is not None
    management.stop()
    for name in ("status", "mount", "create"):
        with pytest.raises(TargetError):
            operations[name]()
    management.start()
    operations["mount"]()


def test_copies_are_removed_at_once(storage: Gluster) -> None:
    (storage.mount / "file").write_text("kept")
    apply(RemoveBrick, storage, bricks=[2], replica=1)
    assert bricks(storage) == ["brick-1"]
    assert (storage.mount / "file").read_text() == "kept"
