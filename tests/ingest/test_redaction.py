"""Copies of imported texts hold no secret that was recognised, and are otherwise the user's text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ingest.made import made
from loadcell.cli import main
from loadcell.ingest.redaction import REDACTED, redacted

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
WRK = (OUTPUTS / "wrk.txt").read_text(encoding="utf-8")
SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ("redis-benchmark", "$ redis-benchmark -a {secret} -n 100"),
        ("redis-benchmark", "$ redis-benchmark -n 100 \\\r\n  -a {secret} -c 5\r"),
        ("redis-benchmark", "$ redis-benchmark -u redis://app:{secret}@h:6379 -n 100"),
        ("ab", "$ ab -kA app:{secret} http://h/"),
        ("wrk", "$ wrk -c10 -H 'Authorization: Bearer {secret}' -H 'Host: a' http://h/"),
        ("sysbench", "$ sysbench --mysql-password={secret} cpu run"),
        ("sysbench", "$ sysbench --mysql-password {secret} cpu run"),
        ("pgbench", "$ PGPASSWORD={secret} pgbench -c 5"),
        ("pgbench", "$ pgbench 'host=h password={secret} dbname=a'"),
        ("pgbench", "$ pgbench postgresql://app:{secret}@h/db"),
        ("fio", '  "http_s3_key" : "{secret}",'),
        ("benchmarksql", "password={secret}"),
        ("benchmarksql", "export MYSQL_PWD='{secret}'"),
    ],
)
def test_a_secret_is_replaced_where_it_was_recognised(tool: str, line: str) -> None:
    text = f"before\n{line}\nafter 12.5 ms\xff\n".encode("latin-1")
    copy, secrets = redacted(text.replace(b"{secret}", SECRET.encode()), tool)
    assert SECRET.encode() not in copy
    assert REDACTED.encode() in copy
    assert copy.startswith(b"before\n")
    assert copy.endswith(b"\nafter 12.5 ms\xff\n")
    assert any(SECRET in secret for secret in secrets)
    assert redacted(copy, tool) == (copy, frozenset()), "nothing is left to replace"


@pytest.mark.parametrize(
    "line",
    [
        "password=********", "PWD=/home/bench", "--mysql-password=$PASSWORD", "max_tokens: 128",
        "wrk -c10 http://h:8080/a@b", "tokens per second: 12.5", "Enter password:",
    ],
)  # fmt: skip
def test_other_texts_stay_byte_for_byte(line: str) -> None:
    text = f"{line}\n{WRK}".encode()
    assert redacted(text, "wrk") == (text, frozenset())


def test_a_secret_is_replaced_elsewhere_unless_it_is_a_number_or_short() -> None:
    copy, _ = redacted(f"--password={SECRET}\nlogged in with {SECRET}\n".encode(), "sysbench")
    assert copy.decode() == f"--password={REDACTED}\nlogged in with {REDACTED}\n"
    copy, secrets = redacted(
        b"redis-benchmark -a 1000 -c 5\nredis-benchmark -a c -c 5\n1000 requests", "redis-benchmark"
    )
    shown = f"redis-benchmark -a {REDACTED} -c 5\nredis-benchmark -a {REDACTED} -{REDACTED} 5\n1000 requests"
    assert (copy.decode(), secrets) == (shown, frozenset())


def test_an_import_keeps_no_secret_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"$ wrk -t2 -c10 http://app:{SECRET}@h/\nnoise {SECRET}\n{WRK}"
    Path("a.txt").write_text(text, encoding="utf-8")
    Path("b.txt.gz").write_bytes(gzip.compress(text.encode()))
    Path("c.txt").write_text(WRK, encoding="utf-8")
    main(["import", "wrk", "a.txt", "b.txt.gz", "c.txt", "--out", "run"], standalone_mode=False)
    printed = capsys.readouterr()
    for file in Path("run").rglob("*"):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes(), file
    assert SECRET not in printed.out + printed.err
    assert f"replaced by {REDACTED}: sources/01-a.txt, sources/02-b.txt" in " ".join(printed.err.split())
    assert Path("run/sources/02-b.txt").read_text(encoding="utf-8") == text.replace(SECRET, REDACTED)
    assert Path("run/sources/03-c.txt").read_text(encoding="utf-8") == WRK


def test_a_copy_is_imported_like_its_text(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text(f"$ wrk -t2 -c10 -H 'X-Key: {SECRET}' http://h/\n{WRK}", encoding="utf-8")
    first = made(tmp_path / "first", "wrk", text)
    again = made(tmp_path / "again", "wrk", next((first.path / "sources").iterdir()))
    assert [trial.totals for trial in again.trials] == [trial.totals for trial in first.trials]
