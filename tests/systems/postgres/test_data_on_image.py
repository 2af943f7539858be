"""A server whose data lie on a file system in a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loadcell.plan.model import Load
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.postgres.target import Postgres
from systems.bench import Bench
from systems.test_image import images_in, refusal


def test_a_server_on_an_image_and_nothing_of_it_afterwards(bench: Bench[Postgres]) -> None:
    directory = bench.work.parent
    target = bench.target(data={"image": str(directory), "size": "256MiB"})
    if refusal(target.up) is not None:
        return
    data = target.describe().data
    assert data["type"] == "ext4"
    assert Path(data["device"]).name.startswith("loop")
    assert data["image"]["path"].startswith(f"{directory}/loadcell-")
    other = bench.target(data={"image": str(directory), "size": "256MiB"}, settings={"work_mem": "8MB"})
    target.down()
    other.up()
    assert len(images_in(directory)) == 1, "other settings, the same data directory"
    other.down()
    target.destroy()
    other.destroy()
    assert images_in(directory) == []
    assert str(directory) not in Path("/proc/self/mountinfo").read_text()


def test_check_says_that_only_root_can(monkeypatch: pytest.MonkeyPatch) -> None:
    options = PostgresOptions.model_validate({"data": {"image": "/var/tmp", "size": "1GiB"}})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    [remark] = Postgres.advice(options, Load())
    assert remark.path == "target.postgres.data"
    assert "only root can mount an image" in remark.message.text
    assert "--only" in remark.message.text
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert Postgres.advice(options, Load()) == []
