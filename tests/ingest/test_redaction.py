"""Copies of imported texts hold no secret that was recognised, and are otherwise the user's text."""

from __future__ import annotations

import errno
import gzip
import json
import time
from pathlib import Path

import pytest
from click import ClickException

from ingest.made import made
from loadcell.cli import main
from loadcell.ingest.redaction import Copy, Text, copy_of, redacted, secrets_of
from loadcell.plan.secret_patterns import REDACTED
from loadcell.store import write
from secret_cases import WITH_SECRET

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
PGBENCH = (OUTPUTS / "pgbench.txt").read_text(encoding="utf-8")
WRK = (OUTPUTS / "wrk.txt").read_text(encoding="utf-8")
SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "line",
    [
        "$ redis-benchmark -a {secret} -n 100",
        "$ redis-benchmark -n 100 \\\r\n  -a {secret} -c 5\r",
        "$ redis-benchmark -u redis://app:{secret}@h:6379 -n 100",
        "$ ab -kA app:{secret} http://h/",
        "$ wrk -c10 -H 'Authorization: Bearer {secret}' -H 'Host: a' http://h/",
        "$ sysbench --mysql-password={secret} cpu run",
        "$ sysbench --mysql-password {secret} cpu run",
        "$ PGPASSWORD={secret} pgbench -c 5",
        "$ pgbench 'host=h password={secret} dbname=a'",
        "$ pgbench postgresql://app:{secret}@h/db",
        '  "http_s3_key" : "{secret}",',
        "password={secret}",
        "export MYSQL_PWD='{secret}'",
    ],
)
def test_a_secret_is_replaced_where_it_was_recognised(line: str) -> None:
    text = f"before\n{line}\nafter 12.5 ms\xff\n".encode("latin-1")
    text = text.replace(b"{secret}", SECRET.encode())
    copy = redacted(text)
    assert SECRET.encode() not in copy
    assert REDACTED.encode() in copy
    assert copy.startswith(b"before\n")
    assert copy.endswith(b"\nafter 12.5 ms\xff\n")
    assert any(SECRET in secret for secret in secrets_of(text))
    assert redacted(copy) == copy, "nothing is left to replace"


@pytest.mark.parametrize(
    "line",
    [
        "password=********", "PWD=/home/bench", "--mysql-password=$PASSWORD", "max_tokens: 128",
        "wrk -c10 http://h:8080/a@b", "tokens per second: 12.5", "Enter password:",
    ],
)  # fmt: skip
def test_other_texts_stay_byte_for_byte(line: str) -> None:
    text = f"{line}\n{WRK}".encode()
    assert (redacted(text), secrets_of(text)) == (text, frozenset())


def test_a_secret_is_replaced_elsewhere_unless_it_is_a_number_or_short() -> None:
    copy = redacted(f"--password={SECRET}\nlogged in with {SECRET}\n".encode())
    assert copy.decode() == f"--password={REDACTED}\nlogged in with {REDACTED}\n"
    text = b"redis-benchmark -a 1000 -c 5\nredis-benchmark -a c -c 5\n1000 requests"
    shown = f"redis-benchmark -a {REDACTED} -c 5\nredis-benchmark -a {REDACTED} -c 5\n1000 requests"
    assert (redacted(text).decode(), secrets_of(text)) == (shown, frozenset())


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


@pytest.mark.parametrize(("text", "secret"), WITH_SECRET)
def test_a_copy_has_no_secret_that_any_part_of_loadcell_recognises(text: str, secret: str) -> None:
    assert secret.encode() not in redacted(f"{text}\n{WRK}".encode())


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5000 + " $ redis-benchmark -a {secret} -n 100",
        "x" * 5000 + " $ redis-benchmark -n " + "9" * 5000 + " -a {secret}",
        "first\r$ redis-benchmark -a {secret}\rlast",
        "$ wrk http://h/ ; redis-benchmark -a {secret}",
        '{"command": "wrk -H \\"X-Key: {secret}\\" http://h/", "rate": 12}',
        "sh -c 'redis-benchmark -a {secret}'",
        "redis-benchmark --pass /{secret}",
        "it's run by wrk -H 'X-Key: {secret}' http://h/",
    ],
)
def test_commands_of_all_tools_are_searched_wherever_they_stand(text: str) -> None:
    copy = redacted(f"{text}\n{PGBENCH}".replace("{secret}", SECRET).encode()).decode()
    assert SECRET not in copy
    assert copy.endswith(PGBENCH)
    assert "wrk http://h/ ;" not in text or "wrk http://h/ ;" in copy
    if text.startswith("{"):
        assert json.loads(copy.partition("\n")[0])["rate"] == 12


@pytest.mark.parametrize(
    "piece", ["wrk ", "wrk -H a: b\r", "wrk '", 'wrk "', "redis-benchmark -a ", "ab \\\n"]
)
def test_commands_are_searched_in_time_proportional_to_the_text(piece: str) -> None:
    began = time.process_time()
    redacted(piece.encode() * (200_000 // len(piece)))
    assert time.process_time() - began < 10, "0.2 to 1 s; a quadratic search takes minutes"


def import_of(*words: str) -> None:
    main(["import", *words, "--out", "run"], standalone_mode=False)


def files_with(secret: str) -> list[str]:
    """Files of the run that hold a text."""
    files = (file for file in Path("run").rglob("*") if file.is_file())
    return [str(file) for file in files if secret.encode() in file.read_bytes()]


def test_numbers_are_replaced_in_examples_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "password=482913\ntoken: 77120034\nconnected to postgres://bench:5582913@db/bench\npass -a abc\n"
    url = f"{'x' * 170} postgres://bench:6692913{'y' * 90}@db/bench\n"
    Path("out.txt").write_text(f"{lines}{url}did 482913 requests\n{PGBENCH}", encoding="utf-8")
    import_of("pgbench", "out.txt")
    printed = capsys.readouterr()
    assert "did 482913 requests" in Path("run/sources/01-out.txt").read_text(encoding="utf-8")
    assert "password=[redacted" in Path("run/run.json").read_text(encoding="utf-8")
    for secret in ("password=482913", "77120034", "5582913", "6692913"):
        assert files_with(secret) == []
        assert secret not in printed.out + printed.err


def test_a_secret_of_one_file_is_replaced_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(f"used {SECRET} here\n{PGBENCH}", encoding="utf-8")
    Path("b.txt").write_text(f"$ PGPASSWORD={SECRET} pgbench -c 4\n{PGBENCH}", encoding="utf-8")
    import_of("pgbench", "a.txt", "b.txt")
    assert files_with(SECRET) == []
    copy = Path("run/sources/01-a.txt").read_text(encoding="utf-8")
    assert copy == f"used {REDACTED} here\n{PGBENCH}"


def test_a_copy_is_readable_for_whom_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(WRK, encoding="utf-8")
    Path("b.txt").write_text(f"password={SECRET}\n{WRK}", encoding="utf-8")
    Path("c.txt").write_text(WRK, encoding="utf-8")
    for name, mode in (("a.txt", 0o600), ("b.txt", 0o640), ("c.txt", 0o644)):
        Path(name).chmod(mode)
    import_of("wrk", "a.txt", "b.txt", "c.txt")
    copies = sorted(Path("run/sources").iterdir())
    assert [copy.stat().st_mode & 0o777 for copy in copies] == [0o600, 0o640, 0o644]


def test_what_is_written_is_what_was_searched(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(WRK, encoding="utf-8")
    text = Text.of(file)
    with file.open("a", encoding="utf-8") as appended:
        appended.write(f"password={SECRET}\n")
    copy = copy_of(text, "01-", ())
    assert copy is not None
    copy.write(tmp_path)
    assert (tmp_path / "01-a.txt").read_text(encoding="utf-8") == WRK


def test_a_killed_import_is_no_obstacle_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(WRK, encoding="utf-8")
    Path("run/trials").mkdir(parents=True)
    Path("run/sources").mkdir()
    Path("run/sources/01-a.txt").write_text("half of", encoding="utf-8")
    import_of("wrk", "a.txt")
    assert [file.read_text(encoding="utf-8") for file in Path("run/sources").iterdir()] == [WRK]


def test_an_import_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(WRK, encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(write, "json_text", full)
        with pytest.raises(OSError, match="No space"):
            import_of("wrk", "a.txt")
    assert not Path("run").exists()
    with monkeypatch.context() as patched:
        patched.setattr(Copy, "write", full)
        with pytest.raises(ClickException, match="No space"):
            import_of("wrk", "a.txt")
    assert not Path("run").exists()
    import_of("wrk", "a.txt")
