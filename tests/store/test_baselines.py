"""Names for runs, and what is reported when one is gone."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from loadcell.report.texts import Texts
from loadcell.store import find
from loadcell.store.layout import RUN, StoreError


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / "results" / "plan" / name).mkdir(parents=True)
        (tmp_path / "results" / "plan" / name / RUN).write_text("{}")
    return tmp_path / "results"


def test_a_name_is_kept_changed_and_forgotten(results: Path) -> None:
    assert find.baselines(results) == {}
    find.keep_baseline("main", [results / "plan" / "one"], results)
    assert find.find_baseline("main", results) == (results / "plan" / "one",)
    find.keep_baseline("main", [results / "plan" / "two"], results)
    find.keep_baseline("old", [results / "plan" / "one"], results)
    assert find.baselines(results) == {
        "main": (results / "plan" / "two",),
        "old": (results / "plan" / "one",),
    }
    find.remove_baseline("main", results)
    assert list(find.baselines(results)) == ["old"]


def test_names_move_with_the_results(results: Path) -> None:
    find.keep_baseline("main", [results / "plan" / "one"], results)
    moved = results.rename(results.parent / "elsewhere")
    assert find.find_baseline("main", moved) == (moved / "plan" / "one",)


def test_a_run_elsewhere_is_kept_by_its_whole_path(results: Path, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / RUN).write_text("{}")
    find.keep_baseline("main", [tmp_path / "away"], results)
    assert find.find_baseline("main", results) == (tmp_path / "away",)


def test_a_name_may_stand_for_several_runs(results: Path) -> None:
    first, second = (results / "plan" / name for name in ("one", "two"))
    find.keep_baseline("main", [second, first, second], results)
    find.keep_baseline("old", [first], results)
    assert find.baselines(results) == {"main": (second, first), "old": (first,)}
    stored = json.loads((results / find.BASELINES).read_text())
    assert stored == {"main": ["plan/two", "plan/one"], "old": "plan/one"}
    shutil.rmtree(first)
    with pytest.raises(StoreError, match=r"the run of baseline .* no longer exists in .*one"):
        find.find_baseline("main", results)


def test_a_file_of_an_earlier_version_is_read(results: Path) -> None:
    (results / find.BASELINES).write_text('{"main": "plan/one"}')
    assert find.find_baseline("main", results) == (results / "plan" / "one",)


def test_a_run_that_is_gone(results: Path) -> None:
    find.keep_baseline("main", [results / "plan" / "one"], results)
    shutil.rmtree(results / "plan" / "one")
    with pytest.raises(StoreError, match="the run of baseline 'main' no longer exists") as error:
        find.find_baseline("main", results)
    assert "loadcell baseline set main RUN" in error.value.advice


def test_a_name_that_is_not_there(results: Path) -> None:
    for act in (find.find_baseline, find.remove_baseline):
        with pytest.raises(StoreError, match="no baseline 'main'"):
            act("main", results)
    find.keep_baseline("old", [results / "plan" / "one"], results)
    with pytest.raises(StoreError) as error:
        find.find_baseline("main", results)
    assert "Baselines: old." in error.value.advice


@pytest.mark.parametrize("name", ["", "-x", "a b", "../x", "x" * 65, "名"])
def test_a_name_that_would_be_trouble_on_a_command_line(results: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be a baseline's name"):
        find.keep_baseline(name, [results / "plan" / "one"], results)


@pytest.mark.parametrize("text", ["", "[]", '{"main": 3}', '{"main": []}', '{"main": ["one", 3]}', "{"])
def test_a_file_that_is_none(results: Path, text: str) -> None:
    (results / find.BASELINES).write_text(text)
    with pytest.raises(StoreError, match="is not a list of baselines"):
        find.baselines(results)


@pytest.mark.parametrize(
    ("number", "en", "zh"),
    [
        (
            errno.EROFS,
            "mounted read-only: change to a directory that you can write, and name the run by its path.",
            "以只读方式挂载：请切换到可写的目录，并用路径指定运行。",
        ),
        (
            errno.ENOSPC,
            "Free some space there, then repeat the command.",
            "请在那里释放空间，然后重新执行该命令。",
        ),
    ],
)
def test_a_name_that_cannot_be_kept_has_a_remedy_of_its_command(
    results: Path, monkeypatch: pytest.MonkeyPatch, number: int, en: str, zh: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(find, "write_text", refuse)
    with pytest.raises(StoreError) as caught:
        find.keep_baseline("main", [results / "plan" / "one"], results)
    assert caught.value.advice.endswith(en)
    assert "--out" not in caught.value.advice
    remedy = caught.value.message.remedy
    assert remedy is not None
    assert Texts("zh").message(remedy).endswith(zh)
