"""`loadcell version`, and parts of an installation that are missing."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pydantic
import pytest

import loadcell
from lines import CliRunner
from loadcell import _engine
from loadcell.cli import main

ROOT = Path(__file__).resolve().parents[2]
RUN = str(ROOT / "tests/data/schema-1/results/quickstart/20261122T221814Z-f662")


def run_without(module: str, *arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run loadcell where a module cannot be imported."""
    code = f"import sys; sys.modules[{module!r}] = None; from loadcell.cli import main; main()"
    environment = {**os.environ, **({"HOME": str(home)} if home else {})}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=environment
    )


def test_the_version_has_one_place() -> None:
    cargo = tomllib.loads((ROOT / "engine" / "Cargo.toml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dynamic"] == ["version"]
    assert loadcell.__version__ == _engine.version() == cargo["workspace"]["package"]["version"]


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
def test_versions_of_all_that_a_measurement_depends_on(arguments: list[str]) -> None:
    lines = dict(line.rsplit(" ", 1) for line in CliRunner().invoke(main, arguments).stdout.splitlines())
    assert lines["loadcell"] == lines["engine"] == loadcell.__version__
    assert lines[f"Python {platform.python_version()}"] == f"({platform.python_implementation()})"
    assert lines[f"kernel Linux {os.uname().release}"] == os.uname().machine
    assert lines["pydantic"] == pydantic.__version__


def test_versions_for_scripts_and_in_chinese() -> None:
    versions = json.loads(CliRunner().invoke(main, ["version", "--json"]).stdout)
    assert versions["engine"] == loadcell.__version__
    assert versions["libraries"]["pydantic"] == pydantic.__version__
    assert f"引擎 {_engine.version()}\n" in CliRunner().invoke(main, ["version", "--lang", "zh"]).stdout


def test_a_missing_engine_is_named_with_its_remedy(tmp_path: Path) -> None:
    assert "engine missing\n" in run_without("loadcell._engine", "version").stdout
    result = run_without("loadcell._engine", "run", "quickstart", "--out", str(tmp_path / "run"))
    assert result.returncode == 2
    assert "The engine of loadcell cannot be loaded" in result.stderr
    assert "pip install --force-reinstall loadcell" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_engine_whose_file_is_gone_is_named_too(tmp_path: Path) -> None:
    """`from loadcell import _engine` then names the package alone."""
    copy = tmp_path / "src" / "loadcell"
    shutil.copytree(Path(loadcell.__file__).parent, copy, ignore=shutil.ignore_patterns("_engine*", "*.pyc"))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "loadcell", "run", "quickstart", "--out", str(tmp_path / "run")],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(copy.parent)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "The engine of loadcell cannot be loaded" in done.stderr


@pytest.mark.parametrize(
    ("module", "arguments", "package"),
    [
        (
            "duckdb",
            ["query", "SELECT 1", RUN],
            "duckdb",
        ),
        ("pydantic", ["check", "quickstart"], "pydantic"),
        (
            "vl_convert",
            ["report", RUN, "--out"],
            "vl-convert-python",
        ),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    module: str, arguments: list[str], package: str, tmp_path: Path
) -> None:
    if arguments[-1] == "--out":
        arguments = [*arguments, str(tmp_path / "report.html")]
    result = run_without(module, *arguments)
    assert result.returncode == 2, result.stderr
    assert f"The Python package {package} cannot be loaded" in result.stderr
    assert f"pip install --force-reinstall {package}" in result.stderr
    assert "Traceback" not in result.stderr
