"""Names on a GlusterFS volume after the load of each trial, from the comparison of all files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.gluster import GlusterNames, LostName
from loadcell.model.json import JsonObject
from loadcell.model.trial_record import TrialRecord
from loadcell.store.read import StoredRun

#: The check that compares all files with those that the clients wrote, and its conditions.
_CHECK: Final = "files"
_EXAMPLE: Final = "first"
_DOUBLED: Final = ("listed_twice == 0", "two_names == 0")
_WITHOUT_MODE: Final = ("wrong_directory_mode == 0",)
_LOST: Final = ("unreadable == 0",)


def of_run(stored: StoredRun) -> Iterator[Evidence]:
    """The names of each trial whose data are on GlusterFS."""
    for trial in stored.trials:
        if not _is_on_gluster(trial.settings):
            continue
        for check in trial.checks:
            if check.name == _CHECK and check.detail:
                yield _of_check(trial, check.detail)


def _of_check(trial: TrialRecord, detail: JsonObject) -> GlusterNames:
    files = (trial.settings.get("workload") or {}).get("files") or {}
    doubled, more_doubled = _defects(detail, _DOUBLED)
    without_mode, more_without_mode = _defects(detail, _WITHOUT_MODE)
    lost, more_lost = _defects(detail, _LOST)
    return GlusterNames(
        trial.name,
        # a missing file has no name
        max(0, int(files.get("count") or 0) - _violations(detail, "missing == 0")),
        int(files.get("directories") or 0),
        doubled,
        without_mode,
        tuple(_lost(example) for example in lost),
        further_doubled=more_doubled,
        further_without_mode=more_without_mode,
        further_lost=more_lost,
    )


def _is_on_gluster(settings: JsonObject) -> bool:
    targets = (settings.get("target") or {}).values()
    storages = (target.get("storage") for target in targets if isinstance(target, dict))
    return any(isinstance(storage, dict) and "gluster" in storage for storage in storages)


def _defects(detail: JsonObject, conditions: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """The example among the violations of these conditions, and the number of the others.

    The check has an example of the first violated condition alone.
    """
    count = sum(_violations(detail, condition) for condition in conditions)
    first = next((name for name in detail if name != _EXAMPLE and _violations(detail, name)), None)
    example = str(detail.get(_EXAMPLE) or "")
    return ((example,), count - 1) if example and first in conditions else ((), count)


def _violations(detail: JsonObject, condition: str) -> int:
    value = detail.get(condition)
    return int(value) if isinstance(value, int | float) else 0


def _lost(example: str) -> LostName:
    """`f7-1: Input/output error`."""
    path, _, error = example.rpartition(": ")
    return LostName(path or error, error)
