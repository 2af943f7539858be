"""The package of docs/how-to/extend.md, extracted and installed: it adds a system, a monitor, a metric, a
panel, a finding, a workload and a reader by entry points alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "extend.md"

Call = Callable[..., subprocess.CompletedProcess[str]]


def files_of_page() -> dict[str, str]:
    """The files that the page shows, by name."""
    blocks = re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?\n)```\n", PAGE.read_text(), re.DOTALL)
    return {"loadcell_nghttpd/__init__.py": "", **dict(blocks)}


def install(home: Path) -> Path:
    """Install the package of the page into a separate directory; return that."""
    source, packages = home / "source", home / "packages"
    for name, text in files_of_page().items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    command = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    subprocess.run([sys.executable, *command, str(packages), str(source)], check=True, timeout=300)
    return packages


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the installed package, a plan and an output of h2load."""
    home = tmp_path_factory.mktemp("extension")
    install(home)
    for name in ("plan.yaml", "h2load.txt"):
        shutil.copy(home / "source" / name, home)
    return home


@pytest.fixture(scope="module")
def loadcell(home: Path) -> Call:
    """Calls `loadcell` with the package on its path."""

    def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(home / "packages"), **variables}
        command = [sys.executable, "-m", "loadcell", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=home, env=environment, timeout=300, check=False
        )

    return call


@pytest.fixture(scope="module")
def run(home: Path, loadcell: Call) -> Path:
    """The finished run of the plan."""
    finished = loadcell("run", "plan.yaml", "--quiet")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    (path,) = (home / "results" / "plan").iterdir()
    return path


def test_check_knows_the_parts_and_their_advice(loadcell: Call) -> None:
    checked = loadcell("check", "plan.yaml", "--set", "target.nghttpd.threads=256", "--set", "factors={}")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "nghttpd: threads 256" in checked.stdout
    assert "nghttpd has 256 worker threads on" in " ".join(checked.stdout.split())
    wrong = loadcell("check", "plan.yaml", "--set", "target.nghttpd.threads=0")
    assert wrong.returncode == 2
    assert "target.nghttpd.threads" in wrong.stderr + wrong.stdout
    unknown = loadcell("check", "plan.yaml", "--set", "expect=[nghttpd.switches > 5]")
    assert unknown.returncode == 2
    assert "nghttpd.switches_per_s" in unknown.stderr + unknown.stdout


def test_the_schema_has_the_parts(loadcell: Call) -> None:
    text = loadcell("plans", "schema").stdout
    schema = json.loads(text)
    assert "nghttpd" in json.dumps(schema["properties"]["target"]) + json.dumps(schema.get("$defs", {}))
    assert "Worker threads of nghttpd" in text
    assert "nghttpd-page" in text
    assert "context switches of nghttpd's threads" in text


def test_completion_offers_the_settings(loadcell: Call) -> None:
    words = "loadcell run plan.yaml --set target.nghttpd."
    answer = loadcell(_LOADCELL_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD="4")
    assert "target.nghttpd.threads" in answer.stdout
    tools = loadcell(_LOADCELL_COMPLETE="bash_complete", COMP_WORDS="loadcell import h2", COMP_CWORD="2")
    assert "h2load" in tools.stdout


def test_a_trial_has_the_metric_and_the_samples(run: Path) -> None:
    for file in run.glob("trials/*/trial.json"):
        record = json.loads(file.read_text())
        assert record["status"] == "ok"
        assert record["totals"]["figures"]["nghttpd.switches_per_s"] > 0
        assert record["totals"]["metrics"]["nghttpd.switches_per_s"]["better"] == "lower"
        assert record["monitors"]["nghttpd"]["text_columns"] == {"nghttpd-threads.csv": ["state"]}
        assert {verdict["verdict"] for verdict in record["expect"]} == {"met"}


def test_a_missed_expectation_of_the_metric_has_its_exit_status(home: Path, loadcell: Call) -> None:
    expected = "expect=[nghttpd.switches_per_s < 1/s]"
    missed = loadcell(
        "run",
        "plan.yaml",
        "--set",
        expected,
        "--set",
        "factors={}",
        "--set",
        "repeats=1",
        "--quiet",
        "--out",
        "missed",
    )
    assert missed.returncode == 1, missed.stdout + missed.stderr
    assert "nghttpd.switches_per_s < 1/s" in missed.stdout


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "en",
            [
                "nghttpd: context switches/s",
                "found them asleep: the load does not keep it busy",
                "context switches/s",
            ],
        ),
        ("zh", ["nghttpd：上下文切换次数/s", "处于睡眠状态", "上下文切换次数/s"]),
    ],
)
def test_the_report_has_panel_finding_and_metric(
    loadcell: Call, run: Path, language: str, texts: list[str]
) -> None:
    written = loadcell(
        "report", str(run), "--lang", language, "--format", "html", "--out", f"{language}.html"
    )
    assert written.returncode == 0, written.stdout + written.stderr
    page = (run.parents[2] / f"{language}.html").read_text()
    for text in texts:
        assert text in page or json.dumps(text)[1:-1] in page, text


def test_levels_are_compared_by_the_metric(loadcell: Call, run: Path) -> None:
    compared = loadcell("compare", str(run), "--metric", "nghttpd.switches_per_s")
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert "context switches/s" in compared.stdout


def test_samples_are_queried_by_the_text_column(loadcell: Call, run: Path) -> None:
    sql = "SELECT DISTINCT typeof(state) AS kind FROM samples WHERE monitor = 'nghttpd' AND tid > 0"
    answered = loadcell("query", sql, str(run), "--json")
    assert answered.returncode == 0, answered.stdout + answered.stderr
    assert "VARCHAR" in answered.stdout


def test_the_reader_recognises_its_output(home: Path, loadcell: Call) -> None:
    imported = loadcell("import", "auto", "h2load.txt", "--out", "imported", "--json")
    assert imported.returncode == 0, imported.stdout + imported.stderr
    (file,) = (home / "imported").glob("**/trial.json")
    assert json.loads(file.read_text())["totals"]["throughput_per_s"] == 5000.5


def test_a_broken_extension_is_named(tmp_path: Path, loadcell: Call) -> None:
    packages = install(tmp_path)
    (packages / "loadcell_nghttpd" / "target.py").write_text("import missing_module\n")
    broken = loadcell("check", "plan.yaml", PYTHONPATH=str(packages))
    assert broken.returncode == 2
    assert "the extension loadcell-nghttpd cannot be loaded" in broken.stderr
    assert "missing_module" in broken.stderr
    assert "Traceback" not in broken.stderr


def test_the_code_of_the_page_is_formatted_and_without_remarks(home: Path) -> None:
    config = ["--config", str(ROOT / "pyproject.toml")]
    config += ["--config", 'lint.isort.known-first-party = ["loadcell", "loadcell_nghttpd"]']
    for words in (["format", "--check"], ["check", "--extend-select", "E501", "--ignore", "ARG"]):
        command = [sys.executable, "-m", "ruff", *words, *config, "--no-cache", "loadcell_nghttpd"]
        checked = subprocess.run(
            command, cwd=home / "source", capture_output=True, text=True, check=False, timeout=60
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
