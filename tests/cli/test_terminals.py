"""Output for any terminal: without UTF-8, without colour, 40 columns wide, or a pipe that is closed."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fake_runs import write_run
from loadcell.cli import display
from loadcell.cli.help_page import columns

ESCAPE = "\x1b["
#: Without colours, bold and dim texts remain.
COLOUR = re.compile(r"\x1b\[[\d;]*3\dm")


def on_a_terminal(home: Path, *words: str, **environment: str) -> str:
    """All that a command writes to a dedicated terminal."""
    controller, terminal = pty.openpty()
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "PYTHON")) or name == "PYTHONPATH"
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "loadcell", *words],
        cwd=home,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**inherited, "TERM": "xterm", "COLUMNS": "80", **environment},
    )
    os.close(terminal)
    output = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    os.close(controller)
    assert process.wait(timeout=60) in (0, 2), output
    return output.decode("utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_run(tmp_path / "results" / "plan" / "20260309T080000Z-4f2a")
    return tmp_path


@pytest.mark.parametrize("locale", [{"LANG": "C"}, {"LC_ALL": "POSIX"}, {"LANG": "xx_YY"}, {}], ids=str)
def test_a_terminal_without_utf8_gets_ascii(home: Path, locale: dict[str, str]) -> None:
    shown = on_a_terminal(home, "show", "last", **locale)
    assert shown.isascii()
    assert shown.count("?") == 1, "that of the question"


def test_a_terminal_with_utf8_gets_symbols(home: Path) -> None:
    assert not on_a_terminal(home, "show", "last", LANG="C.UTF-8").isascii()


def test_chinese_is_kept_where_it_is_asked_for(home: Path) -> None:
    assert "用法：" in on_a_terminal(home, "show", "--help", "--lang", "zh", LANG="C")
    assert "用法：" in on_a_terminal(home, "show", "--help", LANG="zh_CN.UTF-8")


def test_a_stream_of_another_encoding_is_no_fault(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "loadcell", "show", "last"], cwd=home, capture_output=True, check=False,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("latin-1")
    chinese = subprocess.run(
        [sys.executable, "-m", "loadcell", "show", "--lang", "zh", "nosuch"], cwd=home, capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert chinese.returncode == 2
    assert b"Traceback" not in chinese.stderr
    assert "错误" in chinese.stderr.decode(), "question marks are no text"


@pytest.mark.parametrize(
    ("text", "ascii_text"),
    [("×2 ≥ 3 µs … ✓ ━━╸", "x2 >= 3 us ~ + ---"), ("Müller", "Muller"), ("测", "?"), ("a–b → c", "a-b > c")],
)
def test_symbols_have_similar_ones(text: str, ascii_text: str) -> None:
    assert display.ascii_text(text) == ascii_text.replace(">=", ">")


def test_colours_are_for_terminals_that_want_them(home: Path) -> None:
    words = ("list",)
    assert COLOUR.search(on_a_terminal(home, *words))
    assert not COLOUR.search(on_a_terminal(home, *words, "--no-color"))
    assert not COLOUR.search(on_a_terminal(home, *words, NO_COLOR="1"))
    piped = subprocess.run(
        [sys.executable, "-m", "loadcell", *words], cwd=home, capture_output=True, text=True
    )
    assert piped.returncode == 0
    assert ESCAPE not in piped.stdout + piped.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("list",), ("show", "last"), ("show", "last", "1"), ("check", "quickstart"), ("host",),
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("language", ["en", "zh"])
def test_forty_columns(home: Path, words: tuple[str, ...], language: str) -> None:
    shown = on_a_terminal(home, *words, COLUMNS="40", LOADCELL_LANG=language, LANG="C.UTF-8", NO_COLOR="1")
    lines = [
        line
        for line in re.sub(r"\x1b\[[\d;]*m|\r", "", shown).splitlines()
        # a command line is kept whole, to be copied
        if columns(line) > 40 and " " in line.strip() and not line.startswith("    loadcell ")
    ]
    assert lines == []


def test_a_table_that_does_not_fit_has_a_line_for_each_value(home: Path) -> None:
    shown = on_a_terminal(home, "show", "last", COLUMNS="40", LANG="C.UTF-8", NO_COLOR="1")
    assert "…" not in re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert re.search(r"^clients 16\r\n  tx/s +2,135\s*$", re.sub(r"\x1b\[[\d;]*m", "", shown), re.MULTILINE)


@pytest.mark.parametrize("words", ["show last", "compare 4f2a 5f2a", "list"])
def test_output_into_a_pipe_is_complete(home: Path, words: str) -> None:
    """Its width is that of no terminal: not that of standard error's, either."""
    write_run(home / "results" / "plan" / "20260310T080000Z-5f2a")
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-m", "loadcell", *words.split()], cwd=home, capture_output=True, text=True,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout
    assert max(columns(line.rstrip()) for line in done.stdout.splitlines()) <= 100


@pytest.mark.parametrize(
    "words",
    [
        "--help", "plans", "plans show quickstart", "check quickstart", "show last",
        "show last --json", "host",
        "query 'FROM trials'", "query --csv 'FROM intervals'", "report last --json",
    ],
)  # fmt: skip
def test_a_closed_pipe_is_no_fault(home: Path, words: str) -> None:
    script = f"{sys.executable} -m loadcell {words} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=home, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_into_a_pipe_has_lines_and_no_bar(tmp_path: Path) -> None:
    plan = """
target: {store: {engine: lmdb, sync: false}}
workload: {kv: {reads: 100%, keys: 1000}}
load: {clients: 1, duration: 1s, warmup: 0s}
"""
    (tmp_path / "plan.yaml").write_text(plan)
    for options, has_progress in (((), True), (("--quiet",), False)):
        done = subprocess.run(
            [sys.executable, "-m", "loadcell", "run", "plan.yaml", "--no-report", *options],
            cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert ESCAPE not in done.stdout + done.stderr
        assert "\r" not in done.stderr
        assert ("[1/3]" in done.stderr) == has_progress, done.stderr
