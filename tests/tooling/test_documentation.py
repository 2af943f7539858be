"""Names of files, modules and classes in the documentation exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

from loadcell.model import extensions

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "engine", "services", "tests", "bench", "scripts")
PACKAGES = {path.parent.name for path in (ROOT / "src/loadcell").glob("*/__init__.py")}
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]
SUFFIXES = {".py", ".pyi", ".rs", ".toml"}
#: Files of a data directory and of tutorials, whose names look like those of modules.
FILES = {"loadcell.json", "loadcell.duckdb", "service.py", "before.py", "after.py"}
#: Files of the package that docs/how-to/extend.md makes.
EXAMPLE = "loadcell_nghttpd/"


@cache
def sources() -> dict[str, Path]:
    """Files and folders by their path in the repository."""
    return {
        str(path.relative_to(ROOT)): path
        for folder in FOLDERS
        for path in [ROOT / folder, *(ROOT / folder).rglob("*")]
        if "__pycache__" not in path.parts and ROOT / "engine/target" not in path.parents
    } | {path.name: path for path in ROOT.glob("*.toml")}


@cache
def endings() -> set[str]:
    """All ends of their paths."""
    return {"/".join(name.split("/")[start:]) for name in sources() for start in range(name.count("/") + 1)}


@cache
def words() -> set[str]:
    """Words of the code."""
    return {
        word
        for name, path in sources().items()
        if path.suffix in {".py", ".pyi", ".rs"} and not name.startswith("tests/tooling/")
        for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
    }


def spans(page: Path) -> set[str]:
    """Code in backticks outside code blocks."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"`([^`\n]+)`", text))


def is_path(span: str) -> bool:
    """Return whether a span names a file or folder of the sources; NAME stands for a name."""
    if not re.fullmatch(r"[\w./-]+", span) or "NAME" in span or span.startswith(EXAMPLE) or span in FILES:
        return False
    return Path(span).suffix in SUFFIXES or ("/" in span and span.split("/")[0] in {*FOLDERS, *PACKAGES})


def is_missing(span: str) -> bool:
    """Return whether a span names a module of loadcell, or a member of one, that does not exist."""
    groups = {value for name, value in vars(extensions).items() if name.isupper() and isinstance(value, str)}
    if not re.fullmatch(r"loadcell(\.\w+)+", span) or span in groups or span in FILES:
        return False
    try:
        resolve_name(span)
    except (ImportError, AttributeError):
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_modules_and_classes_exist(page: Path) -> None:
    mentioned = spans(page)
    paths = {span for span in mentioned if is_path(span) and span.rstrip("/") not in endings()}
    modules = {span for span in mentioned if is_missing(span)}
    classes = {
        span for span in mentioned if re.fullmatch(r"(?:[A-Z][a-z]+){2,}", span) and span not in words()
    }
    assert (paths, modules, classes) == (set(), set(), set())


def test_stale_names_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`systems/gone.py` `loadcell.gone` `GoneClassOfOld` `systems/redis/` `TrialRecord`")
    mentioned = spans(page)
    assert {span for span in mentioned if is_path(span)} == {"systems/gone.py", "systems/redis/"}
    assert {span for span in mentioned if is_missing(span)} == {"loadcell.gone"}
