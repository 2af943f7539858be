"""CSV for spreadsheets, and errors that name the user's file."""

from __future__ import annotations

import gzip
from pathlib import Path

from click.testing import CliRunner

from loadcell.cli import main

DATA = Path(__file__).resolve().parent.parent / "data" / "schema-1" / "results"
RUN = next((DATA / "groups").iterdir())


def test_texts_that_are_formulas_are_quoted_when_asked() -> None:
    sql = "SELECT '=1+1' AS a, '@x' AS b, -5 AS c, 'plain' AS d"
    plain = CliRunner().invoke(main, ["query", sql, str(RUN), "--csv"])
    assert plain.stdout == "a,b,c,d\n=1+1,@x,-5,plain\n"
    quoted = CliRunner().invoke(main, ["query", sql, str(RUN), "--csv", "--quote-formulas"])
    assert quoted.stdout == "a,b,c,d\n'=1+1,'@x,-5,plain\n"


def test_the_mark_below_a_wrong_query_is_alone_on_its_line() -> None:
    result = CliRunner().invoke(main, ["query", "SELECT * FRM trials", str(RUN)])
    assert result.exit_code == 2
    [mark] = [line for line in result.stderr.splitlines() if "^" in line]
    assert set(mark.strip()) == {"^"}


def test_an_error_after_unpacking_names_the_file_of_the_user(tmp_path: Path) -> None:
    packed = tmp_path / "output.txt.gz"
    packed.write_bytes(gzip.compress(b"nothing that any tool prints\n"))
    for tool in ("auto", "fio"):
        result = CliRunner().invoke(
            main, ["import", "--no-report", tool, str(packed), "--results", str(tmp_path / "results")]
        )
        assert result.exit_code == 2
        assert str(packed) in result.stderr
        assert "loadcell-import-" not in result.stderr
