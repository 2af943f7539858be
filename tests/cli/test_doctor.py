"""`loadcell doctor --gc-log`: results, exit status, and input that is no GC log."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import threading
import time
from pathlib import Path

import pytest
from click.testing import Result

from jvms import classes, java
from lines import CliRunner
from loadcell.cli import main
from loadcell.incidents.jvm_record import JvmRecord
from loadcell.incidents.record import ExaminationRecord, SubjectRecord
from loadcell.model import json as model_json

HEAD = "[2026-11-28T10:00:{at:06.3f}+0000][{at:.3f}s][info][gc] "
OUTPUTS = Path(__file__).parents[1] / "ingest" / "readers" / "outputs"
#: Fills most of the heap, then retains a hundredth of its allocations.
LEAKING = """
import java.util.ArrayList;
public class Leaking {
  static volatile Object garbage;
  public static void main(String[] words) {
    ArrayList<byte[]> all = new ArrayList<>(100_000);
    long most = Runtime.getRuntime().maxMemory();
    int slow = (int) (most * 0.8 / 1024);
    while (true) {
      all.add(new byte[1000]);
      if (all.size() > slow) for (int i = 0; i < 100; i++) garbage = new byte[1000];
    }
  }
}
"""
#: Asks for collections, and retains little.
ASKING = """
public class Asking {
  static byte[] retained = new byte[15_000_000];
  public static void main(String[] words) throws Exception {
    for (int i = 0; i < 40; i++) { System.gc(); Thread.sleep(20); }
  }
}
"""


def doctor(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["doctor", *map(str, words)], catch_exceptions=False)


def log(count: int = 20, begin: int = 1, milliseconds: float = 5) -> str:
    lines = [HEAD.format(at=float(begin)) + "Using G1"] if begin == 1 else []
    lines += [
        HEAD.format(at=float(begin + at))
        + f"GC({at}) Pause Young (Normal) (G1 Evacuation Pause) 50M->10M(64M) {milliseconds:.3f}ms"
        for at in range(1, count + 1)
    ]
    return "\n".join(lines) + "\n"


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def record(*words: str | Path) -> ExaminationRecord:
    result = doctor(*words, "--json")
    assert result.exit_code in (0, 1), result.output
    return model_json.read(ExaminationRecord, result.stdout)


def collections(subject: SubjectRecord) -> JvmRecord:
    assert subject.jvm is not None
    return subject.jvm


def run_java(directory: Path, source: str, name: str, *options: str) -> Path:
    """The GC log of a program that ends by itself."""
    path = directory / "gc.log"
    to_file = f"-Xlog:gc*,safepoint:file={path}:utctime,uptime,level,tags"
    words = [java(), *options, to_file, "-cp", str(classes(source)), name]
    subprocess.run(words, check=False, capture_output=True, timeout=120, cwd=directory)
    return path


def test_a_healthy_log_has_the_status_0_and_its_values(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", log())
    result = doctor("--gc-log", path)
    assert result.exit_code == 0
    assert "No known incident" in result.stdout
    healthy = {item.incident: item.text for item in record("--gc-log", path).subjects[0].healthy}
    assert healthy["long-pause"] == "the longest pause took 5 ms; the limit is 1 s"


def test_an_incident_has_the_status_1_its_line_and_its_remedy(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", log(milliseconds=1500))
    result = doctor("--gc-log", path)
    assert result.exit_code == 1
    assert "Long pause (warning, high confidence)" in " ".join(result.stdout.split())
    chinese = doctor("--lang", "zh", "--gc-log", path)
    assert "长时间停顿（级别：警告，置信度高）" in chinese.stdout
    assert record("--gc-log", path).subjects[0].diagnoses[0].lines[0].number == 2


def test_the_timeout_of_clients_makes_shorter_pauses_critical(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", log(milliseconds=150))
    assert doctor("--gc-log", path).exit_code == 0
    [diagnosis] = record("--gc-log", path, "--timeout", "0.1").subjects[0].diagnoses
    assert (diagnosis.incident, diagnosis.level) == ("long-pause", "critical")


def test_the_page_has_charts_and_the_prevention(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", log(milliseconds=1500))
    page = tmp_path / "doctor.html"
    assert doctor("--gc-log", path, "--out", page).exit_code == 1
    text = page.read_text()
    assert "chart-pauses-1" in text
    assert "Prevention." in text


def test_the_timeout_of_clients_needs_a_gc_log(tmp_path: Path) -> None:
    path = written(tmp_path / "app.log", "2026-11-28T10:00:00Z ERROR failed\n" * 5)
    result = doctor("--log", path, "--timeout", "0.1")
    assert result.exit_code == 2
    assert "add `--gc-log gc.log`" in " ".join(result.stderr.split()).replace("'", "`")


def test_rotated_files_in_the_wrong_order_and_a_compressed_one_are_one_log(tmp_path: Path) -> None:
    first = tmp_path / "gc.log.0.gz"
    first.write_bytes(gzip.compress(log(10).encode()))
    second = written(tmp_path / "gc.log", log(10, begin=21))
    examined = record("--gc-log", second, first)
    assert examined.logs[0].files == (str(first), str(second))
    assert [collections(subject).pauses.count for subject in examined.subjects] == [20]
    assert any("order of their times" in remark for remark in examined.logs[0].remarks)
    assert examined.logs[0].lines_not_understood == 0


def test_a_log_that_is_being_written_is_read_up_to_there(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", log()[:-20])
    examined = record("--gc-log", path)
    assert collections(examined.subjects[0]).pauses.count == 19
    assert any("last line" in remark for remark in examined.logs[0].remarks)


def test_a_damaged_archive_is_read_up_to_the_damage(tmp_path: Path) -> None:
    packed = gzip.compress(log(20_000).encode())
    path = written(tmp_path / "gc.log.gz", packed[: len(packed) * 3 // 4])
    examined = record("--gc-log", path)
    assert 0 < collections(examined.subjects[0]).pauses.count < 20_000
    assert any("is damaged" in remark for remark in examined.logs[0].remarks)
    assert "is damaged" in examined.subjects[0].remarks[0]
    page = tmp_path / "doctor.html"
    text = " ".join(doctor("--gc-log", path, "--out", page).stdout.split())
    assert text.index("is damaged") < text.index("No known incident"), "above the findings"
    assert text.rindex("is damaged") > text.index("lines read, of which")
    assert text.count("is damaged") == 2
    section = page.read_text().partition('id="findings"')[2].partition('id="collections-1"')[0]
    assert "is damaged" in section
    chinese = "".join(doctor("--lang", "zh", "--gc-log", path).stdout.split())
    assert "已损坏，只读取到损坏处：压缩数据不完整" in chinese
    assert "Compressed" not in chinese


def test_of_several_files_those_that_are_no_gc_logs_are_stated_and_the_others_read(tmp_path: Path) -> None:
    empty = written(tmp_path / "gc.log", "")
    other = written(tmp_path / "nginx.log", "2026-11-29T10:00:00Z GET /api 200\n" * 20)
    log_file = written(tmp_path / "gc.log.0", log())
    words = ("--gc-log", empty, other, log_file)
    examined = record(*words)
    assert collections(examined.subjects[0]).pauses.count == 20
    [reading] = examined.logs
    assert reading.files == (str(log_file),)
    assert [(item.file, "is empty" in item.reason) for item in reading.refused] == [
        (str(empty), True), (str(other), False),
    ]  # fmt: skip
    assert "ls -l" in reading.refused[0].remedy
    page = tmp_path / "doctor.html"
    result = doctor(*words, "--out", page)
    assert result.exit_code == 0
    for text in (result.stdout, page.read_text().partition("<body")[2]):
        above, _, reading_text = "".join(re.sub(r"<[^>]+>", "", text).split()).rpartition("Readingofthelog")
        assert "isempty" in above
        assert "isempty" in reading_text
        assert "isnoGClog" in reading_text
        assert "doctor--log" in reading_text, "the remedy"
    assert "有文件未读取" in doctor("--lang", "zh", *words).stdout
    refused = doctor("--gc-log", empty, other)
    assert refused.exit_code == 2, "no file is a GC log"
    assert "is empty" in refused.stderr


def test_a_damage_is_stated_for_the_jvm_whose_log_it_cuts(tmp_path: Path) -> None:
    first = written(tmp_path / "gc.log.0", log(10))
    packed = gzip.compress(log(20_000, begin=1).encode())
    second = written(tmp_path / "gc.log.1.gz", packed[: len(packed) // 2])
    examined = record("--gc-log", first, second)
    assert [len(subject.remarks) for subject in examined.subjects] == [0, 1]


def test_lines_of_other_programs_are_counted_and_shown(tmp_path: Path) -> None:
    lines = log(90).splitlines(keepends=True)
    mixed = "".join(
        line + ("order 17 stored\n" if number % 10 == 0 else "") for number, line in enumerate(lines)
    )
    examined = record("--gc-log", written(tmp_path / "out.log", mixed))
    assert (examined.logs[0].lines, examined.logs[0].lines_not_understood) == (101, 10)
    assert examined.logs[0].not_understood_share == pytest.approx(10 / 101)
    assert examined.logs[0].examples[0].text == "order 17 stored"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\x7fELF\0\0\0\1" * 100, "it looks like a program or a library"),
        (b"hello\nworld\n", "its first line is 'hello'"),
        (b"JAVA PROFILE 1.0.2\0" + bytes(100), "it looks like a heap dump of a JVM"),
        (b"FLR\0\0\2" + bytes(100), "it looks like a recording of JDK Flight Recorder"),
        (b"\1\2\3\0" * 100, "it begins with the bytes 01 02 03 00 01 02 03 00"),
        (b"2026-11-28T10:00:00Z INFO started\n" * 5, "`loadcell doctor --log"),
        ((OUTPUTS / "wrk.txt").read_bytes(), "it looks like the output of wrk"),
        (b"GC(0) Pause Young (Normal) 6M->2M(64M) 4.533ms\n", "have no time"),
        (b"[0.1s][info][gc] GC(0) Pause Young (Normal) 6M->2M(64M) 4ms " * 40, "entries on one line"),
    ],
    ids=["empty", "program", "text", "dump", "recording", "unknown", "service", "wrk", "times", "one-line"],
)
def test_a_file_that_is_no_gc_log_is_refused_with_what_it_looks_like(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    result = doctor("--gc-log", written(tmp_path / "gc.log", content))
    assert result.exit_code == 2
    text = " ".join(result.stderr.split()).replace("'loadcell", "`loadcell")
    assert reason in text
    assert not any(word in text for word in ("Traceback", "sar", "Import the output"))


def test_ten_gigabytes_of_zeros_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    with path.open("wb") as file:
        file.truncate(10 * 10**9)
    begin = time.monotonic()
    result = doctor("--gc-log", path)
    assert result.exit_code == 2
    assert time.monotonic() - begin < 5


def test_a_directory_is_refused_with_its_logs(tmp_path: Path) -> None:
    written(tmp_path / "gc.log.0", log())
    result = doctor("--gc-log", tmp_path)
    assert result.exit_code == 2
    assert "gc.log.0" in result.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "none of its files" in " ".join(doctor("--gc-log", empty).stderr.split())
    assert doctor("--gc-log", tmp_path / "missing.log").exit_code == 2


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(log()))
    writer.start()
    examined = record("--gc-log", pipe)
    writer.join()
    assert collections(examined.subjects[0]).pauses.count == 20
    assert examined.logs[0].files == (str(pipe),)


def test_evidence_is_required() -> None:
    result = doctor()
    assert result.exit_code == 2
    assert "--gc-log gc.log" in result.stderr


@pytest.mark.parametrize("collector", ["G1", "Serial", "Parallel"])
def test_a_leaking_class_with_a_small_heap_is_a_spiral(tmp_path: Path, collector: str) -> None:
    path = run_java(
        tmp_path, LEAKING, "Leaking", "-Xmx24m", f"-XX:+Use{collector}GC", "-XX:+HeapDumpOnOutOfMemoryError"
    )
    [jvm, *_] = record("--gc-log", path).subjects
    diagnoses = {item.incident: item for item in jvm.diagnoses}
    assert diagnoses["full-gc-spiral"].level == "critical"
    assert collections(jvm).lines_not_understood == 0
    assert "heap-dumps" not in diagnoses, "the dump of an OutOfMemoryError is wanted"


def test_a_dump_at_each_full_collection_of_a_real_jvm(tmp_path: Path) -> None:
    path = run_java(
        tmp_path, LEAKING, "Leaking", "-Xmx24m", "-XX:+HeapDumpBeforeFullGC", f"-XX:HeapDumpPath={tmp_path}"
    )
    [jvm, *_] = record("--gc-log", path).subjects
    diagnoses = [item for item in jvm.diagnoses if item.incident == "heap-dumps"]
    assert {item.level for item in diagnoses} == {"critical"}
    assert any(".hprof" in line.file for item in diagnoses for line in item.lines)


@pytest.mark.parametrize("collector", ["G1", "Serial", "Parallel", "Z", "Shenandoah"])
def test_a_loop_of_requested_collections_is_no_incident(tmp_path: Path, collector: str) -> None:
    path = run_java(tmp_path, ASKING, "Asking", "-Xmx64m", f"-XX:+Use{collector}GC")
    [jvm] = record("--gc-log", path).subjects
    assert [item for item in jvm.diagnoses if item.level != "note"] == []
    assert collections(jvm).pauses.count > 10
    assert collections(jvm).lines_not_understood == 0


def test_the_schema_of_the_record_is_in_the_reference() -> None:
    schemas = Path(__file__).parents[2] / "docs" / "reference" / "schemas"
    written_schema = json.loads((schemas / "examination.schema.json").read_text())
    assert written_schema == model_json.schema(ExaminationRecord)
