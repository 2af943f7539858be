"""Texts from mails and Markdown are read without their marks; what is recognised and not read says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.made import made
from loadcell.ingest import read
from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.text import without_quotes

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
NAMES = ("ab.txt", "wrk.txt", "pgbench.txt", "sysbench-oltp.txt", "fio.json", "stress-ng.txt", "dd.txt")


def figures(home: Path, file: Path) -> list[float | None]:
    return [trial.totals.throughput_per_s for trial in made(home, "auto", file).trials]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mark", ["> ", ">> ", "> > ", "    ", "\t", ">     "])
def test_a_quoted_text_is_read_as_the_text_itself(tmp_path: Path, name: str, mark: str) -> None:
    text = (OUTPUTS / name).read_text()
    copy = tmp_path / name
    copy.write_text("On Monday somebody wrote:\n" + "".join(f"{mark}{line}\n" for line in text.splitlines()))
    assert figures(tmp_path / "a", copy) == figures(tmp_path / "b", OUTPUTS / name)


def test_a_fence_within_a_quotation_is_no_line_of_the_output() -> None:
    text = b"> ```console\n> TPS: 5\n>   more\n> ```\n"
    assert without_quotes(text) == b"TPS: 5\n  more\n"


@pytest.mark.parametrize("name", NAMES)
def test_code_within_a_list_is_read_as_the_text_itself(tmp_path: Path, name: str) -> None:
    text = (OUTPUTS / name).read_text()
    copy = tmp_path / name
    code = "".join(f"  {line}\n" for line in text.splitlines())
    copy.write_text(f"- On the old machine:\n\n  ```console\n{code}  ```\n")
    assert figures(tmp_path / "a", copy) == figures(tmp_path / "b", OUTPUTS / name)


def test_a_text_without_marks_stays_as_it_is() -> None:
    assert without_quotes(b"a\n    b\nc\n") is None


BANNERS = {
    "aix": "AIX db1 3 7 00F6A5B24C00    05/10/23\n\nSystem configuration: lcpu=8  mode=Capped\n\n"
    "10:00:00    %usr    %sys    %wio   %idle   physc\n10:00:05       4       2       0      94    1.00\n",
    "solaris": "\nSunOS web 5.10 Generic_147147-26 sun4v    05/10/2023\n\n"
    "10:00:00    %usr    %sys    %wio   %idle\n10:00:05       1       1       0      98\n",
    "hp-ux": "HP-UX hp1 B.11.31 U ia64    05/10/23\n\n"
    "10:00:00    %usr    %sys    %wio   %idle\n10:00:05       1       1       0      98\n",
}


@pytest.mark.parametrize("system", BANNERS)
@pytest.mark.parametrize("tool", ["auto", "sar"])
def test_sar_of_another_unix_is_refused(tmp_path: Path, system: str, tool: str) -> None:
    file = tmp_path / "sar.txt"
    file.write_text(BANNERS[system])
    with pytest.raises(ImportProblemError, match="sar of Linux"):
        read.read([file], tool)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"fio version" : "fio-2.2.10", "jobs": [{"jobname": "a", "read": {"bw": 5}}]}',
            "fio 3.0 and later",
        ),
        (
            '{"fio version" : "fio-3.28", "jobs": [{"jobname": "a", "mixed" : {"iops": 5}}]}',
            "unified_rw_reporting",
        ),
    ],
)
def test_json_of_fio_that_is_not_read_says_why(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "fio.json"
    file.write_text(text)
    with pytest.raises(ImportProblemError, match=message):
        read.read([file], "auto")


def test_a_form_for_people_says_so_also_to_who_names_the_tool(tmp_path: Path) -> None:
    file = tmp_path / "fio.txt"
    file.write_text("j: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.28\n")
    with pytest.raises(ImportProblemError, match="is the human-readable output of fio"):
        read.read([file], "fio")
