"""Finds the run that a user means: by a path, the beginning of its name, `last`, or the name of a baseline.

Names of baselines are in `baselines.json` of the results directory.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from loadcell.model.message import Count, ForeignText, Message, MessageCode
from loadcell.model.numbers import utc_text
from loadcell.store import layout
from loadcell.store.layout import ELSEWHERE_CHANGE, StoreError, cannot_write, is_run
from loadcell.store.write import write_text

BASELINES_NOT_A_LIST = MessageCode("baselines.not-a-list", path=str)
BASELINE_MISSING = MessageCode("baseline.missing", name=str, quoted=str, registered=str)
BASELINE_GONE = MessageCode("baseline.gone", name=str, path=str, quoted=str)
BASELINE_BAD_NAME = MessageCode("baseline.bad-name", name=str)
BASELINES_UNREADABLE = MessageCode("baselines.unreadable", path=str, said=ForeignText)
RUN_NO_SUCH = MessageCode("run.no-such", latest=str, name=str)
RUN_IS_PLAN = MessageCode("run.is-plan", name=str, run=str)
RUN_IS_LABEL = MessageCode("run.is-label", label=str, name=str)
RUN_NO_SUCH_HERE = MessageCode("run.no-such-here", name=str, results=str)
RUN_AMBIGUOUS = MessageCode("run.ambiguous", count=Count, matches=str, name=str)
BASELINES_LIST = MessageCode("baselines.list", "info", names=list)
BASELINES_NONE = MessageCode("baselines.none", "info")
BASELINE_UNKNOWN = MessageCode("baseline.unknown", quoted=str, registered=Message)

DEFAULT_RESULTS = Path("results")
LAST = "last"


def runs_under(results: Path) -> list[Path]:
    """Every run in `results` itself, in it, or one level below (`results/<plan>/<run>`), by start."""
    runs = list(_runs(results))
    seconds = {run: _second(run) for run in runs}
    per_second = Counter(seconds.values())

    def order(run: Path) -> tuple[str, str, str, Path]:
        second = seconds[run]
        exact = started_utc(run) if per_second[second] > 1 else ""
        return second, exact, run.name, run

    return sorted(runs, key=order)


def _second(run: Path) -> str:
    """When a run began, in UTC to the second (`20261123T195503`): by its name, or by its record under a name
    that the user chose.
    """
    match = layout.STARTED.match(run.name)
    return match[1] if match else re.sub(r"[-:]", "", started_utc(run))[:15]


def started_utc(run: Path) -> str:
    """When a run began, as its record says; the time of the file where the record is damaged."""
    file = run / layout.RUN
    try:
        started = datetime.fromisoformat(json.loads(file.read_text(encoding="utf-8"))["started_utc"])
        return f"{started.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        pass
    try:
        return utc_text(file.stat().st_mtime_ns)
    except OSError:
        return ""


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
    if of_plan := [run for run in runs if run.parent.name == name]:
        raise StoreError(RUN_IS_PLAN(name=repr(name), run=layout.short_id(of_plan[-1].name)))
    if "=" in name:
        raise StoreError(RUN_IS_LABEL(name=repr(name), label=name))
    raise StoreError(RUN_NO_SUCH(name=repr(name), latest=shown))


def _matches(run: Path, name: str) -> bool:
    short = layout.short_id(run.name)
    return bool(name) and (
        run.name.startswith(name) or short.startswith(name) or f"{run.parent.name}/{run.name}" == name
    )


BASELINES = "baselines.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def baselines(results: Path = DEFAULT_RESULTS) -> dict[str, tuple[Path, ...]]:
    """Every baseline with its runs' directories. Raises StoreError when the file is not what it should be."""
    file = results / BASELINES
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(BASELINES_UNREADABLE(path=file, said=error.strerror)) from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise StoreError(BASELINES_NOT_A_LIST(path=file))
    runs = {name: (value,) if isinstance(value, str) else value for name, value in document.items()}
    if not all(isinstance(value, tuple | list) and value for value in runs.values()):
        raise StoreError(BASELINES_NOT_A_LIST(path=file))
    if not all(isinstance(path, str) for value in runs.values() for path in value):
        raise StoreError(BASELINES_NOT_A_LIST(path=file))
    return {name: tuple(results / path for path in value) for name, value in runs.items()}


def runs_of_baselines(*results: Path) -> frozenset[Path]:
    """Directories of all runs that the baselines of these results name, whole. Raises StoreError."""
    return frozenset(
        run.resolve() for directory in results for runs in baselines(directory).values() for run in runs
    )


def find_baseline(name: str, results: Path = DEFAULT_RESULTS) -> tuple[Path, ...]:
    """The runs of a baseline. Raises StoreError when there is no such name, or one of its runs is gone."""
    runs = baselines(results)
    if name not in runs:
        raise StoreError(BASELINE_MISSING(quoted=repr(name), registered=_registered(runs), name=name))
    gone = next((path for path in runs[name] if not is_run(path)), None)
    if gone is not None:
        raise StoreError(BASELINE_GONE(quoted=repr(name), path=gone, name=name))
    return runs[name]


def keep_baseline(name: str, runs: Sequence[Path], results: Path = DEFAULT_RESULTS) -> None:
    """Give runs a name, in place of the runs that had it. Raises StoreError."""
    if not _NAME.fullmatch(name):
        raise StoreError(BASELINE_BAD_NAME(name=repr(name)))
    distinct = dict.fromkeys(run.resolve() for run in runs)
    _write({**baselines(results), name: tuple(distinct)}, results)


def remove_baseline(name: str, results: Path = DEFAULT_RESULTS) -> None:
    """Forget a name; the run stays. Raises StoreError when there is no such name."""
    runs = baselines(results)
    if name not in runs:
        raise StoreError(BASELINE_UNKNOWN(quoted=repr(name), registered=_registered(runs)))
    del runs[name]
    _write(runs, results)


def _registered(runs: Mapping[str, object]) -> Message:
    return BASELINES_LIST(names=list(runs)) if runs else BASELINES_NONE()


def _write(baselines: Mapping[str, Sequence[Path]], results: Path) -> None:
    """By rename; runs under the results directory by their path in it, so that it can be moved as a whole.

    The value is a path, or a list of several.
    """
    home = results.resolve()
    document: dict[str, str | list[str]] = {}
    for name, runs in sorted(baselines.items()):
        resolved = [run.resolve() for run in runs]
        paths = [str(path.relative_to(home) if path.is_relative_to(home) else path) for path in resolved]
        document[name] = paths[0] if len(paths) == 1 else paths
    try:
        results.mkdir(parents=True, exist_ok=True)
        write_text(results / BASELINES, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise cannot_write(results / BASELINES, error, elsewhere=ELSEWHERE_CHANGE) from None
