"""Names on a GlusterFS volume after the load of each trial, from the comparison of all files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.gluster import GlusterNames, LostName
from loadcell.model.json import JsonObject
from loadcell.store.read import StoredRun

#: The check that compares all files with those that the clients wrote, and its conditions.
_CHECK: Final = "files"
_DOUBLED: Final = ("listed_twice == 0", "two_names == 0")
_WITHOUT_MODE: Final = ("wrong_directory_mode == 0",)
_LOST: Final = ("unreadable == 0", "missing == 0")


def of_run(stored: StoredRun) -> Iterator[Evidence]:
    """The names of each trial whose data are on GlusterFS."""
    for trial in stored.trials:
        if not _is_on_gluster(trial.settings):
            continue
        for check in trial.checks:
            if check.name == _CHECK and check.detail:
                first = str(check.detail.get("first") or "")
                doubled, without_mode, lost = (
                    _names(check.detail, conditions, first) for conditions in (_DOUBLED, _WITHOUT_MODE, _LOST)
                )
                files = (trial.settings.get("workload") or {}).get("files") or {}
                yield GlusterNames(
                    trial.name,
                    int(files.get("count") or 0),
                    int(files.get("directories") or 0),
                    doubled,
                    without_mode,
                    tuple(LostName(name, "") for name in lost),
                )


def _is_on_gluster(settings: JsonObject) -> bool:
    targets = (settings.get("target") or {}).values()
    storages = (target.get("storage") for target in targets if isinstance(target, dict))
    return any(isinstance(storage, dict) and "gluster" in storage for storage in storages)


def _names(detail: JsonObject, conditions: tuple[str, ...], first: str) -> tuple[str, ...]:
    """As many names as violations; the check has that of the first one."""
    count = sum(int(detail.get(condition) or 0) for condition in conditions)
    return (first, *["…"] * (count - 1)) if count else ()
