"""Turns what a user types for a run (a path, the beginning of its name, `last`) into its directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from loadcell.store.errors import StoreError
from loadcell.store.layout import is_run
from loadcell.store.messages import RUN_AMBIGUOUS, RUN_NO_SUCH, RUN_NO_SUCH_HERE

DEFAULT_RESULTS = Path("results")
LAST = "last"


def runs_under(results: Path) -> list[Path]:
    """Every run in `results` itself, in it, or one level below (`results/<plan>/<run>`), oldest first."""
    return sorted(_runs(results), key=lambda path: (path.name, path))


def _runs(results: Path) -> Iterator[Path]:
    if is_run(results):
        yield results
        return
    for child in _directories(results):
        if is_run(child):
            yield child
        else:
            yield from (grandchild for grandchild in _directories(child) if is_run(grandchild))


def _directories(path: Path) -> list[Path]:
    try:
        return [child for child in path.iterdir() if child.is_dir() and not child.name.startswith(".")]
    except OSError:
        return []


def find_run(name: str, results: Path = DEFAULT_RESULTS) -> Path:
    """The run that `name` means: a path, a unique beginning of its name or short id, or `last`.

    Raises StoreError when it is none or several.
    """
    as_path = Path(name)
    if is_run(as_path):
        return as_path
    runs = runs_under(results)
    if not runs:
        raise StoreError(RUN_NO_SUCH_HERE(name=repr(name), results=results.absolute()))
    if name == LAST:
        return runs[-1]
    matches = [run for run in runs if _matches(run, name)]
    if len(matches) == 1:
        return matches[0]
    shown = ", ".join(str(run) for run in (matches or runs[-5:])[:5])
    if matches:
        raise StoreError(RUN_AMBIGUOUS(name=repr(name), count=len(matches), matches=shown))
    raise StoreError(RUN_NO_SUCH(name=repr(name), latest=shown))


def _matches(run: Path, name: str) -> bool:
    short = run.name.rpartition("-")[2]
    return bool(name) and (
        run.name.startswith(name) or short.startswith(name) or f"{run.parent.name}/{run.name}" == name
    )
