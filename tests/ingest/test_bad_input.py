"""Files that people import by mistake, and outputs that are damaged or of another locale: one clear sentence
each, never a guess.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from ingest.made import made
from lines import CliRunner
from loadcell.cli import main
from loadcell.cli.import_ import TOOLS
from loadcell.store.read import StoredRun, read_run
from nobody import nobody

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
READ = [tool for tool in TOOLS if tool != "csv"]


def call(home: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["import", "--no-report", *map(str, arguments), "--results", str(home)])


def refused(home: Path, *arguments: str | Path) -> str:
    result = call(home / "out", *arguments)
    assert result.exit_code == 2, result.output
    assert result.output.startswith("Error: ")
    assert not (home / "out").exists()
    return result.output


def imported(home: Path) -> StoredRun:
    (path,) = [run.parent for run in home.rglob("run.json")]
    return read_run(path)


@pytest.mark.parametrize("tool", READ)
def test_an_empty_file_is_reported_to_be_empty(tmp_path: Path, tool: str) -> None:
    file = tmp_path / "result.txt"
    file.write_text("\n \n")
    assert f"{file} is empty" in refused(tmp_path, tool, file)


@pytest.mark.parametrize("tool", READ)
def test_bytes_without_a_meaning_are_refused_by_every_reader(tmp_path: Path, tool: str) -> None:
    file = tmp_path / "core"
    file.write_bytes(random.Random(6).randbytes(300_000))
    assert "has binary data" in refused(tmp_path, tool, file)
    file.write_bytes(random.Random(7).randbytes(300_000).replace(b"\0", b"\n"))
    message = refused(tmp_path, tool, file)
    assert f"{file} is" in message
    assert len(message) < 1_000


@pytest.mark.parametrize("tool", READ)
def test_a_directory_is_no_output(tmp_path: Path, tool: str) -> None:
    message = refused(tmp_path, tool, tmp_path)
    expected = "is not a result folder of benchmarksql" if tool == "benchmarksql" else "is a directory"
    assert expected in message


def test_a_file_that_one_may_not_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    file.write_text("secret")
    file.chmod(0)
    assert "cannot be read: No such file" in refused(tmp_path, "auto", tmp_path / "none")
    with nobody():
        for tool in READ:
            result = call(tmp_path / "out", tool, file)
            assert result.exit_code == 2
            assert (
                f"{file} cannot be read: Permission denied. Check its name and permissions." in result.output
            )


def test_what_windows_writes_is_named_with_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    file.write_bytes((OUTPUTS / "sysbench-cpu.txt").read_text().encode("utf-16"))
    assert "is UTF-16, the format of Windows. Convert it: `iconv -f UTF-16" in refused(
        tmp_path, "sysbench", file
    )


@pytest.mark.parametrize(("name", "tool"), [("fio.json", "fio"), ("iperf3.json", "iperf3")])
def test_json_that_was_cut_is_refused_with_the_line(tmp_path: Path, name: str, tool: str) -> None:
    text = (OUTPUTS / name).read_text()
    file = tmp_path / name
    for share in (0.2, 0.5, 0.9, 0.99):
        file.write_text(text[: int(len(text) * share)])
        message = refused(tmp_path, tool, file)
        assert "no complete JSON" in message
        assert re.search(r"the JSON that starts in line 1 is truncated in line \d+", message)


@pytest.mark.parametrize(("name", "tool"), [("fio.json", "fio"), ("iperf3.json", "iperf3")])
def test_of_several_documents_the_whole_ones_count_and_the_cut_one_is_reported(
    tmp_path: Path, name: str, tool: str
) -> None:
    """As `>> result.json` in a shell loop leaves them, with a line of `echo` between."""
    text = (OUTPUTS / name).read_text()
    file = tmp_path / name
    file.write_text(f"{text}run 2\n{text}run 3\n{text[: len(text) // 2]}")
    run = made(tmp_path / "out", tool, file)
    assert {trial.repeat for trial in run.trials} == {1, 2}
    (source,) = run.run.imported
    assert source.unread == 3
    assert source.examples[0] == "run 2"
    assert any("is truncated in line" in example for example in source.examples)


@pytest.mark.parametrize(
    "text",
    [
        "50+0 Datensätze ein\n50+0 Datensätze aus\n52428800 Bytes (52 MB, 50 MiB) kopiert, 0,05 "
        "s, 1,0 GB/s\n".encode(),
        "50+0 Datensätze ein\n50+0 Datensätze aus\n52428800 Bytes (52 MB, 50 MiB) kopiert, 0,05 "
        "s, 1,0 GB/s\n".encode("latin-1"),
        "记录了50+0 的读入\n记录了50+0 的写出\n"
        "52428800字节（52 MB，50 MiB）已复制，0.05 s，1.0 GB/s\n".encode(),
        "记录了50+0 的读入\n记录了50+0 的写出\n"
        "52428800字节（52 MB，50 MiB）已复制，0.05 秒，1.0 GB/秒\n".encode("gbk"),
    ],
)
def test_dd_of_other_locales_and_encodings(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "dd.txt"
    file.write_bytes(text)
    run = made(tmp_path / "out", "auto", file)
    (source,) = run.run.imported
    assert (source.tool, source.unread) == ("dd", 0)
    (trial,) = run.trials
    assert trial.totals.throughput_per_s == pytest.approx(1000)


def test_metrics_with_commas_points_and_blanks_between_thousands(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(
        'tps,lat\n"1,234.5","0,75"\n"1.234,5",0.75\n1 '
        '234.5,0.75\n1\u202f234.5,0.75\n1\'234.5,0.75\n"12,34,5",0.75\nn/a,1\n'
    )
    result = call(tmp_path / "out", "csv", file, "--column", "throughput=tps", "--column", "latency.mean=lat")
    assert result.exit_code == 0, result.output
    run = imported(tmp_path / "out")
    assert [trial.totals.throughput_per_s for trial in run.trials] == [1234.5] * 5
    assert {trial.totals.response.mean_ms for trial in run.trials} == {0.75}
    assert run.run.imported[0].unread == 2


def test_a_text_beyond_what_is_tried_is_recognised_by_its_signs(tmp_path: Path) -> None:
    """More than a block of other lines before the tool's own."""
    file = tmp_path / "result.txt"
    with file.open("w") as text:
        text.writelines(
            f"2026-11-21 10:00:00 deploy: copying object {number:020d} of many\n" for number in range(250_000)
        )
        text.write((OUTPUTS / "wrk.txt").read_text())
    (source,) = made(tmp_path / "out", "auto", file).run.imported
    assert (source.tool, source.measured, source.unread) == ("wrk", 1, 250_000)


def test_two_gigabytes_of_nothing_are_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    file.touch()
    os.truncate(file, 2 * 2**30)
    assert "has binary data" in refused(tmp_path, "auto", file)


PEAK = """
import resource, sys
from pathlib import Path
from loadcell.ingest.read import read_file
source = read_file(Path(sys.argv[2]), sys.argv[1])
print(source.reading.measured[0].succeeded, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.parametrize("tool", ["pgbench-log", "sysbench", "ab"])
def test_memory_is_flat_however_long_the_text(tmp_path: Path, tool: str) -> None:
    """48 MiB more take no more memory: a block at a time, and the counts."""
    mib = 2**20
    if tool == "pgbench-log":
        begin, part, end = b"", (OUTPUTS / "pgbench_log.txt").read_bytes() * 100, b""
    elif tool == "sysbench":
        text = (OUTPUTS / "sysbench-oltp.txt").read_bytes()
        begin, tail = text[: text.index(b"[ 1s ]")], text[text.index(b"SQL statistics") :]
        row = text[text.index(b"[ 1s ]") : text.index(b"[ 2s ]")]
        part, end = row * 5_000, tail[: tail.index(b"sysbench 1.0")]
    else:
        begin, part, end = (
            b"",
            b"apr_socket_recv: Connection reset by peer (104)\n" * 20_000,
            (OUTPUTS / "ab.txt").read_bytes(),
        )
    peaks = []
    for size in (16 * mib, 64 * mib):
        file = tmp_path / "long.txt"
        with file.open("wb") as out:
            out.write(begin)
            while out.tell() < size:
                out.write(part)
            out.write(end)
        result = subprocess.run(
            [sys.executable, "-c", PEAK, tool, str(file)], check=True, capture_output=True, text=True
        )
        count, peak = map(int, result.stdout.split())
        assert count > 0
        peaks.append(peak)
        file.unlink()
    assert peaks[1] - peaks[0] < 32
