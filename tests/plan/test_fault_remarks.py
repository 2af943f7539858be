"""Remarks on faults that a load may not be able to judge."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadcell.parts import installed
from loadcell.plan.remarks import remarks
from plan.fault_plans import PLAN, read

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "how-to"


@pytest.mark.parametrize("page", ["faults.md", "faults.zh-CN.md"])
def test_the_plans_of_the_guide_are_valid_and_have_no_remark(tmp_path: Path, page: str) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (GUIDES / page).read_text(encoding="utf-8"), re.DOTALL)
    plans = [read(tmp_path, block) for block in blocks]
    assert [[fault.title for fault in plan.base.faults] for plan in plans] == [
        ["hang postgres"],
        ["kill postgres", "promote postgres.standby-1"],
        ["clock-step postgres", "write-errors postgres", "fsync-errors postgres"],
    ]
    for plan in plans:
        assert not [item for item in remarks(plan, installed()) if item.message.code.startswith("faults.")]


WAITING = "rate: 100/s, max_backlog: 1min, "


@pytest.mark.parametrize(
    ("load", "fault", "codes"),
    [
        ("rate: 100/s, ", "{hang: redis, at: 10s, for: 5s}", []),
        ("", "{hang: redis, at: 10s, for: 5s}", ["faults.closed-loop"]),
        ("rate: 100/s, ", "{hang: redis, at: 1s, for: 5s}", ["faults.no-baseline"]),
        (WAITING, "{hang: redis, at: 15s, for: 6s}", ["faults.recovery-unconfirmed"]),
        (WAITING, "{hang: redis, at: 5s}", []),
        ("rate: 100/s, ", "{hang: redis, at: 25s}", ["faults.recovery-unconfirmed"]),
        (WAITING, "{hang: redis, at: 15s, for: 60s}", ["faults.cut-off"]),
        ("rate: 100/s, ", "{hang: redis, at: 5s, for: 6s}", ["faults.short-backlog"]),
        ("rate: 100/s, ", "{kill: redis, at: 5s}", ["faults.short-backlog"]),
        ("rate: 100/s, ", "{blackhole: network, at: 5s, for: 6s}", ["faults.short-backlog"]),
        ("rate: 100/s, ", "{refuse: network, at: 5s, for: 6s}", []),
        ("rate: 100/s, ", "{command: {subject: redis, run: ls}, at: 5s}", ["fault.command-without-undo"]),
        ("rate: 100/s, ", "{command: {subject: redis, run: ls, undo: null}, at: 5s}", []),
        ("rate: 100/s, ", "{restart: redis, at: 15s}", []),
        (WAITING + "requests: 1000, ", "{hang: redis, at: 15s, for: 14s}", []),
    ],
)
def test_what_a_load_cannot_judge_is_remarked_on(
    tmp_path: Path, load: str, fault: str, codes: list[str]
) -> None:
    text = PLAN.replace("\nload: {", f"\nload: {{{load}") + f"faults: [{fault}]\n"
    listed = remarks(read(tmp_path, text), installed())
    assert [remark.message.code for remark in listed if remark.message.code.startswith("fault")] == codes


@pytest.mark.parametrize(
    ("lasts", "written", "enough"),
    [("10s", "10 s", "1min"), ("60min", "1 h", "2h"), ("150min", "2 h 30 min", "3h")],
)
def test_a_remark_on_a_fault_has_its_times_and_a_backlog_that_suffices(
    tmp_path: Path, lasts: str, written: str, enough: str
) -> None:
    plan = PLAN.replace("clients: 2, duration: 30s", "clients: 2, rate: 100/s, duration: 4h")
    listed = remarks(read(tmp_path, plan + f"faults: [{{hang: redis, at: 5s, for: {lasts}}}]\n"), installed())
    [remark] = [item for item in listed if item.path == "load.max_backlog"]
    assert remark.text == (
        f"hang redis lasts {written}, and `load.max_backlog` is 5s: the trial may end as overloaded. "
        f"set `load.max_backlog: {enough}`"
    )
