"""`loadcell init`: plans to start with, files and languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drafting.drafted import document, drafted, init, refused
from lines import called
from loadcell.drafting.draft import all_sources, names
from loadcell.parts import installed


@pytest.mark.parametrize(
    ("words", "workload"),
    [
        (("postgres",), "pgbench"),
        (("mysql",), "sysbench"),
        (("redis",), "kv"),
        (("store",), "kv"),
        (("duckdb",), "duckdb"),
        (("host",), "probe"),
        (("command",), "http"),
        (("jvm",), "http"),
        (("stream",), "stream"),
        (("directory",), "files"),
        (("http", "http://127.0.0.1:8080/items?page=1"), "http"),
    ],
)
def test_every_system_has_a_plan_to_start_with(tmp_path: Path, words: tuple[str, ...], workload: str) -> None:
    plan = drafted(tmp_path, *words)
    assert list(plan["workload"]) == [workload]
    assert {"title", "target", "load", "factors", "repeats", "expect"} <= plan.keys()


def test_no_system_lacks_one() -> None:
    assert set(installed().targets) <= set(names())


@pytest.mark.parametrize("system", ["postgres", "mysql", "redis", "store", "command", "directory"])
def test_an_open_loop_is_valid_instead(tmp_path: Path, system: str) -> None:
    plan = init(tmp_path, system).stdout
    (tmp_path / "plan.yaml").write_text(plan.replace("# rate:", "rate:"))
    checked = called(tmp_path, "check", "plan.yaml")
    assert checked.returncode == 0, checked.stderr


def test_settings_that_are_commented_out_are_valid_as_well(tmp_path: Path) -> None:
    plan = init(tmp_path, "redis").stdout
    active = re.sub(r"# (commands|rate):", r"\1:", plan)
    (tmp_path / "plan.yaml").write_text(active)
    checked = called(tmp_path, "check", "plan.yaml")
    assert checked.returncode == 0, checked.stderr
    assert document(active)["load"]["rate"] == "200/s"


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    result = init(tmp_path, "redis", "--out", "plan.yaml")
    assert (result.returncode, result.stdout) == (0, "")
    assert (
        "`loadcell check plan.yaml` shows what would run, `loadcell run plan.yaml` measures" in result.stderr
    )
    (tmp_path / "plan.yaml").write_text("mine")
    assert "Name another file, or remove it" in refused(tmp_path, "redis", "--out", "plan.yaml")
    assert (tmp_path / "plan.yaml").read_text() == "mine"


def test_the_next_step_is_on_standard_error(tmp_path: Path) -> None:
    result = init(tmp_path, "redis")
    assert "Next: save this plan (--out FILE)" in result.stderr
    assert "Next" not in result.stdout


def test_chinese(tmp_path: Path) -> None:
    result = init(tmp_path, "mysql", "--lang", "zh")
    assert "title: 并发增长时的 MariaDB 或 MySQL" in result.stdout
    assert "下一步" in result.stderr
    assert "不存在" in refused(tmp_path, "gone.har", "--lang", "zh")


def test_every_source_is_named_or_recognised() -> None:
    assert all(source.names or source.recognises for source in all_sources().values())
    assert len(names()) == len(set(names()))


def test_wrong_calls(tmp_path: Path) -> None:
    assert "Did you mean postgres?" in refused(tmp_path, "postgers")
    assert "loadcell init -- pgbench ..." in refused(tmp_path, "pgbench", "-c", "4")
    assert "There is no file gone.har" in refused(tmp_path, "gone.har")
    assert "'x' behind" not in refused(tmp_path, "redis", "x")
    assert "named by its URL" in refused(tmp_path, "http")
    (tmp_path / "x.txt").write_text("hello")
    assert "x.txt is none of these" in refused(tmp_path, "x.txt")
    (tmp_path / "y.bin").write_bytes(b"\xff\x00\xfe")
    assert "y.bin is not text in UTF-8" in refused(tmp_path, "y.bin")
    (tmp_path / "z.har").write_text("")
    assert "z.har is empty" in refused(tmp_path, "z.har")
