"""Faults at the same time: refused where one would end or replace another."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.linux import limited_groups
from loadcell.plan.problems import PlanError
from plan.fault_plans import PLAN, read

STORAGE = PLAN.replace("{server: local}", "{server: local, storage: {gluster: {hosts: 3}}}")


@pytest.mark.parametrize(
    ("plan", "first", "second", "code"),
    [
        (PLAN, "hang: redis, after: 1000, for: 5s", "hang: redis, after: 9000", "may-overlap"),
        (PLAN, "hang: redis, after: 1000, for: 5s", "hang: redis, at: 9s", "may-overlap"),
        (PLAN, "hang: redis, after: 1000", "kill: redis, at: 9s", None),
        (PLAN, "restart: redis, after: 1000", "restart: redis, after: 2000", None),
        (
            PLAN,
            "delay: {subject: network, time: 1ms}, after: 1",
            "delay: {subject: network, time: 2ms}, after: 9",
            None,
        ),
        (
            PLAN,
            "command: {subject: redis, run: a, undo: b}, after: 1",
            "command: {subject: redis, run: c, undo: b}, after: 9",
            "may-overlap",
        ),
        (
            PLAN,
            "command: {subject: redis, run: a, undo: b}, after: 1",
            "command: {subject: redis, run: a, undo: c}, after: 9",
            None,
        ),
        (
            PLAN,
            "clock-step: {subject: redis, by: 1h}, at: 1s",
            "clock-shift: {subject: redis, by: 1s, over: 1s}, after: 9",
            "may-overlap",
        ),
        (STORAGE, "hang: storage.brick, at: 1s", "hang: storage.brick-1, at: 2s", "shares-parts"),
        (STORAGE, "hang: storage.brick, at: 1s, for: 1s", "hang: storage.brick-1, at: 2s", None),
        (STORAGE, "hang: storage.hosts, at: 1s", "hang: storage.brick-2, at: 2s", "shares-parts"),
        (STORAGE, "hang: storage.bricks, after: 9", "hang: storage.brick-2, at: 2s", "may-overlap"),
        (STORAGE, "hang: storage.brick, at: 1s", "hang: storage.brick-2, at: 2s", None),
        (STORAGE, "hang: storage.host-2, after: 1", "hang: storage.management-1, after: 2", None),
    ],
)
def test_a_fault_that_would_end_another_one_is_refused(
    tmp_path: Path, plan: str, first: str, second: str, code: str | None
) -> None:
    text = plan + f"faults:\n  - {{{first}}}\n  - {{{second}, overlap: true}}\n"
    if code is None:
        assert len(read(tmp_path, text).base.faults) == 2
        return
    with pytest.raises(PlanError) as raised:
        read(tmp_path, text)
    assert [problem.message.code for problem in raised.value.problems] == [f"plan.fault-{code}"]


def test_limits_of_one_hierarchy_of_control_groups_do_not_overlap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In v1 each controller has its own, in v2 all share one: the second group would replace the first."""
    text = PLAN + "faults:\n" + (
        "  - {cpu-quota: {subject: redis, cores: 0.5}, at: 1s, for: 5s}\n"
        "  - {memory-limit: {subject: redis, size: 100MiB}, at: 2s, for: 1s, overlap: true}\n"
    )  # fmt: skip
    for directories, refused in (({}, True), ({"memory": "v1"}, False)):
        monkeypatch.setattr(
            limited_groups,
            "hierarchy",
            lambda name, _="", names=directories: limited_groups.Hierarchy(Path(names.get(name, "v2")), True),
        )
        if refused:
            with pytest.raises(PlanError) as raised:
                read(tmp_path, text)
            assert "memory-limit redis would replace the effect of cpu-quota redis" in str(raised.value)
        else:
            assert len(read(tmp_path, text).base.faults) == 2


def test_the_clock_has_one_fault_at_a_time_and_writes_have_another(tmp_path: Path) -> None:
    clocks = "faults:\n  - {clock-step: {subject: redis, by: 1h}, at: 1s, for: 5s}\n"
    shift = "  - {clock-shift: {subject: redis, by: 1s, over: 1s}, at: 2s, for: 1s, overlap: true}\n"
    with pytest.raises(PlanError, match="clock-shift redis would replace the effect of clock-step redis"):
        read(tmp_path, PLAN + clocks + shift)
    writes = "  - {write-errors: redis, at: 2s, for: 1s, overlap: true}\n"
    assert len(read(tmp_path, PLAN + clocks + writes).base.faults) == 2
