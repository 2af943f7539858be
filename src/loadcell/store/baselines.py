"""Names for runs that others are held against: `baselines.json` in the results directory."""

from __future__ import annotations

import json
import re
from pathlib import Path

from loadcell.store.durable import write_text
from loadcell.store.errors import StoreError, cannot_write
from loadcell.store.find import DEFAULT_RESULTS
from loadcell.store.layout import is_run

FILE = "baselines.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def known(results: Path = DEFAULT_RESULTS) -> dict[str, Path]:
    """Every baseline with its run's directory. Raises StoreError when the file is not what it should be."""
    place = results / FILE
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"cannot read {place}: {error.strerror}", advice="Look at that file.") from None
    except ValueError:
        document = None
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise StoreError(
            f"{place} is no list of baselines",
            advice="Remove it, and set the baselines again: `loadcell baseline set NAME RUN`.",
        )
    return {name: results / path for name, path in document.items()}


def find(name: str, results: Path = DEFAULT_RESULTS) -> Path:
    """The run of a baseline. Raises StoreError when there is no such name, or its run is gone."""
    baselines = known(results)
    if name not in baselines:
        listed = f"There are: {', '.join(baselines)}." if baselines else "There are none yet."
        raise StoreError(
            f"there is no baseline {name!r}", advice=f"{listed} `loadcell baseline set {name} RUN` makes it."
        )
    if not is_run(baselines[name]):
        raise StoreError(
            f"baseline {name!r} is gone: there is no run in {baselines[name]} any more",
            advice=f"Name another run with `loadcell baseline set {name} RUN`, or remove the name with "
            f"`loadcell baseline remove {name}`.",
        )
    return baselines[name]


def keep(name: str, run: Path, results: Path = DEFAULT_RESULTS) -> None:
    """Give a run a name, or the name another run. Raises StoreError."""
    if not _NAME.fullmatch(name):
        raise StoreError(
            f"{name!r} cannot be a baseline's name",
            advice="Use letters, digits, '.', '_' and '-', 64 at most.",
        )
    baselines = known(results)
    baselines[name] = run
    _write(baselines, results)


def remove(name: str, results: Path = DEFAULT_RESULTS) -> None:
    """Forget a name; the run stays. Raises StoreError when there is no such name."""
    baselines = known(results)
    if name not in baselines:
        listed = f"There are: {', '.join(baselines)}." if baselines else "There are none."
        raise StoreError(f"there is no baseline {name!r}", advice=listed)
    del baselines[name]
    _write(baselines, results)


def _write(baselines: dict[str, Path], results: Path) -> None:
    """By rename; runs under the results directory by their path in it, so that it can be moved as a whole."""
    home = results.resolve()
    document = {}
    for name, run in sorted(baselines.items()):
        place = run.resolve()
        document[name] = str(place.relative_to(home) if place.is_relative_to(home) else place)
    try:
        results.mkdir(parents=True, exist_ok=True)
        write_text(results / FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise cannot_write(results / FILE, error) from None
