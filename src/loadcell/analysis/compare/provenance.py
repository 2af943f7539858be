"""Differences of two sides in their provenance: labels, facts of their authors, git checkouts, and the files
that their plans name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from loadcell.analysis.compare.differences import Difference, Kind, distinct
from loadcell.model.run_record import RunRecord

_Texts: TypeAlias = Mapping[str, str | None]


def differences(before: Sequence[RunRecord], after: Sequence[RunRecord]) -> tuple[Difference, ...]:
    """Where the runs of two sides do not have the same values.

    Runs that did not record a thing (of an older version) are left out of it. Runs of one side may differ.
    """
    labels, about, checkouts, files = zip(_recorded(before), _recorded(after), strict=True)
    return (
        *_of_texts("labels", *labels),
        *_of_texts("about", *about),
        *_of_texts("source", *checkouts),
        *_of_files(*files),
    )


def _recorded(side: Sequence[RunRecord]) -> tuple[list[_Texts], ...]:
    """Labels, facts, checkouts and files of the runs that recorded them, by the path of each."""
    return (
        [_under("labels", run.labels) for run in side if run.labels is not None],
        [_under("about", run.about) for run in side if run.about is not None],
        [{"git.commit": git.name, "git.branch": git.branch} for run in side for git in run.checkouts],
        [{f"{file.file} (SHA-256)": file.sha256 for file in run.files} for run in side if run.files],
    )


def _under(parent: str, texts: Mapping[str, str]) -> _Texts:
    return {f"{parent}.{name}": text for name, text in texts.items()}


def _of_texts(kind: Kind, before: Sequence[_Texts], after: Sequence[_Texts]) -> Iterator[Difference]:
    """Where the values are others; a name without a value is one too. Nothing if a side recorded nothing."""
    if not before or not after:
        return
    for name in dict.fromkeys(name for texts in (*before, *after) for name in texts):
        old, new = ([texts.get(name) for texts in side] for side in (before, after))
        if {*old} != {*new}:
            yield Difference(kind, name, distinct(old), distinct(new))


def _of_files(before: Sequence[_Texts], after: Sequence[_Texts]) -> Iterator[Difference]:
    """Files of both sides with other contents; a file of one alone is a difference of the plans."""
    for name in dict.fromkeys(name for texts in before for name in texts):
        old, new = ([texts[name] for texts in side if name in texts] for side in (before, after))
        if new and {*old} != {*new}:
            yield Difference("files", name, distinct(old), distinct(new))
