"""Files as people have them: compressed, from a pipe, tables of other separators, and what only looks like an
output.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.cli import main
from loadcell.model.json import document
from loadcell.store.read import StoredRun, read_run

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
SYSBENCH = (OUTPUTS / "sysbench-cpu.txt").read_bytes()


def call(home: Path, *arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(
        main, ["import", *map(str, arguments), "--results", str(home / "out")], input=stdin
    )


def refused(home: Path, *arguments: str | Path) -> str:
    result = call(home, *arguments)
    assert result.exit_code == 2, result.output
    assert result.output.startswith("Error: ")
    assert not (home / "out").exists()
    return result.output


def imported(home: Path, *arguments: str | Path, stdin: bytes | None = None) -> StoredRun:
    result = call(home, *arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    (path,) = [run.parent for run in (home / "out").rglob("run.json")]
    return read_run(path)


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", gzip.compress)],
)
def test_what_is_compressed_is_unpacked_and_kept_as_it_was(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / f"result.txt{suffix}"
    file.write_bytes(pack(SYSBENCH))
    run = imported(tmp_path, "auto", file)
    assert [trial.status for trial in run.trials] == ["ok"]
    assert run.run.imported[0].file == str(file)
    (stored,) = (run.path / "sources").iterdir()
    assert stored.read_bytes() == file.read_bytes()


def test_what_is_compressed_and_cut_is_reported_to_be_damaged(tmp_path: Path) -> None:
    file = tmp_path / "result.txt.gz"
    file.write_bytes(gzip.compress(os.urandom(5000) + SYSBENCH)[:3000])
    assert f"{file} is compressed, and damaged" in refused(tmp_path, "auto", file)


def test_logs_of_one_execution_belong_together_though_only_some_are_compressed(tmp_path: Path) -> None:
    log = (OUTPUTS / "pgbench_log.txt").read_bytes()
    for name in ("pgbench_log.77", "pgbench_log.77.2"):
        (tmp_path / name).write_bytes(log)
    (tmp_path / "pgbench_log.77.1.gz").write_bytes(gzip.compress(log))
    files = sorted(tmp_path.glob("pgbench_log.*"))
    run = imported(tmp_path, "pgbench-log", *files)
    (trial,) = run.trials
    assert trial.totals.transactions.succeeded == 3 * len(log.splitlines())
    (source,) = run.run.imported
    assert {source.file, *source.also} == {str(file) for file in files}


@pytest.mark.parametrize("tool", ["auto", "sysbench"])
def test_standard_input_is_an_output_too(tmp_path: Path, tool: str) -> None:
    run = imported(tmp_path, tool, "-", stdin=SYSBENCH)
    assert run.run.imported[0].file == "-"
    (stored,) = (run.path / "sources").iterdir()
    assert stored.read_bytes() == SYSBENCH


def test_the_output_log_of_a_trial_is_what_its_tool_printed(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    lines = [b"server: listening", b"worker: $ sysbench cpu run", b"worker:"]
    lines += [b"worker: " + line for line in SYSBENCH.splitlines()]
    log.write_bytes(b"\n".join([*lines, b"server: bye", b""]))
    run = imported(tmp_path, "auto", log)
    plain = tmp_path / "plain.txt"
    plain.write_bytes(SYSBENCH)
    expected = imported(tmp_path / "plain", "auto", plain)
    assert [file.file for file in run.run.imported] == [str(log)]
    assert [trial.totals for trial in run.trials] == [trial.totals for trial in expected.trials]
    assert not any(file.unread for file in run.run.imported)


def test_a_pipe_that_can_be_read_once_is_kept(tmp_path: Path) -> None:
    """As `<(zcat ...)` of a shell is; here with what it gives compressed."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(SYSBENCH),))
    writer.start()
    run = imported(tmp_path, "sysbench", pipe)
    writer.join()
    assert run.run.imported[0].file == str(pipe)


def test_nothing_that_was_unpacked_is_left(tmp_path: Path) -> None:
    file, home = tmp_path / "result.txt.gz", tmp_path / "tmp"
    home.mkdir()
    file.write_bytes(gzip.compress(SYSBENCH))
    subprocess.run(
        [
            Path(sys.executable).parent / "loadcell",
            "import",
            "auto",
            file,
            "--out",
            tmp_path / "out",
            "--json",
        ],
        env={**os.environ, "TMPDIR": str(home)},
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"PK\x03\x04\x14\x00\x06\x00", "is an archive (zip), as spreadsheets are, too"),
        (b"\x28\xb5\x2f\xfd\x00\x00", "is compressed by zstd. Unpack it: `zstd -d result.txt`"),
    ],
)
def test_other_packages_are_named_with_the_way_out(tmp_path: Path, head: bytes, message: str) -> None:
    file = tmp_path / "result.txt"
    file.write_bytes(head + bytes(200))
    assert message in refused(tmp_path, "auto", file)


def test_what_fio_and_iperf3_print_for_people_says_what_to_run(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    file.write_bytes((OUTPUTS / "fio.txt").read_bytes())
    assert (
        "is what fio prints for people. Its figures are read from what `fio --output-format=json`"
        in refused(tmp_path, "auto", file)
    )
    file.write_text(
        "Connecting to host localhost, port 5201\n[ ID] Interval           Transfer     Bitrate\n"
        "[  5]   0.00-1.00   sec  2.5 GBytes  21.5 Gbits/sec\n"
    )
    assert "`iperf3 -J`" in refused(tmp_path, "auto", file)


TABLES: list[Any] = [
    (b"when;tps;clients\n1;1.234,5;4\n2;1.300,5;8\n", [1234.5, 1300.5]),
    (b"tps\tclients\n1234.5\t4\n", [1234.5]),
    (b"\n| tps | clients |\n".replace(b"| ", b"", 1) + b"12.5 | 4 |\n", [12.5]),
    ("tps,clients,备注\n1234.5,4,正常\n".encode("gb18030"), [1234.5]),
    (b"\xef\xbb\xbftps,clients\r\n1234.5,4\r\n", [1234.5]),
]


@pytest.mark.parametrize(("text", "throughputs"), TABLES)
def test_tables_of_other_separators_and_encodings(
    tmp_path: Path, text: bytes, throughputs: list[float]
) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(text)
    run = imported(tmp_path, "csv", file, "--column", "throughput=tps", "--column", "clients=clients")
    assert [trial.totals.throughput_per_s for trial in run.trials] == throughputs
    assert run.run.imported[0].unread == 0


def test_a_table_from_standard_input(tmp_path: Path) -> None:
    run = imported(tmp_path, "csv", "-", "--column", "throughput=tps", stdin=b"tps\n12.5\n")
    assert run.run.imported[0].file == "-"


def test_rows_without_a_value_that_could_be_one_are_counted_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("tps,clients\n10,4\n,8\nabc,8\nnan,8\ninf,8\n1_000,8\n-5,8\n10\n10,4,5\n10,some\n11,4\n")
    run = imported(tmp_path, "csv", file, "--column", "throughput=tps", "--column", "clients=clients")
    assert [trial.totals.throughput_per_s for trial in run.trials] == [10, 11]
    (source,) = run.run.imported
    assert source.unread == 9
    assert source.examples[0] == ",8"
    assert "NaN" not in json.dumps([document(trial) for trial in run.trials])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a,b\n1,2\n", "has no column 'tps': its first line names 'a', 'b'"),
        (b"tps,x,tps\n1,2,3\n", "has several columns 'tps'"),
        (b"\n\n", "is empty"),
        ("tps\n1\n".encode("utf-16"), "is UTF-16, as Windows writes it"),
        (b"PK\x03\x04\x14\x00\x06\x00" + bytes(50), "save the table as CSV"),
        (b"tps\nnone\n", "nothing was measured in"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: bytes, message: str) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(text)
    assert message in refused(tmp_path, "csv", file, "--column", "throughput=tps")


def test_a_directory_is_no_table(tmp_path: Path) -> None:
    assert "is a directory. Name the files in it." in refused(
        tmp_path, "csv", tmp_path, "--column", "throughput=tps"
    )
