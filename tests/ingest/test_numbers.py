"""Numbers that no tool prints: refused where text becomes a number, with file, line and finding."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ingest.made import made
from ingest.test_bad_input import OUTPUTS, call, refused
from loadcell import ingest
from loadcell.ingest import checks
from loadcell.ingest.base import Interval, Measured, NotItsOutputError, Reading
from loadcell.ingest.printed_numbers import UnusableNumberError, count, integer, number, real

DIGITS = "9" * 5_000


@pytest.mark.parametrize("text", ["inf", "-inf", "nan", "1e999", "1_000", DIGITS, "1e30", "", "12x"])
def test_what_no_tool_prints_is_no_number(text: str) -> None:
    for parse in (real, integer, number, count):
        with pytest.raises(UnusableNumberError) as raised:
            parse(text)
        assert len(str(raised.value)) < 100


@pytest.mark.parametrize("text", ["1,5", "1.5", "1e3"])
def test_a_count_is_whole(text: str) -> None:
    with pytest.raises(UnusableNumberError, match="is not a whole number"):
        integer(text)
    assert count("1,234") == 1234
    with pytest.raises(UnusableNumberError, match="is not a whole number"):
        count("1,5")


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (
            "Complete requests:      500",
            "Complete requests:      1,5",
            "line 23: '1,5' is not a whole number",
        ),
        (
            "Failed requests:        0",
            f"Failed requests:        {DIGITS}",
            "exceeds 64 bits",
        ),
        ("Time taken for tests:   0.638", "Time taken for tests:   inf", "line 22: 'inf' is not a number"),
    ],
)
def test_a_result_of_unusable_numbers_names_its_line(
    tmp_path: Path, old: str, new: str, finding: str
) -> None:
    text = (OUTPUTS / "ab.txt").read_text()
    assert old in text
    file = tmp_path / "ab.txt"
    file.write_text(text.replace(old, new))
    for tool in ("ab", "auto"):
        message = refused(tmp_path, tool, file)
        assert str(file) in message
        assert finding in message
        assert len(message) < 1_500


@pytest.mark.parametrize(
    ("value", "finding"),
    [
        (DIGITS, "exceeds 64 bits"),
        ("1e999", "'1e999' exceeds 64 bits"),
        ("NaN", "'NaN' is not a number"),
        ("-Infinity", "'-Infinity' is not a number"),
        ('"many"', "there is no measurement in"),
        ("[1]", "there is no measurement in"),
        ("-5", "which is not a usable value"),
    ],
)
def test_json_of_unusable_numbers_names_its_line(tmp_path: Path, value: str, finding: str) -> None:
    text = (OUTPUTS / "fio.json").read_text()
    begin = text.index('"iops" : ') + len('"iops" : ')
    file = tmp_path / "fio.json"
    file.write_text(text[:begin] + value + text[text.index(",", begin) :])
    message = refused(tmp_path, "fio", file)
    assert finding in message
    if "64 bits" in finding or "no number" in finding:
        assert f"in line {text.count(chr(10), 0, begin) + 1}" in message


def test_half_a_character_in_json_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "fio.json"
    text = (OUTPUTS / "fio.json").read_text()
    file.write_text(text.replace('"jobname" : "', '"jobname" : "a\\ud800b \\ud83d\\ude00 ', 1))
    run = made(tmp_path / "out", "fio", file)
    assert {str(trial.levels.get("part", "")) for trial in run.trials} >= {"a\ufffdb \U0001f600 rr read"}


def test_a_date_beyond_the_calendar_is_a_line_that_is_not_understood(tmp_path: Path) -> None:
    text = (OUTPUTS / "nmon-short.txt").read_text()
    file = tmp_path / "nmon.txt"
    file.write_text(text + "ZZZZ,T0099,10:51:41,20-APR-9223372036854775807\n")
    assert made(tmp_path / "out", "nmon", file).run.imported[0].unread == 1


def test_a_count_in_a_table_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('tps,done\n10,"1,5"\n11,3\n1e308,3\n')
    result = call(tmp_path / "out", "csv", file, "--column", "throughput=tps", "--column", "succeeded=done")
    assert result.exit_code == 0, result.output
    assert "1 cell has no usable value and is treated as missing ('done: 1,5')" in result.output
    assert "1 line was not understood" in result.output


def test_text_becomes_a_number_in_one_module() -> None:
    """Only `printed_numbers` calls `int` or `float` on text: matches, groups, fields and words."""
    calls = []
    for path in Path(ingest.__path__[0]).rglob("*.py"):
        if path.name in ("printed_numbers.py", "write_run.py"):  # the latter formats numbers
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("int", "float"):
                text = ast.unparse(node.args[0])
                if any(sign in text for sign in ("match[", "match.", "words", "fields", "text", "groups")):
                    calls.append(f"{path.name}: {ast.unparse(node)}")
    assert calls == []


@pytest.mark.parametrize(
    "measured",
    [
        Measured("run", "request", 1.0, duration_s=9e12, began_s=1.7e9),
        Measured("run", "request", 1.0, intervals=(Interval(9e12, 1.0, 1.0),), began_s=1.7e9),
    ],
)
def test_an_execution_that_ends_after_all_calendars_is_refused(measured: Measured) -> None:
    with pytest.raises(NotItsOutputError) as refusal:
        checks.check_numbers(Reading((measured,)))
    assert str(refusal.value.message.arguments["value"]).startswith("90000000000")
