"""`loadcell run` as it is called: what it takes, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.cli import main
from loadcell.model.json import document
from loadcell.store.read import read_run
from servers import PostgresServer

LOADCELL = str(Path(sys.executable).parent / "loadcell")
PLAN = """
title: A short one
target: {{postgres: {{server: external, dsn: '{dsn}'}}}}
workload: {{sysbench: {{script: oltp_point_select, tables: 1, table_size: 1000}}}}
load: {{clients: 2, warmup: 0s, duration: 1s}}
factors: {{load.clients: [1, 2]}}
repeats: 1
monitors: [host, target]
expect: [errors == 0]
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer) -> Path:
    """A directory with a plan and one finished run of it."""
    home = tmp_path_factory.mktemp("home")
    (home / "short.yaml").write_text(PLAN.format(dsn=postgres_server.dsn()))
    return home


@pytest.fixture(scope="module")
def first(home: Path) -> subprocess.CompletedProcess[str]:
    return loadcell(home, "run", "short.yaml")


def loadcell(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LOADCELL, *arguments],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def the_run(home: Path) -> Path:
    return min((home / "results" / "short").iterdir())


def called(home: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.chdir(home)
    return CliRunner().invoke(main, arguments)


def test_results_on_standard_output_progress_beside_them(
    first: subprocess.CompletedProcess[str], home: Path
) -> None:
    assert first.returncode == 0, first.stderr
    assert "A short one: 2 trials" in first.stderr
    assert "tx/s" in first.stdout
    assert f"{the_run(home).relative_to(home)}/report.html" in first.stdout
    assert {"report.html", "report.md", "run.json", "plan.yaml", "environment.json"} <= {
        file.name for file in the_run(home).iterdir()
    }
    stored = read_run(the_run(home))
    assert stored.run.resumed_by == "loadcell run"
    assert [trial.status for trial in stored.trials] == ["ok", "ok"]
    for trial in stored.trials:
        verdicts = {check["name"]: check["verdict"] for check in document(trial)["checks"]}
        assert {verdicts[name] for name in ("counting-identity", "littles-law", "intervals-complete")} == {
            "ok"
        }
        assert verdicts["server-counters"] == "ok"
        assert set(document(trial)["monitors"]) == {"host", "target"}
    assert stored.damage == []


def test_a_finished_run_resumed_has_nothing_left_to_do(
    first: subprocess.CompletedProcess[str], home: Path
) -> None:
    before = (the_run(home) / "trials").stat().st_mtime_ns
    done = loadcell(home, "run", "--resume", "last", "--json", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "0 trials (2 reused)" in done.stderr
    document = json.loads(done.stdout)
    assert [trial["status"] for trial in document["trials"]] == ["ok", "ok"]
    assert document["trials"][0]["totals"]["throughput_per_s"] > 0
    assert (the_run(home) / "trials").stat().st_mtime_ns == before


def test_a_changed_plan_is_refused_with_its_differences(
    first: subprocess.CompletedProcess[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = called(home, monkeypatch, "run", "short.yaml", "--resume", "last", "--set", "load.duration=2s")
    assert done.exit_code == 2
    assert "load.duration was 1s, is 2s" in done.stderr
    assert "Start a new run" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'PLAN'"),
        (("short.yaml", "--retry-failed"), "--retry-failed goes with --resume"),
        (("short.yaml", "--resume", "last", "--out", "x"), "exclude each other"),
        (("--resume", "no-such-run"), "there is no run 'no-such-run'"),
        (("short.yaml", "--out", "."), "already exists"),
        (("no-such-plan",), "no-such-plan"),
        (("short.yaml", "--set", "repeats=900"), "This plan has 1,800 trials"),
    ],
)
def test_a_wrong_call_is_reported_with_exit_status_2(
    home: Path,
    first: subprocess.CompletedProcess[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    done = called(home, monkeypatch, "run", *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_on_a_terminal_it_draws_and_leaves_a_clean_end(
    home: Path, first: subprocess.CompletedProcess[str]
) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [LOADCELL, "run", "short.yaml", "--out", "on-a-terminal", "--no-report"],
        cwd=home, stdin=slave, stdout=subprocess.PIPE, stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(slave)
    output = b""
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        output += chunk
    os.close(master)
    process.communicate()
    assert process.returncode == 0
    text = output.decode()
    assert "  measuring 0 s" in text
    assert "✓ clients=2-r1" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l"), "the cursor is given back"


class TestListShowQuery:
    def test_list(
        self, home: Path, first: subprocess.CompletedProcess[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done = called(home, monkeypatch, "list")
        assert done.exit_code == 0
        assert the_run(home).name[-4:] in done.stdout
        (row,) = json.loads(called(home, monkeypatch, "list", "--json").stdout)
        assert (row["plan"], row["state"], row["trials"], row["ok"], row["not_ok"]) == (
            "short",
            "finished",
            2,
            2,
            0,
        )
        assert row["size_bytes"] > 10_000

    def test_list_without_results(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        done = called(tmp_path, monkeypatch, "list")
        assert done.exit_code == 2
        assert "no directory results" in done.stderr

    def test_show_a_run_by_any_of_its_names(
        self, home: Path, first: subprocess.CompletedProcess[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("last", the_run(home).name[-4:], str(the_run(home))):
            done = called(home, monkeypatch, "show", name)
            assert done.exit_code == 0, done.stderr
        document = json.loads(called(home, monkeypatch, "show", "last", "--json").stdout)
        assert [trial["status"] for trial in document["records"]] == ["ok", "ok"]

    def test_show_a_trial(
        self, home: Path, first: subprocess.CompletedProcess[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("1", "clients=2"):
            done = called(home, monkeypatch, "show", "last", name)
            assert done.exit_code == 0, done.stderr
            for word in ("throughput", "p99.9", "point_select", "Little's law", "measure"):
                assert word in done.stdout
        assert json.loads(called(home, monkeypatch, "show", "last", "2", "--json").stdout)["number"] == 2
        done = called(home, monkeypatch, "show", "last", "7")
        assert (done.exit_code, "there is no trial '7'" in done.stderr) == (2, True)

    def test_show_says_what_is_damaged(
        self,
        home: Path,
        tmp_path: Path,
        first: subprocess.CompletedProcess[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        import shutil

        torn = tmp_path / "torn"
        shutil.copytree(the_run(home), torn)
        file = next(torn.glob("trials/001-*/intervals.csv"))
        file.write_bytes(file.read_bytes()[:-7])
        done = called(home, monkeypatch, "show", str(torn))
        assert done.exit_code == 0
        file.with_name("trial.json").write_text("{")
        done = called(home, monkeypatch, "show", str(torn))
        assert "counts as unfinished" in done.stderr

    @pytest.mark.parametrize(
        ("form", "expected"),
        [
            ((), "clients=2"),
            (("--csv",), "treatment,n\nclients=1,1\nclients=2,1\n"),
            (("--json",), '"treatment": "clients=1"'),
        ],
    )
    def test_query(
        self,
        home: Path,
        first: subprocess.CompletedProcess[str],
        monkeypatch: pytest.MonkeyPatch,
        form: tuple[str, ...],
        expected: str,
    ) -> None:
        sql = "SELECT treatment, count(*) AS n FROM trials GROUP BY ALL ORDER BY ALL"
        done = called(home, monkeypatch, "query", sql, *form)
        assert done.exit_code == 0, done.stderr
        assert expected in done.stdout

    def test_a_row_wider_than_the_terminal_has_a_line_a_column(
        self, home: Path, first: subprocess.CompletedProcess[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        lines = called(home, monkeypatch, "query", "FROM trials").stdout.splitlines()
        assert lines[0].startswith("1 ──")
        assert max(map(len, lines)) <= 80
        assert any(line.split() == ["treatment", "clients=1"] for line in lines)

    def test_query_sees_target_and_host_samples(
        self, home: Path, first: subprocess.CompletedProcess[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sql = (
            "SELECT monitor, count(*) > 0 AS some FROM samples "
            "WHERE monitor IN ('host', 'target') AND (cpu_busy_percent > 0 OR cpu_percent >= 0) "
            "GROUP BY 1 ORDER BY 1"
        )
        done = called(home, monkeypatch, "query", sql, "--csv", "last")
        assert done.stdout == "monitor,some\nhost,True\ntarget,True\n"

    def test_a_query_that_is_none(
        self, home: Path, first: subprocess.CompletedProcess[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done = called(home, monkeypatch, "query", "DROP TABLE trials")
        assert done.exit_code == 2
        assert "one SELECT" in done.stderr
