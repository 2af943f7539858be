"""The marks by which loadcell knows what it made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from loadcell.systems.base import DataSpec
from loadcell.systems.shared.data_sets import Mark, Owner, parse


def fingerprint(sections: dict[str, Any]) -> str:
    return DataSpec(sections).fingerprint


def test_equal_descriptions_have_equal_fingerprints() -> None:
    assert fingerprint({"a": 1, "b": {"c": 2}}) == fingerprint({"b": {"c": 2}, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert len(fingerprint({})) == 12


def test_a_mark_is_read_as_it_was_written() -> None:
    mark = Mark("changed", "abc", Owner.of(Path("/x")), pristine=False, tables=("t1", "t2"))
    assert parse(mark.text()) == mark


@pytest.mark.parametrize(
    "comment",
    [None, "", "loadcell", "loadcell is nice", "loadcell {}", "loadcell [1]", 'loadcell {"state": "ready"}'],
)
def test_other_comments_are_no_marks(comment: str | None) -> None:
    assert parse(comment) is None


def test_runs_differ_by_host_and_directory() -> None:
    owner, same, other = Owner.of(Path("/runs/1")), Owner.of(Path("/runs/1")), Owner.of(Path("/runs/2"))
    assert owner.same_run(same)
    assert not owner.same_run(other)
    assert owner.tag == same.tag != other.tag


def test_only_an_owner_that_surely_ended_is_dead() -> None:
    me = Owner.of(Path("/x"))
    assert not me.surely_dead()
    with subprocess.Popen(["true"]) as child:
        child.wait()
    assert Owner(me.host, child.pid, 1, "/x").surely_dead()
    assert Owner(me.host, os.getpid(), me.started - 1, "/x").surely_dead(), (
        "the number was given to another process"
    )
    assert not Owner("another-host", child.pid, 1, "/x").surely_dead()
