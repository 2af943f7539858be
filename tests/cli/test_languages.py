"""The language of commands: named by an option, a variable or the locale; JSON is the same in each."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fake_runs import write_run
from lines import CliRunner, called, command
from loadcell.cli import locales, main

CHINESE = re.compile(r"[\u4e00-\u9fff]")
#: Three words of English in a row; names of treatments and units are no such.
ENGLISH = re.compile(r"(?:\b[a-z]{2,} ){2}[a-z]{2,}\b", re.IGNORECASE)
NO_LOCALE = {"LC_ALL": "", "LC_MESSAGES": "", "LANG": "", "LOADCELL_LANG": ""}


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "zh_TW.Big5"}, "zh"),
        ({"LANG": "zhx_XX.UTF-8"}, "en"),
        ({"LANG": "xx_YY.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LC_ALL": "C", "LC_MESSAGES": "zh_CN.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LC_ALL": "", "LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LOADCELL_LANG": "en", "LC_ALL": "zh_CN.UTF-8"}, "en"),
        ({"LOADCELL_LANG": "zh", "LC_ALL": "C"}, "zh"),
    ],
)
def test_the_language_of_the_environment(environment: dict[str, str], language: str) -> None:
    assert locales.of_environment(environment) == language


@pytest.mark.parametrize(
    ("words", "language"),
    [
        (["run", "--lang", "zh"], "zh"),
        (["--lang=zh", "run"], "zh"),
        (["--lang", "zh", "run", "--lang", "en"], "en"),
        (["run", "--lang"], None),
        (["run", "--lang", "fr"], None),
        (["init", "--", "curl", "--lang", "zh"], None),
        ([], None),
    ],
)
def test_the_language_of_a_command_line(words: list[str], language: str | None) -> None:
    assert locales.of_words(words) == language


def test_the_option_precedes_the_variable_and_that_the_locale() -> None:
    def first_line(*words: str, **environment: str) -> str:
        result = CliRunner(env={**NO_LOCALE, **environment}).invoke(main, [*words, "--help"])
        assert result.exit_code == 0
        return result.stdout.splitlines()[0]

    assert first_line("run").startswith("Usage:")
    assert first_line("run", LANG="zh_CN.UTF-8").startswith("用法：")
    assert first_line("run", LANG="zh_CN.UTF-8", LOADCELL_LANG="en").startswith("Usage:")
    assert first_line("run", "--lang", "zh", LOADCELL_LANG="en").startswith("用法：")
    assert first_line("--lang", "zh", LOADCELL_LANG="en").startswith("用法：")


@pytest.mark.parametrize("words", [["--help"], ["run", "-h"], ["--version"], []], ids=" ".join)
def test_an_unknown_language_does_not_keep_help_from_the_user(words: list[str]) -> None:
    result = CliRunner(env={**NO_LOCALE, "LOADCELL_LANG": "fr"}).invoke(main, words)
    assert result.exit_code == (0 if words else 2)
    assert result.stderr.startswith(
        "LOADCELL_LANG=fr is not an available language and is ignored; expected one of: en, zh.\n"
    )
    assert "loadcell" in result.stdout + result.stderr


def test_an_unknown_language_is_refused() -> None:
    variable = CliRunner(env={**NO_LOCALE, "LOADCELL_LANG": "fr"}).invoke(main, ["plans"])
    assert variable.exit_code == 2
    assert "LOADCELL_LANG=fr is not an available language; expected one of: en, zh." in variable.stderr
    explicit = CliRunner(env={**NO_LOCALE, "LOADCELL_LANG": "fr"}).invoke(main, ["plans", "--lang", "zh"])
    assert (explicit.exit_code, explicit.stderr) == (0, "")
    option = CliRunner(env=NO_LOCALE).invoke(main, ["plans", "--lang", "fr"])
    assert option.exit_code == 2
    assert "'fr' is not one of 'en', 'zh'" in option.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["run", "--nosuch"], "错误：没有选项 '--nosuch'。"),
        (["show"], "错误：缺少参数 'RUN'。"),
        (["show", "a", "b", "c"], "错误：多余的参数（c）"),
        (["history", "p", "--metric", "x"], "错误：'--metric' 的值无效：'x' 不在可选值之内：'throughput'"),
        (["list", "--last", "0"], "错误：'--last' 的值无效：'0' 不是大于等于 1 的整数"),
        (["import", "csv", "f", "--interval", "x"], "错误：'--interval' 的值无效：'x' 不是大于 0 的数"),
        (["run", "--set"], "错误：选项 '--set' 需要一个值。"),
        (["nosuch"], "错误：没有命令 'nosuch'。"),
        (["show", "nosuch"], "错误："),
        (["check", "nosuch.yaml"], "共 1 处错误"),
    ],
)
def test_errors_of_calls_are_chinese(words: list[str], text: str, tmp_path: Path) -> None:
    done = called(tmp_path, *words, LOADCELL_LANG="zh")
    assert done.returncode == 2
    assert text in done.stderr, done.stderr
    assert ENGLISH.findall(done.stderr) == []


def test_the_language_ends_with_the_command() -> None:
    assert "用法：" in CliRunner(env=NO_LOCALE).invoke(main, ["run", "--nosuch", "--lang", "zh"]).stderr
    assert "Usage:" in CliRunner(env=NO_LOCALE).invoke(main, ["run", "--nosuch"]).stderr


@pytest.mark.parametrize(
    "words",
    [
        ["check", "quickstart"],
        ["check", "nosuch"],
        ["list"],
        ["list", "postgres-concurrency"],
        ["show", "last"],
        ["show", "last", "1"],
        ["report", "last"],
        ["clean", "--keep", "0"],
        ["baseline", "list"],
        ["compare", "last", "--factor", "load.clients"],
        ["host"],
        ["query", "SELECT treatment FROM trials"],
        ["plans"],
    ],
    ids=" ".join,
)
def test_json_is_the_same_in_every_language(words: list[str], tmp_path: Path) -> None:
    write_run(tmp_path / "results" / "plan" / "20260309T080000Z-4f2a")

    def printed(language: str) -> object:
        done = called(tmp_path, *words, "--json", LOADCELL_LANG=language)
        assert done.stdout, done.stderr
        return _without_measured(json.loads(done.stdout))

    # between two calls the state of the machine may change; a difference by language remains
    assert any(printed("en") == printed("zh") for _ in range(5))


def _without_measured(document: object) -> object:
    """A document without values that differ from call to call."""
    if isinstance(document, dict):
        return {
            name: _without_measured(value)
            for name, value in document.items()
            if name not in ("host", "collected_utc", "took_s")
        }
    if isinstance(document, list):
        return [_without_measured(item) for item in document]
    return document


def test_a_run_speaks_chinese_alone(tmp_path: Path) -> None:
    """Progress, warnings, results and errors of a real run; its records stay in English."""
    (tmp_path / "plan.yaml").write_text(
        """
title: 速度
target: {store: {engine: lmdb, sync: false}}
workload: {kv: {reads: 100%, keys: 1000}}
load: {duration: 1s, warmup: 100ms}
factors: {load.clients: [1, 2]}
repeats: 1
"""
    )
    done = command(tmp_path, "run", "plan.yaml", "--out", "run", "--verbose", LOADCELL_LANG="zh")
    assert done.returncode in (0, 3), done.stderr
    shown = done.stdout + done.stderr
    assert CHINESE.search(done.stderr)
    assert CHINESE.search(done.stdout)
    assert ENGLISH.findall(shown.replace("loadcell compare run", "")) == [], "a command is no sentence"
    records = [*(tmp_path / "run").glob("run.json"), *(tmp_path / "run").rglob("trial.json")]
    assert len(records) == 3
    for record in records:
        text = record.read_text(encoding="utf-8").replace("速度", "")
        assert not CHINESE.search(text), record
    assert CHINESE.search((tmp_path / "run" / "report.md").read_text(encoding="utf-8"))


def test_faults_have_their_trace_with_verbose(tmp_path: Path) -> None:
    script = (
        "import sys; from loadcell.cli import main, query\n"
        "def fail(*_): raise ZeroDivisionError('by zero')\n"
        "query._paths = fail\n"
        "main(sys.argv[1:])"
    )
    for option, lines in (("--quiet", 1), ("--verbose", 6)):
        done = subprocess.run(
            [sys.executable, "-c", script, "query", "FROM trials", option],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 3
        assert len(done.stderr.splitlines()) >= lines
        assert ("Traceback" in done.stderr) == (option == "--verbose")
