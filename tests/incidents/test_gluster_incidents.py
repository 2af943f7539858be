"""Incidents of GlusterFS: answers of its command line, and a volume whose bricks were changed by hand."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from loadcell.incidents.base import Diagnosis, Unseen, examine
from loadcell.incidents.evidence.gluster import GlusterNames, GlusterVolume, LostName, Rebalance
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.gathering import Gathered, gather
from loadcell.incidents.live.gluster import Brick, GlusterGatherer
from loadcell.incidents.live.gluster_names import GlusterNamesGatherer, Walk, divided
from loadcell.linux.mount_table import Mount
from loadcell.systems.gluster import name_hash, text_answers
from loadcell.systems.gluster.options import GlusterOptions
from loadcell.systems.gluster.storage import Gluster, unmet
from loadcell.systems.gluster.volume import NAME

from .test_host_incidents import level, of

DAY_S = 86_400.0
SPLIT_BRAIN = """Brick n1:/data/brick
/dir/a
<gfid:6dc78b20-7eb6-49a3-8edb-087b90142246>
Status: Connected
Number of entries in split-brain: 2

Brick n2:/data/brick
/dir/a - Is in split-brain

Status: Connected
Number of entries in split-brain: 1

Brick n3:/data/brick
Status: Transport endpoint is not connected
Number of entries in split-brain: -
"""
OPEN = """Brick: n1:/data/brick
Current open fds: 18446744073709534192, Max open fds: 5, Max openfd time: 2026-11-29 12:27:11.513537 +0000
Brick: n2:/data/brick
Current open fds: 812, Max open fds: 900, Max openfd time: 2026-11-29 12:27:11.513537 +0000
"""
REBALANCE = """                     Node Rebalanced-files          size       scanned      failures       skipped               status  run time in h:m:s
                ---------      -----------   -----------   -----------   -----------   -----------         ------------     --------------
                localhost           310204       120.5GB       1250000             0             4          in progress       41:10:05
                       n2           300000       110.5GB       1150000             0             4          in progress       41:10:01
                       n3                0        0Bytes             0             0             0            completed        0:00:01
Estimated time left for rebalance to complete :      412:10:05
volume rebalance: data: success
"""  # noqa: E501


def volume(**values: Any) -> GlusterVolume:
    return GlusterVolume("data", 3, **values)


def rebalancing(left_s: float | None) -> GlusterVolume:
    return volume(rebalance=Rebalance(3600.0, 36_000, left_s))


def test_answers_are_read() -> None:
    assert text_answers.split_brain(SPLIT_BRAIN) == text_answers.SplitBrain(
        ("/dir/a", "<gfid:6dc78b20-7eb6-49a3-8edb-087b90142246>"), 2, has_more=True
    )
    assert text_answers.open_files(OPEN) == (
        ("n1:/data/brick", 18446744073709534192),
        ("n2:/data/brick", 812),
    )
    status = text_answers.rebalance(REBALANCE)
    assert status == text_answers.RebalanceStatus(148_205.0, 2_400_000, 412 * 3600 + 605.0)
    assert text_answers.rebalance("volume rebalance: data: failed: Rebalance not started.") is None
    assert text_answers.split_brain("") == text_answers.SplitBrain((), 0)


@pytest.mark.parametrize(
    ("incident", "evidence", "expected"),
    [
        ("gluster-split-brain", volume(split_brain=("/a",)), "critical"),
        ("gluster-split-brain", volume(split_brain=(), connected=3), "healthy"),
        ("gluster-negative-counter", volume(open_files=(("b", 2**64 - 17424),)), "note"),
        ("gluster-negative-counter", volume(open_files=(("b", 812),)), "healthy"),
        ("gluster-slow-rebalance", rebalancing(17 * DAY_S), "warning"),
        ("gluster-slow-rebalance", rebalancing(0.8 * 7 * DAY_S), "healthy"),
        ("gluster-slow-rebalance", volume(), "healthy"),
        ("gluster-doubled-names", GlusterNames("/m", 5, 1, doubled=("a",)), "critical"),
        ("gluster-doubled-names", GlusterNames("/m", 5, 1), "healthy"),
        ("gluster-lost-modes", GlusterNames("/m", 5, 1, without_mode=("a",)), "critical"),
        ("gluster-lost-modes", GlusterNames("/m", 5, 1), "healthy"),
        ("gluster-lost-names", GlusterNames("/m", 5, 1, lost=(LostName("a", "x"),)), "critical"),
        ("gluster-lost-names", GlusterNames("/m", 5, 1), "healthy"),
    ],
)
def test_levels(incident: str, evidence: Any, expected: str) -> None:
    assert level(evidence, incident) == expected


def test_the_counter_below_zero_is_explained() -> None:
    (diagnosis,) = of(volume(open_files=text_answers.open_files(OPEN)), "gluster-negative-counter")
    assert isinstance(diagnosis, Diagnosis)
    assert "17,424 below zero" in diagnosis.summary.text
    assert "n1:/data/brick" in diagnosis.summary.text


def test_a_brick_of_another_host_with_the_same_path_is_not_local(tmp_path: Path) -> None:
    (tmp_path / ".glusterfs").mkdir()
    bricks = [Brick(f"n{number}:{tmp_path}", f"id-{number}") for number in (1, 2)]
    unknown = Brick(f"n3:{tmp_path}")
    removed = Brick(f"n1:{tmp_path}/removed", "id-1")
    result = divided([*bricks, unknown, removed], "id-1")
    assert (result.local, result.others) == ((bricks[0],), (bricks[1], unknown, removed))
    assert divided(bricks, "").local == ()
    assert Brick("[fe80::1]:/data/brick").path == Path("/data/brick")


def test_a_walk_ends_at_its_deadline(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"d{number}").mkdir()
    total = Walk(Mount(str(tmp_path), "fuse.glusterfs", "h:/v", "0:1"))
    total.run(time.monotonic() + 5)
    assert (total.names, total.directories, total.is_all) == (50, 51, True)
    cut = Walk(Mount(str(tmp_path), "fuse.glusterfs", "h:/v", "0:1"))
    cut.run(time.monotonic() - 1)
    assert not cut.evidence().is_all


@pytest.mark.parametrize(
    ("incident", "defect"),
    [
        ("gluster-doubled-names", {"doubled": ("a",) * 60}),
        ("gluster-lost-modes", {"without_mode": ("a",) * 60}),
        ("gluster-lost-names", {"lost": (LostName("a", "x"),) * 60}),
    ],
)
def test_a_partial_walk_is_stated(incident: str, defect: dict[str, Any]) -> None:
    (partly,) = of(GlusterNames("/m", 70, 70, is_all=False), incident)
    assert isinstance(partly, Unseen)
    assert partly.reason.text.startswith("not all")
    (diagnosis,) = of(GlusterNames("/m", 70, 70, is_all=False, **defect), incident)
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.summary.text.startswith("at least 60 ")
    (complete,) = of(GlusterNames("/m", 70, 70, **defect), incident)
    assert isinstance(complete, Diagnosis)
    assert complete.summary.text.startswith("60 ")


class Listing(Walk):
    """A walk over a directory whose readings give these names, an iterable for each; the last one again."""

    readings: int = 0
    listings: Sequence[Iterable[str] | OSError] = ()

    def _names(self, path: str) -> Iterator[str]:
        names = self.listings[min(self.readings, len(self.listings) - 1)]
        self.readings += 1
        if isinstance(names, OSError):
            raise names
        yield from names


def listing(directory: Path, *listings: Iterable[str] | OSError) -> Listing:
    walk = Listing(Mount(str(directory), "fuse.glusterfs", "h:/v", "0:1"))
    walk.listings = listings
    return walk


def test_thousands_of_defects_need_two_readings(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"d{number}").touch()
    names = [f"d{number}" for number in range(3000)] * 2 + [f"lost-{number}" for number in range(3000)]
    walk = listing(tmp_path, names)
    walk.run(time.monotonic() + 20)
    assert walk.readings == 2
    evidence = walk.evidence()
    assert (len(evidence.doubled), len(evidence.lost), evidence.is_all) == (3000, 3000, True)


def test_defects_of_one_reading_are_changes_by_other_clients(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    walk = listing(tmp_path, ["a", "a", "removed"], ["a"])
    walk.run(time.monotonic() + 5)
    assert (walk.doubled, walk.lost, walk.is_all) == ([], [], True)


def test_a_directory_that_cannot_be_read_again_makes_a_walk_partial(tmp_path: Path) -> None:
    walk = listing(tmp_path, ["a", "a"], OSError(5, "Input/output error"))
    walk.run(time.monotonic() + 5)
    assert (walk.doubled, walk.is_all) == ([], False)


def test_a_walk_over_equal_names_ends_at_its_deadline(tmp_path: Path) -> None:
    walk = listing(tmp_path, itertools.repeat("a"))
    begin = time.monotonic()
    walk.run(begin + 0.01)
    assert time.monotonic() - begin < 2
    assert (walk.doubled, walk.is_all) == (["a"], False)
    assert walk.names < 50_000, "the deadline comes first"


def test_a_host_without_gluster_has_no_evidence_and_lacks_none(tmp_path: Path) -> None:
    gathered = gather(Host(tmp_path), [GlusterGatherer, GlusterNamesGatherer])
    assert (gathered.evidence, gathered.missing) == ((), ())


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gluster]:
    """Two hosts without copies, whose volume is mounted on the first host, too."""
    if unmet() is not None and "CI" not in os.environ:
        pytest.skip("needs root, GlusterFS and FUSE")
    directory = tmp_path_factory.mktemp("gluster")
    options = GlusterOptions(hosts=2, replica=1)
    storage = Gluster(options, directory / "hosts", lambda _: None, lambda _: None)
    storage.make()
    inside(storage, "gluster", "--mode=script", "volume", "set", NAME, "cluster.lookup-unhashed", "off")
    (directory / "mount").mkdir()
    yield storage
    storage.remove()


def inside(storage: Gluster, *words: str) -> str:
    done = subprocess.run(
        storage.hosts.inside(1, words), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_the_hash_of_names_is_that_of_gluster(storage: Gluster) -> None:
    home = storage.mount / "hashed"
    home.mkdir()
    names = [f"file-{number}" for number in range(20)] + ["ä" * 9, "x" * 40, ".rsync.txt.Ab12", "a" * 16]
    for name in names:
        (home / name).touch()
    bricks = [brick.path / "hashed" for brick in storage.volume.bricks]
    for name in names:
        holders = [brick for brick in bricks if (brick / name).exists()]
        number = name_hash.name_hash(os.fsencode(name))
        spans = {brick: name_hash.layout(os.getxattr(brick, "trusted.glusterfs.dht")) for brick in bricks}
        assert holders == [brick for brick, span in spans.items() if span and span[0] <= number <= span[1]]


def test_a_damaged_volume_is_recognised(storage: Gluster, tmp_path: Path) -> None:
    home = storage.mount / "dir"
    home.mkdir()
    for name in ("doubled", "lost", "sound"):
        (home / name).write_text(name)
    (home / "closed").mkdir(mode=0o700)
    (home / "closed").chmod(0)
    bricks = [brick.path / "dir" for brick in storage.volume.bricks]
    of_names = {
        name: next(brick for brick in bricks if (brick / name).exists()) for name in ("doubled", "lost")
    }
    others = {name: next(brick for brick in bricks if brick != of_names[name]) for name in of_names}
    subprocess.run(["cp", "-a", of_names["doubled"] / "doubled", others["doubled"]], check=True)
    shutil.move(of_names["lost"] / "lost", others["lost"] / "lost")
    mount = tmp_path / "mount"
    mount.mkdir()
    inside(storage, "mount", "-t", "glusterfs", "-o", "use-readdirp=no", f"10.91.0.1:/{NAME}", str(mount))
    try:
        output = inside(storage, sys.executable, "-m", "loadcell", "doctor", "--live", "--json")
    finally:
        inside(storage, "umount", "-l", str(mount))
    subjects = [subject for subject in json.loads(output)["subjects"] if subject["source"] == str(mount)]
    (names,) = subjects
    seen = {item["incident"]: item for item in names["diagnoses"]}
    assert seen["gluster-doubled-names"]["values"]["names"] == ["dir/doubled"]
    assert seen["gluster-lost-modes"]["values"]["names"] == ["dir/closed"]
    assert seen["gluster-lost-names"]["values"]["names"] == ["dir/lost"]
    (line,) = seen["gluster-lost-names"]["lines"]
    # the directories of both hosts are on this machine; those of the other host are not its own
    first, second = storage.volume.bricks
    is_first = others["lost"].parent == first.path
    assert line["text"].partition("; on ")[2] == (
        f"{first.location if is_first else '?'}; hash: {'?' if is_first else first.location}"
        f"; not inspected: {second.location}"
    )


@pytest.fixture
def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Gathered]:
    """Evidence by a program named `gluster`: started volumes, and a shell script for the other commands."""

    def gathered(script: str, *volumes: str, copies: int = 2) -> Gathered:
        items = "".join(
            f"<volume><name>{name}</name><statusStr>Started</statusStr><replicaCount>{copies}</replicaCount>"
            f"<bricks><brick>n1:/b<name>n1:/b</name></brick></bricks></volume>"
            for name in volumes
        )
        (tmp_path / "info.xml").write_text(f"<cliOutput><opRet>0</opRet>{items}</cliOutput>")
        info = f'case "$*" in *--xml*info) cat {tmp_path}/info.xml; exit;; esac\n' if volumes else ""
        program = tmp_path / "gluster"
        program.write_text(f"#!/bin/sh\n{info}{script}\n")
        program.chmod(0o755)
        (tmp_path / "proc/5").mkdir(parents=True)
        (tmp_path / "proc/5/stat").write_text("5 (glusterd) S 1 " + "0 " * 40)
        monkeypatch.setattr("loadcell.incidents.live.gluster._PATH", f"{tmp_path}:/usr/bin:/bin")
        return gather(Host(tmp_path), [GlusterGatherer])

    return gathered


def reasons(gathered: Gathered) -> dict[str, str]:
    """Text of each incident that could not be seen."""
    (evidence,) = gathered.evidence
    return {item.incident: item.reason.text for item in examine(evidence) if isinstance(item, Unseen)}


def test_a_management_that_does_not_answer_is_missing(answering: Callable[..., Gathered]) -> None:
    (missing,) = answering("exec sleep 100").missing
    assert missing.reason.text == "`gluster --xml volume info` did not answer within 2 s"


def test_a_command_that_meets_the_lock_of_another_is_repeated(
    answering: Callable[..., Gathered], tmp_path: Path
) -> None:
    script = f"""case "$*" in
*rebalance*) if mkdir {tmp_path}/met; then echo Another transaction is in progress >&2; exit 1; fi
  echo Rebalance not started >&2; exit 1;;
esac"""
    assert "gluster-slow-rebalance" not in reasons(answering(script, "data"))
    assert (tmp_path / "met").is_dir()


def test_a_refused_command_is_not_healthy(answering: Callable[..., Gathered]) -> None:
    unseen = reasons(answering("echo Another transaction is in progress >&2; exit 1", "data"))
    assert set(unseen) == {"gluster-split-brain", "gluster-negative-counter", "gluster-slow-rebalance"}
    assert unseen["gluster-slow-rebalance"] == (
        "`gluster volume rebalance data status` failed: Another transaction is in progress"
    )


def test_a_command_that_hangs_is_not_healthy(answering: Callable[..., Gathered]) -> None:
    unseen = reasons(answering('case "$*" in *rebalance*) exec sleep 100;; esac; cat', "data"))
    assert unseen["gluster-slow-rebalance"].endswith("did not answer within 2 s")
    assert unseen["gluster-negative-counter"] == "no brick of the volume data states its open files"
    assert unseen["gluster-split-brain"] == "none of 1 bricks of the volume data answered"


def test_a_rebalance_that_nobody_started_is_healthy(answering: Callable[..., Gathered]) -> None:
    script = "echo volume rebalance: data: failed: Rebalance not started for volume data. >&2; exit 1"
    (evidence,) = answering(script, "data", copies=1).evidence
    assert level(evidence, "gluster-slow-rebalance") == "healthy"
    assert level(evidence, "gluster-split-brain") == "healthy", "it has no copies"


@pytest.mark.parametrize(("script", "asked"), [("exit 1", 8), ("exec sleep 100", 2)])
def test_volumes_that_were_not_asked_are_missing(
    answering: Callable[..., Gathered], script: str, asked: int
) -> None:
    gathered = answering(script, *(f"v{number}" for number in range(10)))
    assert len(gathered.evidence) <= asked
    (missing,) = gathered.missing
    assert missing.reason.arguments["count"] == 10 - len(gathered.evidence)
