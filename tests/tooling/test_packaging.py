"""Packaging: size and licences of an installation, files beside Python's, and the container."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
SHARE = ROOT / "wheel" / "data" / "share"


def script(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "scripts" / name), *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )


def python_script(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_an_installation_is_no_larger_than_550_mb() -> None:
    result = python_script("installed-size", "--limit")
    assert result.returncode == 0, result.stdout + result.stderr
    sizes = {name: float(size) for size, name in re.findall(r"([\d.]+) MB  (\S+)", result.stdout)}
    assert sizes["loadcell"] > 5, "the engine is counted"
    assert sizes["numpy"] > 20
    assert "scipy" not in sizes
    assert "pytest" not in sizes


def test_licences_of_all_packages_are_listed() -> None:
    result = python_script("licences", "--check")
    assert result.returncode == 0, result.stderr
    page = (ROOT / "docs" / "reference" / "licences.md").read_text(encoding="utf-8")
    assert "unknown" not in page


def test_completions_and_the_manual_page_are_those_of_the_command_line() -> None:
    result = script("wheel-data", "--check")
    assert result.returncode == 0, result.stderr
    assert "_LOADCELL_COMPLETE" in (SHARE / "bash-completion/completions/loadcell").read_text(
        encoding="utf-8"
    )


def test_a_wheel_contains_the_plans_services_and_schemas() -> None:
    """Links lead to files; the build follows those of patterns that it is given."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = [entry for entry in project["tool"]["maturin"]["include"] if isinstance(entry, str)]
    included = {path.resolve() for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    assert included >= {path.resolve() for path in (ROOT / "plans").rglob("*") if path.is_file()}
    services = (path for path in (ROOT / "services").rglob("*") if "target" not in path.parts)
    assert included >= {path.resolve() for path in services if path.is_file()}
    schemas = sorted((SHARE / "loadcell" / "schemas").iterdir())
    assert [path.name for path in schemas] == ["run.schema.json", "trial.schema.json"]
    assert all(path.is_file() for path in schemas)


def test_the_container_has_the_tested_versions() -> None:
    steps = (ROOT / "container" / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^COPY constraints\.txt dist/\*\.whl (\S+)/$", steps, re.MULTILINE)
    assert "--constraint /tmp/wheels/constraints.txt" in steps
    assert "!constraints.txt" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


def test_the_container_file_has_no_finding() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    result = subprocess.run(
        [hadolint, "container/Dockerfile"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("service", ["loadcell", "postgres"])
def test_services_have_their_own_processors_and_no_password(service: str) -> None:
    services = YAML(typ="safe").load(ROOT / "container" / "compose.yaml")["services"]
    assert services[service]["cpuset"].startswith("${")
    secrets = [value for name, value in services[service]["environment"].items() if "PASSWORD" in name]
    assert [value.split(":")[0] for value in secrets] == ["${POSTGRES_PASSWORD"]
    assert services["loadcell"]["build"] == {"context": "..", "dockerfile": "container/Dockerfile"}
