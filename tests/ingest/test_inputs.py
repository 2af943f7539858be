"""Files as people have them: compressed, from a pipe, tables of other separators, and what only looks like an
output.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from execution.live import until
from lines import CliRunner
from loadcell.cli import main
from loadcell.ingest import inputs
from loadcell.model.json import document
from loadcell.store.read import StoredRun, read_run

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
SYSBENCH = (OUTPUTS / "sysbench-cpu.txt").read_bytes()


def call(home: Path, *arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(
        main, ["import", "--no-report", *map(str, arguments), "--results", str(home / "out")], input=stdin
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
    assert f"{file} is compressed and damaged" in refused(tmp_path, "auto", file)


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
    assert [path for path in home.rglob("*") if not path.is_dir()] == []
    assert [path.name for path in home.iterdir()] == [f"loadcell-{os.getuid()}"]
    assert list((home / f"loadcell-{os.getuid()}").iterdir()) == []


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of copies, empty at first."""
    home = tmp_path / "tmp"
    home.mkdir()
    monkeypatch.setenv("TMPDIR", str(home))
    return home


@pytest.mark.parametrize("suffix", BOMBS)
@pytest.mark.parametrize("tool", ["auto", "sysbench", "csv"])
def test_what_unpacks_to_no_text_is_refused_at_its_beginning(
    tmp_path: Path, copies: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, tool: str
) -> None:
    file = tmp_path / f"result.txt.{suffix}"
    file.write_bytes(BOMBS[suffix](bytes(4 * 2**20)))
    written: list[int] = []
    monkeypatch.setattr(inputs.shutil, "disk_usage", written.append)
    mapping = ("--column", "throughput=tps") if tool == "csv" else ()
    assert f"{file} has binary data" in refused(tmp_path, tool, file, *mapping)
    assert written == [], "nothing was copied on"
    assert not [path for path in copies.rglob("*") if path.is_file()]


@pytest.mark.parametrize("suffix", BOMBS)
def test_what_unpacks_to_too_much_text_is_refused_at_the_limit(
    tmp_path: Path, copies: Path, suffix: str
) -> None:
    file = tmp_path / f"result.txt.{suffix}"
    file.write_bytes(BOMBS[suffix](b"more and more\n" * 2**20))
    message = refused(tmp_path, "auto", file, "--copy-limit", "0.01")
    assert f"exceed 10.2 MiB, and {file} has not ended" in message
    assert "allow more than `--copy-limit 0.01`" in message
    assert not [path for path in copies.rglob("*") if path.is_file()]


def test_the_limit_is_of_all_copies_together(tmp_path: Path, copies: Path) -> None:
    files = [tmp_path / f"{number}.txt.gz" for number in range(3)]
    for file in files:
        file.write_bytes(gzip.compress(SYSBENCH + (b" " * 1023 + b"\n") * 2**10))
    assert f"{files[2]} has not ended" in refused(tmp_path, "auto", *files, "--copy-limit", "0.0025")
    assert len(imported(tmp_path, "auto", *files, "--copy-limit", "0.0035").trials) == 3


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_an_end_is_refused_at_its_beginning(
    tmp_path: Path, copies: Path, device: str
) -> None:
    assert f"{device} has binary data" in refused(tmp_path, "auto", device)


def test_a_pipe_that_never_ends_is_refused_at_the_limit(tmp_path: Path, copies: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    endless = subprocess.Popen(["sh", "-c", f"exec yes > {pipe}"], stderr=subprocess.DEVNULL)
    try:
        assert f"{pipe} has not ended" in refused(tmp_path, "auto", pipe, "--copy-limit", "0.005")
        assert endless.wait(60) != 0, "its reader has gone"
    finally:
        endless.kill()
        endless.wait()


def test_copying_leaves_room_for_others(
    tmp_path: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "result.txt.gz"
    file.write_bytes(gzip.compress(b"more and more\n" * 2**23))
    monkeypatch.setattr(inputs, "_SPARE_BYTES", 2**60)
    message = refused(tmp_path, "auto", file)
    assert f"{file} does not fit into {copies}" in message
    assert "TMPDIR selects another directory" in message


def test_what_a_killed_import_left_is_swept_by_the_next(tmp_path: Path, copies: Path) -> None:
    """The first waits in its copy of a pipe when it is killed."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    loadcell = Path(sys.executable).parent / "loadcell"
    first = subprocess.Popen([loadcell, "import", "auto", pipe, "--out", tmp_path / "never"])
    with pipe.open("wb", buffering=0) as writer:
        writer.write(SYSBENCH + b"\n" * 2**15)
        until(lambda: any(path.stat().st_size for path in copies.rglob("stdin")), "its copy")
        first.kill()
        first.wait()
    (remaining,) = copies.rglob("stdin")
    assert remaining.stat().st_mode & 0o600
    assert remaining.parents[1].stat().st_mode & 0o777 == 0o700
    file = tmp_path / "result.txt.gz"
    file.write_bytes(gzip.compress(SYSBENCH))
    imported(tmp_path, "auto", file)
    assert not remaining.exists()


def test_a_bar_shows_how_much_was_copied() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with inputs.Bar(stream) as bar:
        bar(2**20, None)
        assert stream.getvalue() == ""
        bar(300 * 2**20, None)
    assert "reading" in stream.getvalue()


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"PK\x03\x04\x14\x00\x06\x00", "is a zip archive, like spreadsheets"),
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
        "is the human-readable output of fio. Values are read from the output of `fio --output-format=json`"
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
        (b"a,b\n1,2\n", "has no column 'tps': its first line names 'a' and 'b'"),
        (b"tps,x,tps\n1,2,3\n", "has several columns 'tps'"),
        (b"\n\n", "is empty"),
        ("tps\n1\n".encode("utf-16"), "is UTF-16, the format of Windows"),
        (b"PK\x03\x04\x14\x00\x06\x00" + bytes(50), "save the table of a spreadsheet as CSV"),
        (b"tps\nnone\n", "there is no measurement in"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: bytes, message: str) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(text)
    assert message in refused(tmp_path, "csv", file, "--column", "throughput=tps")


def test_a_directory_is_no_table(tmp_path: Path) -> None:
    assert "is a directory. Name the files in the directory." in refused(
        tmp_path, "csv", tmp_path, "--column", "throughput=tps"
    )


def test_copies_of_one_name_stay_apart(tmp_path: Path) -> None:
    for name, pack, rate in (("a.log.gz", gzip.compress, b"71.50"), ("a.log.xz", lzma.compress, b"72.50")):
        line = b"events per second:" + rate
        text = re.sub(rb"events per second:\s+[\d.]+", line, SYSBENCH)
        (tmp_path / name).write_bytes(pack(text))
    with inputs.Inputs() as unpacked:
        first, second = unpacked.plain([tmp_path / "a.log.gz", tmp_path / "a.log.xz"])
        assert (b"71.50" in first.read_bytes(), b"72.50" in second.read_bytes()) == (True, True)
    run = imported(tmp_path, "auto", tmp_path / "a.log.gz", tmp_path / "a.log.xz")
    assert len(run.trials) == 2


def test_an_unpacked_log_and_a_plain_one_of_its_name_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "x.1").write_bytes(b"plain\n")
    (tmp_path / "x.1.gz").write_bytes(gzip.compress(b"packed\n"))
    for names in (("x.1.gz", "x.1"), ("x.1", "x.1.gz")):
        with inputs.Inputs() as unpacked:
            copies = unpacked.plain([tmp_path / name for name in names])
            assert [copy.read_bytes().strip() for copy in copies] == [
                {"x.1": b"plain", "x.1.gz": b"packed"}[name] for name in names
            ]
