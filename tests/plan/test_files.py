"""Files that are no plans: each earns one message, none does any harm."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from loadcell.plan.load import load_plan
from loadcell.plan.problems import PlanError, Problem
from plan.fake_parts import PARTS, PLAN


def problem_with(path: Path) -> Problem:
    with pytest.raises(PlanError) as caught:
        load_plan(path, PARTS)
    (problem,) = caught.value.problems
    assert problem.mark.file == str(path)
    assert problem.allowed
    return problem


def written(directory: Path, raw: bytes) -> Path:
    path = directory / "plan.yaml"
    path.write_bytes(raw)
    return path


def test_a_missing_file_names_the_one_beside_it(tmp_path: Path) -> None:
    written(tmp_path, PLAN.encode())
    problem = problem_with(tmp_path / "plna.yaml")
    assert "No such file" in problem.finding
    assert problem.nearest == str(tmp_path / "plan.yaml")
    assert problem_with(tmp_path / "plan").nearest == str(tmp_path / "plan.yaml")
    assert problem_with(tmp_path / "none" / "plan.yaml").nearest is None


def test_a_path_no_file_can_have(tmp_path: Path) -> None:
    assert "cannot be read" in problem_with(tmp_path / ("x" * 5000)).finding
    assert "cannot be read" in problem_with(Path("a\0b")).finding


def test_a_directory(tmp_path: Path) -> None:
    assert problem_with(tmp_path).finding == "is a directory"


def test_a_device() -> None:
    assert problem_with(Path("/dev/zero")).finding == "is not a regular file"


def test_a_pipe_is_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, PLAN.encode())
        os.close(writing)
        assert load_plan(Path(f"/dev/fd/{reading}"), PARTS).treatment_count == 1
    finally:
        os.close(reading)


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"# only a remark\n", b"---\n", b"~\n", b"\xef\xbb\xbf"])
def test_an_empty_file(raw: bytes, tmp_path: Path) -> None:
    problem = problem_with(written(tmp_path, raw))
    assert problem.finding == "is empty"
    assert "target, workload, workloads, load" in (problem.allowed or "")


def test_a_file_of_fifty_megabytes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    started = time.monotonic()
    assert "too large" in problem_with(path).finding
    assert time.monotonic() - started < 1


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    problem = problem_with(written(tmp_path, b"title: x\nquestion: caf\xe9\n"))
    assert "not UTF-8 text (byte 0xe9" in problem.finding
    assert (problem.mark.line, problem.mark.column) == (2, 14)
    assert "not UTF-8" in problem_with(written(tmp_path, PLAN.encode("utf-16"))).finding


def test_a_nul_byte(tmp_path: Path) -> None:
    problem = problem_with(written(tmp_path, b"title: a\n\n  b\0c\n"))
    assert problem.finding == "contains a NUL byte"
    assert (problem.mark.line, problem.mark.column) == (3, 4)


def test_a_control_character(tmp_path: Path) -> None:
    assert "U+001B" in problem_with(written(tmp_path, b"title: \x1b[31mred\n")).finding


def test_a_byte_order_mark_is_no_part_of_the_plan(tmp_path: Path) -> None:
    assert load_plan(written(tmp_path, b"\xef\xbb\xbf" + PLAN.encode()), PARTS).treatment_count == 1


def test_every_tab_that_indents_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, b"target:\n\tdatabase:\n\t\tserver: local\n")
    with pytest.raises(PlanError) as caught:
        load_plan(path, PARTS)
    assert [(p.mark.line, p.mark.column, p.finding) for p in caught.value.problems] == [
        (2, 1, "a tab is used to indent"),
        (3, 1, "a tab is used to indent"),
    ]


def test_tabs_within_quotes_are_let_be_and_elsewhere_told(tmp_path: Path) -> None:
    assert load_plan(written(tmp_path, (PLAN + "title: 'a\tb' # \t\n").encode()), PARTS).title == "a\tb"
    problem = problem_with(written(tmp_path, (PLAN + "title:\ta\n").encode()))
    assert problem.finding == "a tab is not allowed here"
    assert (problem.mark.line, problem.mark.column) == (4, 7)


def test_a_bomb_of_aliases_does_not_go_off(tmp_path: Path) -> None:
    lines = ["a0: &a0 [lol, lol]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    started = time.monotonic()
    problem = problem_with(written(tmp_path, "\n".join(lines).encode()))
    assert "more than 50,000 values" in problem.finding
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("text", "column"),
    [("[" * 5000, 42), ("{a: " * 5000, 162), ("- " * 3000 + "x", 83), ("a: " + "[" * 45 + "]" * 45, 44)],
    ids=["sequences", "mappings", "block", "closed"],
)
def test_endless_nesting(text: str, column: int, tmp_path: Path) -> None:
    problem = problem_with(written(tmp_path, text.encode()))
    assert problem.finding == "is nested more than 40 deep"
    assert problem.mark.line == 1
    assert problem.mark.column == column


def test_numbers_without_end(tmp_path: Path) -> None:
    text = PLAN.replace("{clients: 1}", "{clients: " + "9" * 5000 + "}")
    with pytest.raises(PlanError, match=r"load\.clients: found"):
        load_plan(written(tmp_path, text.encode()), PARTS)
    text = PLAN.replace("{mix: {}}", "{mix: {ratio: 1e9999}}")
    with pytest.raises(PlanError, match=r"workload\.mix\.ratio: found \"1e9999\""):
        load_plan(written(tmp_path, text.encode()), PARTS)


def test_half_a_character(tmp_path: Path) -> None:
    problem = problem_with(written(tmp_path, PLAN.encode() + rb'title: "\ud800"'))
    assert "surrogate" in problem.finding
