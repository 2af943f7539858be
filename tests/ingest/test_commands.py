"""Options in which the commands of one text differ are levels, and executions of one command are repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.made import made
from loadcell.ingest import commands
from loadcell.ingest.base import Reading
from loadcell.ingest.readers import wrk
from loadcell.ingest.text import Output
from loadcell.linux import process_directories

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
DD = "104857600 bytes (105 MB, 100 MiB) copied, {s} s, 105 MB/s\n"
WRK = (OUTPUTS / "wrk.txt").read_text(encoding="utf-8")
AB = (OUTPUTS / "ab.txt").read_text(encoding="utf-8")
SYSBENCH = (OUTPUTS / "sysbench-cpu.txt").read_text(encoding="utf-8")
REDIS = '"GET","{rate}"\n"SET","{rate}"\n'


def levels(tmp_path: Path, text: str, *others: str) -> tuple[list[dict[str, str]], int]:
    files = []
    tmp_path.mkdir(exist_ok=True)
    for number, content in enumerate((text, *others)):
        files.append(tmp_path / f"out-{number}.txt")
        files[-1].write_text(content, encoding="utf-8")
    run = made(tmp_path / "results", "auto", *files).run
    return [{name: str(level) for name, level in item.levels.items()} for item in run.treatments], run.repeats


def test_an_option_that_the_tool_does_not_print_is_a_level(tmp_path: Path) -> None:
    text = (
        f"$ wrk -t2 -c10 -R 2000 -s put.lua http://h/ | tee 1.txt\n{WRK}"
        f"$ wrk -t2 -c10 -R 4000 -s put.lua http://h/ | tee 2.txt\n{WRK}"
        f"$ wrk -t2 -c10 -R 2000 -s put.lua http://h/ | tee 3.txt\n{WRK}"
    )
    assert levels(tmp_path, text) == ([{"R": "2000"}, {"R": "4000"}], 2)


def test_another_file_that_is_read_is_a_level(tmp_path: Path) -> None:
    copies = [("/dev/urandom", 4), ("/dev/zero", 1)]
    text = "\n".join(f"[root@h d]# dd if={file} of=a bs=1M\n{DD.format(s=s)}" for file, s in copies)
    assert levels(tmp_path, text) == ([{"if": "/dev/urandom"}, {"if": "/dev/zero"}], 1)


def test_another_disk_that_is_written_is_a_level(tmp_path: Path) -> None:
    text = "".join(
        f"$ dd if=/dev/zero of={disk} bs=1M\n{DD.format(s=1)}" for disk in ("/dev/sda", "/dev/sdb")
    )
    assert levels(tmp_path, text) == ([{"of": "/dev/sda"}, {"of": "/dev/sdb"}], 1)


@pytest.mark.parametrize("option", ["--log-level", "--oltp-user-count"])
def test_options_are_compared_by_their_exact_names(option: str, tmp_path: Path) -> None:
    text = "".join(f"$ sysbench {option}={value} cpu run\n{SYSBENCH}" for value in (71, 72))
    name = option.strip("-")
    assert levels(tmp_path, text) == ([{name: "71"}, {name: "72"}], 1)


def test_an_option_without_a_value_does_not_take_the_url(tmp_path: Path) -> None:
    text = f"$ ab -n 10 -k http://h/a\n{AB}$ ab -n 10 http://h/a\n{AB}"
    assert levels(tmp_path, text) == ([{"k": "yes"}, {"k": "no"}], 1)
    text = f"$ wrk --latency http://h/a\n{WRK}$ wrk --latency http://h/b\n{WRK}"
    assert levels(tmp_path / "wrk", text) == ([{"arguments": "http://h/a"}, {"arguments": "http://h/b"}], 1)
    text = f"$ ab -kc 71 http://h/a\n{AB}$ ab -kc72 http://h/a\n{AB}"
    assert levels(tmp_path / "ab", text) == ([{"c": "71"}, {"c": "72"}], 1)


def test_all_tests_of_a_command_have_its_levels(tmp_path: Path) -> None:
    text = "".join(
        f"OK\nredis-benchmark -c {clients} \\\n  -t get,set --csv\n{REDIS.format(rate=clients * 1000)}"
        for clients in (1, 2)
    )
    treatments, repeats = levels(tmp_path, text)
    assert [(item["part"], item["c"]) for item in treatments] == [
        ("GET", "1"),
        ("SET", "1"),
        ("GET", "2"),
        ("SET", "2"),
    ]
    assert repeats == 1


def test_commands_of_several_files_differ_as_those_of_one(tmp_path: Path) -> None:
    files = [f"wrk --rate={rate} --latency http://h/\n{WRK}" for rate in (1, 2)]
    assert levels(tmp_path, *files) == ([{"rate": "1"}, {"rate": "2"}], 1)


@pytest.mark.parametrize(
    "text",
    [
        # what the text says anyway, results' files, the beginning of random numbers, who logs in
        f"ab -n 10 -c 10 -g a.tsv http://h/\n{AB}ab -n 10 -c 10 -g b.tsv http://h/\n{AB}",
        f"sysbench --rand-seed=1 --pgsql-password=a cpu run\n{SYSBENCH}"
        f"sysbench --rand-seed=2 --pgsql-password=b cpu run\n{SYSBENCH}",
        # a sentence is no command, and neither is the head of an output
        f"The first time wrk -R 1 was slow.\n{WRK}Then wrk -R 2.\n{WRK}",
        SYSBENCH * 2,
    ],
)
def test_these_are_repeats(tmp_path: Path, text: str) -> None:
    assert levels(tmp_path, text) == ([{}], 2)


def test_a_text_whose_executions_do_not_fit_its_commands_has_no_levels_of_them(tmp_path: Path) -> None:
    half = len(WRK) // 2
    text = f"{WRK[:half]}$ wrk -R 1 http://h/\n{WRK[half:]}$ wrk -R 2 http://h/\n{WRK}"
    assert levels(tmp_path, text) == ([{}], 2)


def test_commands_are_no_lines_that_were_not_understood(tmp_path: Path) -> None:
    text = (
        f"$ wrk -t2 -c10 -R 2000 http://h/ | tee 1.txt\n{WRK}"
        f"what is this\n$ wrk -t2 -c10 \\\n  -R 4000 \\\n  http://h/\n{WRK}"
    )
    file = tmp_path / "out.txt"
    file.write_text(text, encoding="utf-8")
    run = made(tmp_path / "results", "wrk", file)
    assert [item.levels for item in run.run.treatments] == [{"R": "2000"}, {"R": "4000"}]
    [imported] = run.run.imported or ()
    assert (imported.unread, imported.examples) == (1, ("what is this",))
    assert [trial.tool and trial.tool.unread for trial in run.trials] == [None, None]


def test_a_single_command_is_none_either(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text(f"$ wrk -t2 -c10 http://h/\n{WRK}", encoding="utf-8")
    [imported] = made(tmp_path / "results", "wrk", file).run.imported or ()
    assert (imported.unread, imported.examples) == (0, ())


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("redis-benchmark -a {secret} -n 100", REDIS.format(rate=1000)),
        ("redis-benchmark -u redis://app:{secret}@h:6379 -n 100", REDIS.format(rate=1000)),
        ("ab -A app:{secret} http://h/", AB),
        ("ab -kA app:{secret} http://h/", AB),
        ("redis-benchmark -a -{secret} -n 100", REDIS.format(rate=1000)),
        ("sysbench --mysql-password {secret} cpu run", SYSBENCH),
        ("ab -P app:{secret} http://h/", AB),
        ("ab -C session={secret} http://h/", AB),
        ("wrk -c10 -H 'Authorization: Bearer {secret}' http://h/", WRK),
        ("wrk -c10 --header='X-Key: {secret}' http://h/", WRK),
        ("wrk -c10 http://app:{secret}@h/", WRK),
        ("wrk -c10 http://h/?token={secret}", WRK),
        ("sysbench --mysql-password={secret} cpu run", SYSBENCH),
    ],
)
def test_values_of_secret_options_are_never_stored(tmp_path: Path, command: str, output: str) -> None:
    first, second = (f"{command.format(secret=secret)}\n{output}" for secret in ("hunter2", "hunter3"))
    _, repeats = levels(tmp_path, first + second)
    assert repeats == 2
    for file in (tmp_path / "results").rglob("*.json"):
        assert "hunter" not in file.read_text(encoding="utf-8"), file


def test_parts_are_copied_where_a_later_import_removes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    copies: list[Path] = []
    parse = wrk.READER.read

    def read(output: Output) -> Reading:
        copies.extend(output.files)
        return parse(output)

    reading = parse(Output((OUTPUTS / "wrk.txt",)))
    commands.attached(reading, "wrk", f"wrk -R 1 http://h/\n{WRK}".encode(), read)
    assert {copy.parent.parent for copy in copies} == {process_directories.usual(tmp_path)}
    assert not copies[0].parent.exists()
