"""Names for baseline runs: `baselines.json` in the results directory."""

from __future__ import annotations

import json
import re
from pathlib import Path

from loadcell.store.durable import write_text
from loadcell.store.errors import StoreError, cannot_write
from loadcell.store.find import DEFAULT_RESULTS
from loadcell.store.layout import is_run
from loadcell.store.messages import (
    BASELINE_BAD_NAME,
    BASELINE_GONE,
    BASELINE_MISSING,
    BASELINE_UNKNOWN,
    BASELINES_LIST,
    BASELINES_NONE,
    BASELINES_NOT_A_LIST,
    BASELINES_UNREADABLE,
)

FILE = "baselines.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def names(results: Path = DEFAULT_RESULTS) -> dict[str, Path]:
    """Every baseline with its run's directory. Raises StoreError when the file is not what it should be."""
    file = results / FILE
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(BASELINES_UNREADABLE(path=file, said=error.strerror)) from None
    except ValueError:
        document = None
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise StoreError(BASELINES_NOT_A_LIST(path=file))
    return {name: results / path for name, path in document.items()}


def find(name: str, results: Path = DEFAULT_RESULTS) -> Path:
    """The run of a baseline. Raises StoreError when there is no such name, or its run is gone."""
    baselines = names(results)
    if name not in baselines:
        registered = BASELINES_LIST(names=list(baselines)) if baselines else BASELINES_NONE()
        raise StoreError(BASELINE_MISSING(quoted=repr(name), registered=registered, name=name))
    if not is_run(baselines[name]):
        raise StoreError(BASELINE_GONE(quoted=repr(name), path=baselines[name], name=name))
    return baselines[name]


def keep(name: str, run: Path, results: Path = DEFAULT_RESULTS) -> None:
    """Give a run a name, or the name another run. Raises StoreError."""
    if not _NAME.fullmatch(name):
        raise StoreError(BASELINE_BAD_NAME(name=repr(name)))
    baselines = names(results)
    baselines[name] = run
    _write(baselines, results)


def remove(name: str, results: Path = DEFAULT_RESULTS) -> None:
    """Forget a name; the run stays. Raises StoreError when there is no such name."""
    baselines = names(results)
    if name not in baselines:
        registered = BASELINES_LIST(names=list(baselines)) if baselines else BASELINES_NONE()
        raise StoreError(BASELINE_UNKNOWN(quoted=repr(name), registered=registered))
    del baselines[name]
    _write(baselines, results)


def _write(baselines: dict[str, Path], results: Path) -> None:
    """By rename; runs under the results directory by their path in it, so that it can be moved as a whole."""
    home = results.resolve()
    document = {}
    for name, run in sorted(baselines.items()):
        path = run.resolve()
        document[name] = str(path.relative_to(home) if path.is_relative_to(home) else path)
    try:
        results.mkdir(parents=True, exist_ok=True)
        write_text(results / FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise cannot_write(results / FILE, error) from None
