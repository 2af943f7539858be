"""The workload of files: its options, and its demands on a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.load import load_text
from loadcell.plan.problems import PlanError
from loadcell.workloads.files import Files, FilesOptions

PLAN = "target: {directory: {}}\nworkload: {files: {count: 100}}\nload: {clients: 4}\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": {"from": "2KiB", "to": "1KiB"}}, r"`from` \(2KiB\) exceeds `to` \(1KiB\): swap them"),
        ({"sizes": "8B"}, "greater than or equal to 16"),
        ({"sizes": []}, "at least 1 item"),
        ({"mix": {}}, "there is no operation"),
        ({"mix": {"delete": 1, "read": 1}}, "give `create` a share"),
        ({"mix": {"append": 1}}, "append"),
        ({"count": 0}, "count"),
        ({"directories": 0}, "directories"),
    ],
)
def test_unusable_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        FilesOptions(**options)


@pytest.mark.parametrize(
    ("sizes", "section", "mean"),
    [
        ("16KiB", 16384, 16384),
        (["1KiB", "3KiB"], [1024, 3072], 2048),
        ({"from": "1KiB", "to": "3KiB"}, {"from": 1024, "to": 3072}, 2048),
    ],
)
def test_sizes_are_one_several_or_a_range(sizes: Any, section: Any, mean: float) -> None:
    options = FilesOptions(sizes=sizes)
    assert options.section()["sizes"] == section
    assert options.mean_size == mean


def test_data_depend_on_count_directories_and_sizes() -> None:
    reading = Files(FilesOptions(mix={"read": 1, "list": 1}))
    writing = Files(FilesOptions(mix={"write": 1}, fsync=False))
    assert reading.data() == writing.data()
    assert (reading.changes_data, writing.changes_data) == (False, True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4}", "4, timeout: 5s}", "a running call of the operating system cannot be aborted"),
        ("4}", "200}", "100 files are fewer than 200 clients"),
        ("{directory: {}}", "{redis: {}}", "does not work with the target redis"),
    ],
)
def test_unsuitable_plans_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        load_text(PLAN.replace(old, new), Path("plan.yaml"), installed(), env={})
