"""Tutorials: their commands work as written, on real servers, and their experiments show a real effect."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest

from http2_servers import Nginx
from mariadb import MariadbServer
from redis_server import RedisServer
from servers import PostgresServer
from tutorials.pages import SHOWN, TUTORIALS, blocks, script

BIN = Path(sys.executable).parent
#: Each takes at most 60 s on two processors that have nothing else to do; other tests run at the same time.
LIMIT_S = 480
DOCS = TUTORIALS.parent
STREAM_RULES = DOCS / "explanation/stream-rules.md"
PAGES = [*sorted(page for page in TUTORIALS.glob("*.md") if ".zh-CN" not in page.name), STREAM_RULES]


def follow(
    page: str,
    home: Path,
    *,
    addresses: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> str:
    """Run the commands of a tutorial in `home`; what they print."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PG", "LOADCELL", "LC_"))
    }
    environment |= {"PATH": f"{BIN}:{os.environ['PATH']}", "LANG": "C.UTF-8", "HOME": str(home)}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script(TUTORIALS / page, addresses or {}, files or {})],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_chinese_page_has_the_same_commands(page: Path) -> None:
    def executed(path: Path) -> list[tuple[str, str]]:
        return [(block.language, block.text) for block in blocks(path) if block.language not in SHOWN]

    chinese = page.with_name(f"{page.stem}.zh-CN.md")
    assert executed(chinese) == executed(page)
    assert [block.language for block in blocks(chinese)] == [block.language for block in blocks(page)]


def test_first_report(tmp_path: Path) -> None:
    output = follow("first-report.md", tmp_path)
    assert "faster" in output
    assert len(list(tmp_path.glob("results/*/*/report.html"))) == 2


def test_postgresql(tmp_path: Path) -> None:
    hba = (
        "local all all trust",
        "host all postgres 127.0.0.1/32 trust",
        "host all bench 127.0.0.1/32 scram-sha-256",
    )
    with PostgresServer(hba=hba) as server:
        address = f"{server.host}:{server.port}"
        output = follow(
            "postgresql.md",
            tmp_path,
            addresses={
                "ADMIN": f"postgresql://postgres@{address}/postgres",
                "SERVER": f"postgresql://bench@{address}/shop",
            },
        )
        assert "faster" in output
        assert server.sql("SELECT datname FROM pg_database WHERE NOT datistemplate") == [("postgres",)]


def test_mysql(tmp_path: Path) -> None:
    with MariadbServer() as server:
        lines = (
            f"host = {server.host}",
            f"port = {server.port}",
            "user = test",
            f"password = {server.password}",
        )
        access = "\n".join(("[client]", *lines, ""))
        output = follow(
            "mysql.md",
            tmp_path,
            addresses={"SERVER": f"mysql://bench@{server.host}:{server.port}"},
            files={"admin.cnf": access},
        )
        assert "faster" in output
        assert server.sql("SHOW DATABASES LIKE 'loadcell%'") == server.sql("SHOW DATABASES LIKE 'shop'") == []


def test_redis(tmp_path: Path) -> None:
    with RedisServer(password="") as server:
        output = follow("redis.md", tmp_path, addresses={"SERVER": f"{server.host}:{server.port}"})
        assert "faster" in output
        assert server.ask("DBSIZE") == 0


def test_http(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Nginx(tmp_path / "nginx", listen="") as server:
        output = follow("http.md", home, addresses={"URL": f"http://127.0.0.1:{server.port}/"})
    # The estimate; its interval depends on what else the machine does.
    assert re.search(r"^p50 [^%]*\+[\d.,]+%", output, re.MULTILINE)


def test_before_and_after(tmp_path: Path) -> None:
    output = follow("before-and-after.md", tmp_path)
    assert "exit status 1\n### Slower: throughput" in output
    assert "</html>" in (tmp_path / "comparison.html").read_text(encoding="utf-8")


def test_python_function(tmp_path: Path) -> None:
    output = follow("python-function.md", tmp_path)
    assert re.search(r"^time per call \(ms\) .* faster", output, re.MULTILINE)
    assert list(tmp_path.glob("results/calls/trials/*/profile.prof"))


def test_conclusions_of_a_stream_test(tmp_path: Path) -> None:
    """The table of the page is that of its file, and its shares of variation are those of the report."""
    table = tmp_path / "stream-rules.csv"
    shutil.copy(DOCS / "examples/stream-rules.csv", table)
    output = follow("../explanation/stream-rules.md", tmp_path)
    assert output.count("insufficient") >= 10
    (report,) = tmp_path.glob("results/*/*/report.md")
    assert "Throughput is in records per second" in report.read_text(encoding="utf-8")
    shares = {name: share for name, share, *_ in _rows(report) if re.fullmatch(r"[\d.]+%", share)}
    original = tmp_path / "original.md"
    original.write_text(
        STREAM_RULES.read_text(encoding="utf-8").split("\n## The same on")[0], encoding="utf-8"
    )
    terms = {
        term.replace("retained records", "retained\\_records").replace(
            "all three", "three or more factors"
        ): share
        for term, share, *_ in _rows(original)
        if re.fullmatch(r"[\d.]+%", share)
    }
    assert shares == terms
    assert len(shares) == 7
    with table.open() as file:
        rows = list(csv.DictReader(file))
    columns = ("retained_records", "rules", "threads", "run_time_s", "cpu_mean_percent", "cpu_max_percent")
    for page in (STREAM_RULES, STREAM_RULES.with_name("stream-rules.zh-CN.md")):
        printed = [cells for cells in _rows(page) if re.fullmatch(r"\d{3},000", cells[0])]
        assert [cells[8] for cells in printed[8:]] == [row["run_time_s"] for row in rows], (
            "beside the original"
        )
        for cells, row in zip(printed[:8], rows, strict=True):
            retained, rules, threads, start, end, run_time, mean, most, rate = cells
            values = [retained.replace(",", ""), rules, threads, run_time, mean, most]
            assert values == [row[column] for column in columns]
            began, ended = (datetime.fromisoformat(f"2013-02-06T{time}") for time in (start, end))
            assert began == datetime.fromisoformat(row["started"])
            assert (ended - began).total_seconds() == int(run_time)
            assert rate.replace(",", "") == row["records_per_s"] == str(round(1_000_000 / int(run_time)))


def _rows(page: Path) -> list[list[str]]:
    """Cells of the rows of a page's tables."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_page_without_a_stated_variable_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nexport SERVER=a\n```\n")
    assert script(page, {"SERVER": "b"}, {}).endswith("export SERVER=b\n")
    with pytest.raises(AssertionError, match=r"page\.md has no OTHER"):
        script(page, {"OTHER": "b"}, {})
