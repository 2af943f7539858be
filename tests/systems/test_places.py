"""Directories that a plan names, looked at before anything is run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loadcell.systems.shared.data_directory import data_misfits


def test_what_may_not_be_written_to_cannot_have_a_directory_made_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    [misfit] = data_misfits(f"{tmp_path}/new/deeper", "store")
    assert (misfit.path, misfit.message.text) == ("data", f"cannot use {tmp_path}: Permission denied")
    assert misfit.message.advice == "name a directory in `target.store.data` that loadcell may write to"


@pytest.mark.parametrize("data", [None, ""])
def test_the_runs_own_directory_is_always_had(data: str | None) -> None:
    assert list(data_misfits(data, "redis")) == []


def test_a_directory_that_is_there_is_taken_as_it_is(tmp_path: Path) -> None:
    assert list(data_misfits(str(tmp_path), "postgres")) == []
