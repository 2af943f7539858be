"""Differences of two runs in their provenance: labels, facts of their authors, git checkouts, and the files
that their plans name.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.analysis.compare.differences import Difference, Kind
from loadcell.model.run_record import RunRecord


def differences(before: RunRecord, after: RunRecord) -> tuple[Difference, ...]:
    """Where they differ; what one of the runs did not record (an older version) is no difference."""
    return (
        *_of_texts("labels", before.labels or {}, after.labels or {}),
        *_of_texts("about", before.about or {}, after.about or {}),
        *_of_checkouts(before, after),
        *_of_files(before, after),
    )


def _of_texts(kind: Kind, before: Mapping[str, str], after: Mapping[str, str]) -> list[Difference]:
    return [
        Difference(kind, f"{kind}.{name}", before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]


def _of_checkouts(before: RunRecord, after: RunRecord) -> list[Difference]:
    old, new = before.checkout, after.checkout
    if old is None or new is None:
        return []
    values = {"commit": (old.name, new.name), "branch": (old.branch, new.branch)}
    return [Difference("source", f"git.{name}", *pair) for name, pair in values.items() if pair[0] != pair[1]]


def _of_files(before: RunRecord, after: RunRecord) -> list[Difference]:
    """Files of both runs with other contents; a file of one alone is a difference of the plans."""
    old, new = ({file.file: file.sha256 for file in run.files or ()} for run in (before, after))
    return [
        Difference("files", f"{name} (SHA-256)", old[name], new[name])
        for name in old
        if name in new and old[name] != new[name]
    ]
