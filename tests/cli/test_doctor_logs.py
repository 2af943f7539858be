"""`loadcell doctor --log`: results, combination with GC logs and runs, and input that is no log."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import Result

import fake_runs
from lines import CliRunner
from loadcell.cli import main
from loadcell.incidents.record import ExaminationRecord, SubjectRecord
from loadcell.model import json as model_json

BEGIN = datetime(2026, 11, 29, 10, 0, 0, tzinfo=UTC)


def doctor(*words: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["doctor", *map(str, words)], input=stdin, catch_exceptions=False)


def stamp(at_s: float) -> str:
    shown = datetime.fromtimestamp(BEGIN.timestamp() + at_s, UTC)
    return f"{shown:%Y-%m-%dT%H:%M:%S}.{shown.microsecond // 1000:03}Z"


def log(count: int = 600, begin_s: float = 0, silence_s: float = 0, text: str = "stored 17 rows") -> str:
    """Entries of three threads each second, with a silence of all of them in the middle."""
    lines = []
    for number in range(count):
        at_s = begin_s + number / 3 + (silence_s if number > count / 2 else 0)
        lines.append(f"{stamp(at_s)} [worker-{number % 3}] INFO {text}\n")
    return "".join(lines)


def gc_log(*pauses: tuple[float, float], count: int = 200) -> str:
    """Pauses by begin and duration in seconds, and short ones each second."""
    every = sorted([*pauses, *((float(at), 0.005) for at in range(1, count))])
    lines = [f"[{stamp(0)}][0.000s][info][gc] Using G1\n"]
    for number, (begin_s, duration_s) in enumerate(every):
        end_s = begin_s + duration_s
        lines.append(
            f"[{stamp(end_s)}][{end_s:.3f}s][info][gc] GC({number}) Pause Young (Normal) "
            f"(G1 Evacuation Pause) 50M->10M(64M) {duration_s * 1000:.3f}ms\n"
        )
    return "".join(lines).replace("Z]", "+0000]")


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def record(*words: str | Path, stdin: str | None = None) -> ExaminationRecord:
    result = doctor(*words, "--json", stdin=stdin)
    assert result.exit_code in (0, 1), result.output
    return model_json.read(ExaminationRecord, result.stdout)


def subject(examined: ExaminationRecord) -> SubjectRecord:
    [item] = [item for item in examined.subjects if item.kind == "application-log"]
    return item


def test_a_healthy_log_has_the_status_0_and_its_share_of_lines_without_a_stamp(tmp_path: Path) -> None:
    path = written(tmp_path / "app.log", "Welcome\n" + log())
    result = doctor("--log", path)
    assert result.exit_code == 0
    assert "No known incident" in result.stdout
    assert "1 (0.17%), of which 0 continue an entry" in " ".join(result.stdout.split())
    assert "Welcome" in result.stdout
    contents = subject(record("--log", path)).log
    assert contents is not None
    assert (contents.entries, contents.unstamped) == (600, 1)
    assert [(item.text, item.count) for item in contents.messages] == [("stored <n> rows", 600)]


def test_a_silence_has_the_status_1_its_lines_and_its_remedy(tmp_path: Path) -> None:
    path = written(tmp_path / "app.log", log(silence_s=20))
    result = doctor("--log", path)
    assert result.exit_code == 1
    assert "Silent thread or service (warning, medium confidence)" in " ".join(result.stdout.split())
    chinese = doctor("--lang", "zh", "--log", path)
    assert "线程或服务长时间无日志（级别：警告，置信度中等）" in chinese.stdout
    [diagnosis] = subject(record("--log", path)).diagnoses
    assert [line.number for line in diagnosis.lines] == [301, 302]
    assert diagnosis.begin_s == pytest.approx(100, abs=1)


def test_the_page_has_charts_messages_and_marks_and_no_markup_of_the_log(tmp_path: Path) -> None:
    text = "<script>alert(1)</script> password=hunter2 failed"
    path = written(tmp_path / "app.log", log(silence_s=20, text=text).replace("INFO", "ERROR"))
    page = tmp_path / "doctor.html"
    assert doctor("--log", path, "--out", page).exit_code == 1
    content = page.read_text()
    for sign in ("chart-log-entries-1", "chart-log-errors-1", "Silences", "Prevention."):
        assert sign in content
    assert "<script>alert(1)" not in content
    assert "hunter2" not in content
    assert "hunter2" not in doctor("--log", path, "--json").stdout


def test_the_axis_of_hours_has_clock_times(tmp_path: Path) -> None:
    page = tmp_path / "doctor.html"
    doctor("--log", written(tmp_path / "app.log", log(300) + log(300, begin_s=20_000)), "--out", page)
    assert "utcFormat(" in page.read_text()
    assert "Time (UTC)" in page.read_text()
    doctor("--log", written(tmp_path / "app.log", log(300)), "--out", page)
    assert "Seconds after the first line" in page.read_text()


def test_standard_input_has_a_name() -> None:
    assert "standard input" in doctor("--log", "-", stdin=log()).stdout
    assert "标准输入" in doctor("--lang", "zh", "--log", "-", stdin=log()).stdout


def test_pauses_of_the_collector_explain_silences(tmp_path: Path) -> None:
    begins = (300, 450, 1000)
    lines = [
        line
        for number, line in enumerate(log(6000).splitlines(keepends=True))
        if not any(begin <= number / 3 < begin + 10 for begin in begins)
    ]
    path = written(tmp_path / "app.log", "".join(lines))
    collector = written(tmp_path / "gc.log", gc_log(*((begin + 0.1, 9.5) for begin in begins)))
    examined = record("--log", path, "--gc-log", collector)
    incidents = {item.incident: item for item in subject(examined).diagnoses}
    assert incidents["log-coincidences"].values["count"] == 3
    assert "long GC pauses" in incidents["log-coincidences"].summary
    assert len(incidents["log-coincidences"].lines) == 6
    contents = subject(examined).log
    assert contents is not None
    assert [silence.coincides_with for silence in contents.silences] == [("gc-pause",)] * 3
    assert "Long GC pause" in doctor("--log", path, "--gc-log", collector).stdout
    assert "Coincides with" not in doctor("--log", path).stdout
    assert {item.kind for item in examined.subjects} == {"collections", "application-log"}
    assert [item.kind for item in examined.logs] == ["gc-log", "application-log"]


def test_faults_of_a_run_explain_errors(tmp_path: Path) -> None:
    run = fake_runs.write_run(tmp_path / "run", fake_runs.two_treatments())
    record_files = sorted((run / "trials").glob("*/trial.json"))
    lines = []
    for file in record_files:
        trial = json.loads(file.read_text())
        instants = {"requested_s": 5.0, "began_s": 5.0, "ended_s": 5.1}
        undone = {"requested_s": 6.0, "began_s": 6.0, "ended_s": 6.0}
        fault = {
            "action": "hang",
            "subject": "target",
            "state": "undone",
            "applied": instants,
            "undone": undone,
        }
        file.write_text(json.dumps(trial | {"faults": [fault]}))
        begin_s = datetime.fromisoformat(trial["measure"]["started_utc"]).timestamp() - BEGIN.timestamp()
        lines += [f"{stamp(begin_s + number * 0.5)} [pool] INFO stored\n" for number in range(60)]
        lines.append(f"{stamp(begin_s + 5.5)} [pool] ERROR connection refused\n")
    path = written(tmp_path / "app.log", "".join(sorted(lines)))
    examined = record(run, "--log", path)
    [diagnosis] = [item for item in subject(examined).diagnoses if item.incident == "log-coincidences"]
    assert (diagnosis.level, diagnosis.values["count"]) == ("note", len(record_files))
    assert "injected faults" in diagnosis.summary


def test_files_follow_their_option(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a.log", log()), written(tmp_path / "b.log", log())
    collector = written(tmp_path / "gc.log", gc_log())
    examined = record("--log", first, second, "--gc-log", collector)
    assert [item.files for item in examined.logs] == [(str(collector),), (str(first), str(second))]
    contents = subject(examined).log
    assert contents is not None
    assert [service.name for service in contents.services] == ["a.log", "b.log"]


def test_rotated_and_compressed_files_in_any_order_are_one_service(tmp_path: Path) -> None:
    old = written(tmp_path / "app-2026-11-28.0.log.gz", gzip.compress(log(300).encode()))
    middle = written(tmp_path / "app.log.1", log(300, 100))
    new = written(tmp_path / "app.log", log(300, 200)[:-1])
    examined = record("--log", new, old, middle)
    contents = subject(examined).log
    assert contents is not None
    [service] = contents.services
    assert service.files == (str(old), str(middle), str(new))
    assert (service.entries, service.late_lines) == (900, 0)
    assert any("order of their times" in remark for remark in examined.logs[0].remarks)
    assert any("last line" in remark for remark in examined.logs[0].remarks)


def test_a_damaged_archive_is_read_up_to_the_damage(tmp_path: Path) -> None:
    packed = gzip.compress(os.urandom(3_000_000).hex().encode())  # its blocks are behind the log
    archive = gzip.compress(log(3000).encode()) + packed
    examined = record("--log", written(tmp_path / "app.log.gz", archive[: len(archive) - 1_000_000]))
    assert any("is damaged" in remark for remark in examined.logs[0].remarks)
    assert "is damaged" in subject(examined).remarks[0]
    contents = subject(examined).log
    assert contents is not None
    assert contents.entries == 3000


@pytest.mark.parametrize("kind", ["xz", "bz2"])
def test_a_cut_archive_is_read_up_to_its_end(tmp_path: Path, kind: str) -> None:
    packed = {"xz": lzma.compress, "bz2": bz2.compress}[kind](log(30_000).encode())
    examined = record("--log", written(tmp_path / f"app.log.{kind}", packed[: len(packed) * 3 // 4]))
    assert any("is damaged" in remark for remark in examined.logs[0].remarks)
    damaged = bytearray(packed)
    for position in range(len(packed) // 2, len(packed) // 2 + 8):
        damaged[position] ^= 0xFF
    result = doctor("--log", written(tmp_path / f"bad.log.{kind}", bytes(damaged)))
    assert result.exit_code in (0, 1, 2)
    assert "is damaged" in result.output or "cannot be read" in result.output


def test_a_pipe_and_standard_input_are_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(log()))
    writer.start()
    examined = record("--log", pipe)
    writer.join()
    assert examined.logs[0].files == (str(pipe),)
    words = [sys.executable, "-m", "loadcell", "doctor", "--log", "-"]
    output = subprocess.run(words, input=log(), capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stderr
    assert "No known incident" in output.stdout


def test_a_pattern_reads_another_format(tmp_path: Path) -> None:
    lines = "".join(f"I|{stamp(number)}|job|row {number} done\n" for number in range(100))
    path = written(tmp_path / "app.log", lines)
    pattern = r"^(?P<level>\w)\|(?P<time>[^|]+)\|(?P<thread>[^|]+)\|(?P<message>.*)"
    contents = subject(record("--log", path, "--pattern", pattern)).log
    assert contents is not None
    assert (contents.entries, contents.messages[0].text) == (100, "row <n> done")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "no regular expression, at character 1"),
        ("(?P<message>.*)", "no group `time`"),
        (r"^(?P<time>\d+) nothing", "matches none of the first lines"),
        (r"^(?P<time>\d{4}-\d\d)(?P<message>.*)", "app.log:1: the group `time` of --pattern has '2026-11'"),
        (r"(?P<time>(.+)+)\|", "takes more than 1 s"),
    ],
)
def test_a_useless_pattern_is_an_error(tmp_path: Path, pattern: str, reason: str) -> None:
    began_s = time.monotonic()
    result = doctor("--log", written(tmp_path / "app.log", log()), "--pattern", pattern)
    assert result.exit_code == 2
    assert reason in " ".join(result.stderr.split())
    assert time.monotonic() - began_s < 20


def test_lines_of_a_collector_in_the_log_of_a_service_are_excluded(tmp_path: Path) -> None:
    """A container writes both to its standard output; more than half of the lines are of the collector."""
    of_service = log(400, silence_s=60).splitlines(keepends=True)
    of_collector = [line for line in gc_log(count=500).splitlines(keepends=True) if "GC(" in line]
    lines = [line for pair in zip(of_service, of_collector, strict=False) for line in pair]
    path = written(tmp_path / "app.log", "".join([*lines, *of_collector[400:]]))
    examined = record("--log", path)
    contents = subject(examined).log
    assert contents is not None
    assert (contents.entries, contents.lines) == (400, 899)
    assert [message.text for message in contents.messages] == ["stored <n> rows"]
    [silence] = contents.silences
    assert silence.duration_s == pytest.approx(60, abs=1)
    assert "56% of the lines are those of a JVM" in " ".join(doctor("--log", path).stdout.split())


def test_a_pattern_requires_a_log(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", gc_log())
    assert "add `--log app.log`" in doctor("--gc-log", path, "--pattern", "(?P<time>.)").stderr


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (
            b'[{"ts": "2026-11-29T10:00:00Z", "msg": "a"}, {"ts": "2026-11-29T10:00:01Z", "msg": "b"}]',
            "array",
        ),
        (b'[\n {\n  "ts": "2026-11-29T10:00:00Z",\n  "msg": "a"\n }\n]\n', "is a JSON array"),
        (b"2026-11-29T10:00:00Z INFO served " * 500, "all of its entries on one line"),
        (b"2026-11-29T10:00:00Z INFO served " * 50_000 + b"\n", "all of its entries on one line"),
        (b"\x7fELF\0\0\0\1" * 100, "binary: it looks like a program"),
        (b"[0.1s][info][gc] GC(0) Pause Young (Normal) 6M->2M(64M) 4.533ms\n" * 9, "doctor --gc-log"),
        (b"[2026-11-28T10:00:00.1+0000][info ][gc,start ] GC(0) Pause Young (Normal)\n" * 9, "is a GC log"),
        (b"2026-11-28T10:00:00.123+0000: 1.2: [GC (System.gc()) 9K->5K(9K), 0.1 secs]\n", "is a GC log"),
        (
            b"2026-11-28T10:00:00.123+0000: 1.2: [GC (System.gc()) 9K->5K(9K), 0.1 secs]\n"
            b"2026-11-28T10:00:00.1+0000: 1.3: Total time for which application threads were stopped: 1 s\n",
            "is a GC log",
        ),
        (b"11/29/2026 09:00:00 INFO served\n", "has dates such as 11/29/2026, which are not read"),
        (b"hello token=abcdef1234567\nworld\n", "no time stamps in its first lines; the first is 'hello"),
    ],
    ids=[
        "empty",
        "blank",
        "array",
        "array-on-lines",
        "one-line",
        "one-long-line",
        "binary",
        "gc",
        "dated-gc",
        "gc-of-jdk-8",
        "stops-of-jdk-8",
        "month-first",
        "text",
    ],
)
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    result = doctor("--log", written(tmp_path / "app.log", content))
    assert result.exit_code == 2
    assert reason in " ".join(result.stderr.split())
    assert "abcdef1234567" not in result.stderr
    assert "Traceback" not in result.stderr


_TIMES = ", ".join(f'{{"at": "12:00:{second % 60:02}"}}' for second in range(5_000))
_ADDRESSES = " ".join(f"00:11:22:33:44:{number}" for number in range(10, 30))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (f"{stamp(0)} INFO configuration [{_TIMES}]\n" + log(3_000), 3_001),
        (f"{stamp(0)} INFO configuration [{_TIMES * 40}]\r\n" + log(3_000), 3_002),
        (log(30).replace("\n", "\r"), 30),
        (f"{stamp(0)} INFO interfaces {_ADDRESSES}\n", 1),
        (f"{stamp(0)} INFO interfaces {_ADDRESSES.replace(':2', ':ab:cd:2')}\n", 1),
    ],
    ids=["long-first-line", "first-line-of-many-blocks", "returns", "addresses", "hexadecimal"],
)
def test_lines_of_many_times_are_read(tmp_path: Path, content: str, lines: int) -> None:
    """A long first line, ends of lines without a line feed, and addresses that look like times."""
    result = doctor("--log", written(tmp_path / "app.log", content), "--json")
    assert result.exit_code in (0, 1), result.stderr
    [reading] = json.loads(result.stdout)["logs"]
    assert reading["lines"] == lines


@pytest.mark.parametrize(
    "entry",
    ["10:00:00 - - [29/Nov/2026:10:00:00 +0000] GET /", '{"at":"2026-11-29T10:00:00Z"}', "10:00:00:123 INFO"],
)
def test_times_of_all_forms_show_entries_without_lines(tmp_path: Path, entry: str) -> None:
    result = doctor("--log", written(tmp_path / "app.log", f"{entry} " * 10))
    assert "all of its entries on one line" in " ".join(result.stderr.split())


def test_ten_gigabytes_of_zeros_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    with path.open("wb") as file:
        file.truncate(10 * 10**9)
    begin_s = time.monotonic()
    result = doctor("--log", path)
    assert result.exit_code == 2
    assert time.monotonic() - begin_s < 5
    assert "has no text in its first 9.31 GiB, which are zero bytes" in " ".join(result.stderr.split())
    assert "archive" not in result.stderr


def test_a_pipe_may_begin_with_zeros() -> None:
    result = doctor("--log", "-", "--json", stdin="\0" * (2 << 20) + log(30))
    [reading] = json.loads(result.stdout)["logs"]
    assert reading["lines"] == 31


def test_zeros_in_a_log_are_passed_over(tmp_path: Path) -> None:
    lines = [f"2026-11-29 13:{n // 60:02}:{n % 60:02} INFO served {n}\n" for n in range(600)]
    text = "".join(lines[:300]) + "2026-11-29 13:0" + "\0" * 100_000 + "".join(lines[300:])
    path = written(tmp_path / "app.log", text.encode())
    result = doctor("--log", path, "--json")
    assert result.exit_code == 0
    [reading] = json.loads(result.stdout)["logs"]
    assert (reading["lines"], reading["lines_not_understood"]) == (602, 2), "zeros, and the time that is cut"
    shown = " ".join(doctor("--log", path).stdout.split())
    assert "app.log has 1 stretch of zero bytes (97.7 KiB), which was passed over" in shown


@pytest.mark.parametrize("size_bytes", [8, 3_000, 3 << 20])
@pytest.mark.parametrize("end", ["", "\n"])
def test_an_entry_before_zeros_is_read(tmp_path: Path, size_bytes: int, end: str) -> None:
    """A machine that crashes leaves zeros behind the last entry."""
    error = f"{stamp(7)} ERROR app.Main - java.lang.OutOfMemoryError: Java heap space{end}"
    text = log(20) + error + "\0" * size_bytes + log(20, begin_s=60)
    shown = " ".join(doctor("--log", written(tmp_path / "app.log", text)).stdout.split())
    assert "Entries 41 Threads" in shown
    assert "Errors 1 (" in shown


def test_of_several_files_those_that_are_no_logs_are_stated_and_the_others_read(tmp_path: Path) -> None:
    empty, path = written(tmp_path / "empty.log", ""), written(tmp_path / "app.log", log())
    examined = record("--log", empty, path)
    assert [item.file for item in examined.logs[0].refused] == [str(empty)]
    text = "".join(doctor("--log", empty, path).stdout.split())
    assert text.count("afilewasnotread") == 2, "above the findings, and in the reading of the log"
    assert doctor("--log", empty).exit_code == 2


def test_a_directory_is_refused_with_its_logs(tmp_path: Path) -> None:
    written(tmp_path / "app.log", log())
    result = doctor("--log", tmp_path)
    assert result.exit_code == 2
    assert "app.log" in result.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "none of its files is named as a log" in " ".join(doctor("--log", empty).stderr.split())
    assert doctor("--log", tmp_path / "missing.log").exit_code == 2


def test_the_host_and_logs_are_examined_apart(tmp_path: Path) -> None:
    assert doctor("--live", "--log", written(tmp_path / "app.log", log())).exit_code == 2
