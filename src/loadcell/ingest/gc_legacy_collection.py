"""The text of a collection in a GC log of JDK 8 and before: its kind, cause, sizes and failures."""

from __future__ import annotations

import re
from typing import Final

from loadcell.ingest.gc_unified import UNITS
from loadcell.ingest.printed_numbers import integer
from loadcell.model.gc_pauses import Failure, PauseKind

_GROUP: Final = re.compile(r"\[([^\[\]]*)\]")
SIZE: Final = r"(\d{1,18}(?:[.,]\d{1,3})?) ?([BKMG])"
CHANGE: Final = re.compile(rf"{SIZE}(?:\({SIZE}\))?->{SIZE}(?:\({SIZE}\))?")
_OCCUPIED: Final = re.compile(rf"(?:^|[\] ]){SIZE}\({SIZE}\), ")
_COMPACTED: Final = re.compile(r"\b(?:Tenured|CMS)(?![A-Za-z-]| Perm).*\d[KMG]->\d", re.DOTALL)
_METASPACE: Final = re.compile(r"(?:Metaspace|Perm\w*) *: (?:\d+)K(?:\(\d+K\))?->(\d{1,18})K")
_WORDS: Final = re.compile(r"\(((?:[^()]|\(\))*)\)")
_YOUNG: Final = ("PSYoungGen", "ParNew", "DefNew")


def unfolded(block: str) -> tuple[str, list[str]]:
    """The text of a collection without the brackets in it, and their texts."""
    outer, groups = block[1:-1], []
    while inner := list(_GROUP.finditer(outer)):
        groups += [match[1] for match in inner]
        outer = _GROUP.sub(" ", outer)
    return outer, groups


def size_bytes(number: str | None, unit: str | None) -> int | None:
    """A size such as `24.5` with its unit."""
    if number is None or unit is None:
        return None
    integral, _, fraction = number.replace(",", ".").partition(".")
    return integer(integral) * UNITS[unit] + (
        integer(fraction) * UNITS[unit] // 10 ** len(fraction) if fraction else 0
    )


def metaspace_bytes(text: str) -> int | None:
    """Metaspace or permanent generation in use after a collection."""
    match = _METASPACE.search(text)
    return None if match is None else integer(match[1]) * UNITS["K"]


def sizes(outer: str) -> tuple[int | None, int | None, int | None]:
    """Heap in use before and after, and its size."""
    if (change := CHANGE.search(outer)) is not None:
        before, after = size_bytes(change[1], change[2]), size_bytes(change[5], change[6])
        return before, after, size_bytes(change[7], change[8])
    if (occupied := _OCCUPIED.search(outer)) is not None:
        before = size_bytes(occupied[1], occupied[2])
        return before, before, size_bytes(occupied[3], occupied[4])
    return None, None, None


def classified(outer: str, groups: list[str]) -> tuple[PauseKind, str, str]:
    """Kind, name in the words of later versions, and cause."""
    head = CHANGE.split(outer, maxsplit=1)[0]
    words = _WORDS.findall(head)
    if outer.startswith("Pause "):
        name = head.removeprefix("Pause ").partition(",")[0].partition("(")[0].strip()
        kind: PauseKind = (
            "full" if name.startswith("Full") else "degenerated" if name.startswith("Degen") else "cycle"
        )
        return kind, name, ""
    is_mark = any("CMS-initial-mark" in group for group in groups) or "CMS Initial Mark" in words
    is_young = any(name in group for group in groups for name in _YOUNG)
    is_remark = any("CMS-remark" in group for group in groups)
    is_remark = is_remark or ("CMS Final Remark" in words and not is_young)
    if is_mark or is_remark:
        return "cycle", "Initial Mark" if is_mark else "Remark", ""
    if outer.startswith("GC remark"):
        return "cycle", "Remark", ""
    if outer.startswith("GC cleanup"):
        return "cycle", "Cleanup", ""
    cause = next((word for word in words if word not in _KINDS and not word.startswith(_NOTES)), "")
    cause = {"System": "System.gc()"}.get(cause, cause)
    if outer.startswith("Full GC") or any(_COMPACTED.search(group) for group in groups):
        return "full", "Full", cause
    if "mixed" in words:
        return "mixed", "Young (Mixed)", cause
    return "young", "Young (Initial Mark)" if "initial-mark" in words else "Young", cause


_KINDS: Final = ("young", "mixed", "partial", "initial-mark")
_NOTES: Final = ("to-space", "promotion failed", "concurrent mode", "parallel", "max ")


def promoted_bytes(kind: PauseKind, groups: list[str], before: int | None, after: int | None) -> int | None:
    """Growth of the old generation: that of the heap without that of the young generation."""
    if kind != "young" or before is None or after is None:
        return None
    for group in groups:
        if any(name in group for name in _YOUNG) and (change := CHANGE.search(group)) is not None:
            young_before, young_after = size_bytes(change[1], change[2]), size_bytes(change[5], change[6])
            if young_before is not None and young_after is not None:
                return max(0, (after - young_after) - (before - young_before))
    return None


def failures_of(block: str) -> tuple[Failure, ...]:
    """Failures that the text states; G1 without details marks one by two dashes."""
    failures: list[Failure] = []
    if "promotion failed" in block or "--[PSYoungGen" in block or block.startswith("[GC--"):
        failures.append("promotion")
    is_g1_failure = block.startswith("[GC pause") and ")--" in block
    if is_g1_failure or "to-space exhausted" in block or "to-space overflow" in block:
        failures.append("to-space")
    if "concurrent mode failure" in block:
        failures.append("concurrent-mode")
    return tuple(failures)
