"""Entries of a volume in split-brain: each once, whether bricks state its path or its GFID."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from loadcell.incidents.base import Diagnosis
from loadcell.incidents.live.gluster import Brick, Volume
from loadcell.systems.gluster import text_answers

from .test_gluster_incidents import volume
from .test_host_incidents import of


def entries_of(*bricks: str) -> str:
    """An answer of bricks with these entries, in words."""
    return "".join(
        f"Brick n{number}:/b\n" + "".join(f"{entry}\n" for entry in entries.split()) + "Status: Connected\n\n"
        for number, entries in enumerate(bricks)
    )


@pytest.mark.parametrize(
    ("bricks", "expected", "has_more"),
    [
        (("/a /b", "<gfid:1> <gfid:2>"), "/a /b", True),
        (("<gfid:1> <gfid:2>", "/a /b"), "/a /b", True),
        (("<gfid:2> <gfid:1>", "/a <gfid:2>"), "/a <gfid:2>", True),
        (("/a <gfid:1>", "<gfid:2> /b"), "/a /b", True),
        (("<gfid:1>", "<gfid:1>"), "<gfid:1>", False),
        (("/a /b", "/b /a"), "/a /b", False),
        (("/a", "<gfid:1>", "<gfid:2>", "/b"), "/a /b", True),
        (("/a", "", "<gfid:2>", ""), "/a <gfid:2>", False),
    ],
)
def test_a_file_in_split_brain_counts_once(bricks: tuple[str, ...], expected: str, has_more: bool) -> None:
    result = text_answers.split_brain(entries_of(*bricks), copies=2)
    assert result == text_answers.SplitBrain(tuple(expected.split()), len(bricks), has_more)


@pytest.mark.parametrize(
    ("bricks", "expected", "has_more"),
    [
        (("/a /b", "<gfid:1> <gfid:2>"), "/a /b", False),
        (("/a /b", "<gfid:1> <gfid:3>"), "/a /b <gfid:3>", False),  # another file, whose path no brick states
        (("/a", "<gfid:3>"), "/a <gfid:3>", False),
        (("/a /removed", "<gfid:1> <gfid:3>"), "/a /removed", True),
        (("/split", "<gfid:4> <gfid:5>"), "/split", False),
        (("/a", "/a", "<gfid:1>", "<gfid:1>"), "/a", False),  # a directory, which all pairs have
    ],
)
def test_gfids_of_paths_make_the_number_exact(bricks: tuple[str, ...], expected: str, has_more: bool) -> None:
    gfids = {"/a": ["1"], "/b": ["2"], "/split": ["4", "5"]}
    result = text_answers.split_brain(
        entries_of(*bricks), 2, lambda path: gfids.get(path, []), of_all_bricks=True
    )
    assert result == text_answers.SplitBrain(tuple(expected.split()), len(bricks), has_more)


@pytest.mark.parametrize(
    ("bricks", "expected", "has_more"),
    [
        (("/a /b", "<gfid:1> <gfid:2>"), "/a /b", False),
        (("/a /b", "<gfid:1> <gfid:3>"), "/a /b", True),
        (("/a", "<gfid:3>"), "/a", True),
        (("/a", "/a <gfid:3>"), "/a <gfid:3>", False),  # the second brick states both
    ],
)
def test_another_brick_may_have_another_gfid_of_a_path(
    bricks: tuple[str, ...], expected: str, has_more: bool
) -> None:
    gfids = {"/a": ["1"], "/b": ["2"]}
    result = text_answers.split_brain(entries_of(*bricks), 2, lambda path: gfids.get(path, []))
    assert result == text_answers.SplitBrain(tuple(expected.split()), len(bricks), has_more)


def test_a_number_that_is_not_exact_is_stated_so() -> None:
    (diagnosis,) = of(volume(split_brain=("/a", "/b"), has_more=True), "gluster-split-brain")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.summary.text.startswith("at least 2 entries of the volume data are in split-brain")
    (exact,) = of(volume(split_brain=("/a",)), "gluster-split-brain")
    assert isinstance(exact, Diagnosis)
    assert exact.summary.text.startswith("1 entry of the volume data is in split-brain")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to set attributes of bricks")
def test_bricks_of_this_host_have_the_gfids_of_paths(tmp_path: Path) -> None:
    volume_id, gfid, other = (uuid.uuid4() for _ in range(3))
    for name, of_volume, of_file in (("a", volume_id, gfid), ("b", uuid.uuid4(), other)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        os.setxattr(tmp_path / name, "trusted.glusterfs.volume-id", of_volume.bytes)
        os.setxattr(tmp_path / name / "file", "trusted.gfid", of_file.bytes)
    bricks = tuple(Brick(f"n{number}:{tmp_path}/{name}") for number, name in enumerate("abc"))
    pair = Volume("data", bricks, 3, str(volume_id))
    assert pair.gfids_of("/file") == {str(gfid)}, "b is a brick of another volume"
    assert pair.gfids_of("/removed") == set()
    assert not pair.is_local
    assert Volume("data", bricks[:1], 1, str(volume_id)).is_local
