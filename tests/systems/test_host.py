"""The machine as a target: one directory, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.plan.model import Load
from loadcell.systems.base import TargetContext, TargetError
from loadcell.systems.host.target import Host, HostOptions
from loadcell.systems.shared.owner import Owner

Make = Callable[..., Host]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    work = tmp_path / "work"
    work.mkdir()

    def host(**options: Any) -> Host:
        return Host(HostOptions(**options), TargetContext(work, lambda _: None, lambda text: text))

    return host


def test_it_has_a_directory_in_the_runs_own_until_the_end(tmp_path: Path, make: Make) -> None:
    host = make()
    host.up()
    directory = Path(host.endpoint().directory)
    assert directory.is_dir()
    assert directory.parent == tmp_path / "work"
    host.up()
    assert host.endpoint().directory == str(directory), "the next trial has the same"
    host.down()
    assert directory.is_dir()
    host.destroy()
    host.destroy()
    assert not directory.exists()


def test_a_directory_that_is_named_gets_one_in_it(tmp_path: Path, make: Make) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "mine").write_text("precious")
    host = make(directory=str(tmp_path / "disk"))
    host.up()
    assert Path(host.endpoint().directory).parent == tmp_path / "disk"
    assert host.describe().data["mount"]
    host.destroy()
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["mine"]


def test_what_killed_runs_left_is_swept_and_what_others_made_is_not(tmp_path: Path, make: Make) -> None:
    disk = tmp_path / "disk"
    owner = Owner.of(tmp_path)
    gone = {**asdict(owner), "started": owner.started - 1}
    leftovers = {"loadcell-host-dead": gone, "loadcell-host-alive": asdict(owner), "other-dead": gone}
    for name, mark in leftovers.items():
        (disk / name).mkdir(parents=True)
        (disk / name / "loadcell.json").write_text(json.dumps(mark))
    (disk / "loadcell-host-strange").mkdir()
    elsewhere = asdict(replace(owner, host="another", boot="another", machine="another", started=1))
    (disk / "loadcell-host-elsewhere").mkdir()
    (disk / "loadcell-host-elsewhere" / "loadcell.json").write_text(json.dumps(elsewhere))
    host = make(directory=str(disk))
    host.up()
    host.destroy()
    assert sorted(path.name for path in disk.iterdir()) == [
        "loadcell-host-alive",
        "loadcell-host-elsewhere",
        "loadcell-host-strange",
        "other-dead",
    ]


def test_a_directory_that_is_not_there_or_cannot_be_written_is_refused(tmp_path: Path, make: Make) -> None:
    with pytest.raises(TargetError, match="there is no directory") as caught:
        make(directory=str(tmp_path / "nowhere")).up()
    assert "target.host.directory" in caught.value.advice
    if os.geteuid() != 0:  # root may write anywhere
        (tmp_path / "sealed").mkdir(mode=0o500)
    directory = "/proc" if os.geteuid() == 0 else str(tmp_path / "sealed")
    with pytest.raises(TargetError, match="cannot create a directory") as caught:
        make(directory=directory).up()
    assert "may write to" in caught.value.advice


@pytest.mark.parametrize("peer", ["db.example:7733", "192.0.2.1:1", "[::1]:65535"])
def test_a_peer_is_host_and_port(make: Make, peer: str) -> None:
    host = make(peer=peer)
    host.up()
    assert host.endpoint().peer == peer
    host.destroy()


@pytest.mark.parametrize(
    "peer", ["db.example", "db.example:0", "db:65536", "::1:5", "http://db:80", "db:x", ""]
)
def test_what_is_no_peer_is_a_mistake(peer: str) -> None:
    with pytest.raises(ValidationError, match="HOST:PORT"):
        HostOptions(peer=peer)


def test_it_is_always_there_and_counts_nothing(make: Make) -> None:
    host = make()
    assert host.alive()
    assert host.in_worker
    assert (host.processes(), host.counters()) == ([], {})
    with pytest.raises(TargetError, match="no data"):
        host.prepare({}, lambda _: {}, will_change=False)


def test_threads_have_no_effect_and_it_says_so(make: Make) -> None:
    options = make().options
    assert Host.advice(options, Load(clients=2)) == []
    assert "load.threads" in Host.advice(options, Load(threads=2))[0].message.text
