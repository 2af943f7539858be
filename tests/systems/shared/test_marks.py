"""The marks by which loadcell knows what it made."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadcell.linux.process_identity import _INITIAL
from loadcell.systems.base import DataSpec
from loadcell.systems.shared.data_sets import Mark, parse
from loadcell.systems.shared.owner import Owner


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
    dead = replace(me, pid=child.pid, started=1)
    assert dead.surely_dead()
    assert replace(me, started=me.started - 1).surely_dead(), "the number was given to another process"
    assert not replace(dead, namespace="pid:[1]").surely_dead(), "another container of this host name"
    assert not replace(dead, boot="other", machine="other").surely_dead(), "another machine of this host name"


def test_same_machine_id_and_other_host_name_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadcell.linux.process_identity._here", lambda: (_INITIAL, "0123456789ab"))
    before = replace(Owner.of(Path("/x")), boot="earlier")
    assert before.surely_dead(), "this machine has been started again"
    assert not replace(before, host="vm-2").surely_dead(), "a clone of this virtual machine"


def test_marks_of_earlier_versions_are_read() -> None:
    owner = {"host": "h", "pid": 1, "started": 2, "run": "/x"}
    text = json.dumps({"state": "ready", "fingerprint": "abc", "owner": owner, "tables": ["t"]})
    mark = parse(f"loadcell {text}")
    assert mark == Mark("ready", "abc", Owner("h", 1, 2, "/x"), tables=("t",))
    assert not mark.owner.surely_dead(), "nothing tells whether that was in this container"
