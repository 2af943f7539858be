"""The command root: what it offers, how it ends, and that nobody ever sees a traceback."""

from __future__ import annotations

import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from fake_runs import write_run
from lines import CliRunner
from loadcell.cli import COMMANDS, LazyGroup, main
from loadcell.model.message import as_written
from loadcell.plan.problems import Mark, PlanError, Problem


def loadcell_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "loadcell", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_help_lists_every_command_without_importing_any() -> None:
    code = (
        "import sys; from loadcell.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'rich', 'duckdb', 'altair', 'ruamel.yaml', 'loadcell.plan.load'}"
        " & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\w", result.stdout, re.MULTILINE)


def test_help_comes_at_once() -> None:
    """In CPU time, which other work on the machine does not stretch as it does the clock's."""
    took = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert loadcell_command("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < 0.3


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there_and_has_help(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"], terminal_width=80)
    assert result.exit_code == 0, result.output
    assert f"Usage: main {name}" in result.output
    assert max(map(len, result.output.splitlines())) <= 80, "lines that are kept as they are fit a terminal"


def test_a_misspelt_command_names_the_nearest() -> None:
    result = CliRunner().invoke(main, ["chek"])
    assert result.exit_code == 2
    assert "Did you mean check?" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["check"], ["check", "--seed", "x", "p"], ["--nope"], ["completion", "tcsh"]]
)
def test_a_wrong_call_is_status_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "Error:" in result.stderr


def root_that_raises(error: BaseException) -> LazyGroup:
    class Broken(LazyGroup):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
            def fail() -> None:
                raise error

            return click.Command(cmd_name, callback=fail)

    return Broken("loadcell")


def test_an_internal_fault_is_one_line_and_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = CliRunner().invoke(root_that_raises(ZeroDivisionError("by\nzero")), ["run"])
    assert result.exit_code == 3
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    (file,) = tmp_path.iterdir()
    assert line == f"A fault in loadcell (ZeroDivisionError): by zero. The full trace is in {file}."
    assert "Traceback" in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_output_to_a_full_disk_is_an_error_in_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "loadcell", "--lang", "en", "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 3
    assert done.stderr.startswith("Error: standard output cannot be written: No space left on device. ")


def test_a_fault_without_a_place_to_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    result = CliRunner().invoke(root_that_raises(RuntimeError("x")), ["run"])
    assert result.exit_code == 3
    assert result.stderr == "A fault in loadcell (RuntimeError): x. The full trace could not be saved.\n"


@pytest.mark.parametrize(
    ("error", "status", "output"),
    [
        (KeyboardInterrupt(), 130, "\nInterrupted.\n"),
        (SystemExit(1), 1, ""),
        (SystemExit(None), 0, ""),
        (click.exceptions.Exit(3), 3, ""),
        (
            PlanError([Problem(Mark("p.yaml", 1, 2), "x", as_written("is wrong"))]),
            2,
            "p.yaml:1:2: x: is wrong\n1 error. Nothing was run.\n",
        ),
    ],
)
def test_how_a_command_ends(error: BaseException, status: int, output: str) -> None:
    result = CliRunner().invoke(root_that_raises(error), ["run"])
    assert (result.exit_code, result.stderr) == (status, output)


def test_a_reader_that_has_enough_is_no_fault() -> None:
    script = f"{sys.executable} -m loadcell plans schema | head -1; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "{\n", "")


# -- completion


def completed(*words: str) -> list[str]:
    """Return what bash would offer for the last of `words`."""
    result = loadcell_command(
        _LOADCELL_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(["loadcell", *words]),
        COMP_CWORD=str(len(words)),
    )
    assert result.returncode == 0, result.stderr
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


def test_loads_without_a_plan_file_complete() -> None:
    assert completed("http", "h") == ["http://", "https://"]
    assert completed("http", "http://x", "-X", "p") == ["POST", "PUT", "PATCH"]
    assert completed("http", "http://x", "--set", "workload.http.head") == [
        "workload.http.headers=",
        "workload.http.header_limit=",
    ]
    assert completed("redis", "loc") == ["local", "localhost:6379"]
    assert completed("redis", "local", "--set", "workload.kv.key_p") == ["workload.kv.key_prefix="]
    assert completed("sql", "e") == ["embedded"]
    assert completed("sql", "embedded", "-w", "pgbench:t") == ["pgbench:tpcb-like"]
    assert completed("sql", "mysql://me@db", "-w", "pgbench:t") == []
    assert "workload.tpcc.warehouses=" in completed("sql", "embedded", "--set", "workload.tpcc.w")


def test_commands_plans_settings_factors_and_levels_complete() -> None:
    assert completed("ch") == ["check"]
    assert completed("check", "quick")[0] == "quickstart"
    assert completed("check", "quickstart", "--set", "load.d") == ["load.duration="]
    assert "target.postgres.settings=" in completed("check", "quickstart", "--set", "target.postgres.s")
    assert completed("check", "quickstart", "--only", "load") == ["load.clients="]
    assert completed("check", "quickstart", "--only", "load.clients=1,1") == [
        "load.clients=1,1",
        "load.clients=1,16",
    ]
    assert completed("plans", "show", "quick") == ["quickstart"]


def test_plans_and_runs_complete_beside_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in the way hide no built-in plan, and directories no run, in bash itself."""
    write_run(tmp_path / "results" / "plan" / "20260309T080000Z-4f2a")
    (tmp_path / "kv-mine.yaml").touch()
    (tmp_path / "kv-notes.txt").touch()
    script = tmp_path / "completion.bash"
    script.write_text(CliRunner().invoke(main, ["completion", "bash"]).stdout, encoding="utf-8")

    def offered(*words: str) -> list[str]:
        typed = " ".join(map(shlex.quote, ["loadcell", *words]))
        return subprocess.run(
            ["bash", "-c", f"""
                PATH={Path(sys.executable).parent}:$PATH; source {script}
                COMP_WORDS=({typed}); COMP_CWORD={len(words)}; COMPREPLY=()
                _loadcell_completion loadcell 2>/dev/null; printf '%s\\n' "${{COMPREPLY[@]}}"
            """],
            capture_output=True, text=True, check=True, cwd=tmp_path,
        ).stdout.split()  # fmt: skip

    assert {"kv-mix", "kv-mine.yaml"} <= set(offered("run", "kv-"))
    assert "kv-notes.txt" not in offered("run", "kv-")
    for command in ("show", "report", "query"):
        assert offered(*([command, "SUMMARIZE"] if command == "query" else [command]), "4") == ["4f2a"]
    assert offered("run", "--resume", "4") == ["4f2a"]
    assert offered("show", "res") == ["results/"]


def test_completion_survives_a_plan_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("target: [")
    assert completed("check", str(path), "--set", "load.w") == ["load.warmup="]
    assert completed("check", str(path), "--only", "load") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_each_shell(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_LOADCELL_COMPLETE" in result.stdout


def test_the_bash_script_is_bash() -> None:
    script = CliRunner().invoke(main, ["completion", "bash"]).stdout
    assert "nospace" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
