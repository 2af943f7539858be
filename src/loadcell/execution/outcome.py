"""What a whole run comes to: its expectations over all trials, and its exit status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loadcell.execution.interrupts import EXIT_INTERRUPTED

EXIT_OK, EXIT_MISSED, EXIT_INCOMPLETE = 0, 1, 3


def verdicts(document: dict[str, Any], records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each expectation over the whole run: `missed` if any trial missed it, `met` if every one met it, else `unknown`."""
    found = []
    for expression in document["expect"]:
        by_verdict: dict[str, list[str]] = {"met": [], "missed": [], "unknown": []}
        for record in records:
            for one in record.get("expect", []):
                if one["expression"] == expression:
                    by_verdict[one["verdict"]].append(record["name"])
        whole = len(by_verdict["met"]) == len(document["trials"])
        found.append(
            {
                "expression": expression,
                "verdict": "missed" if by_verdict["missed"] else "met" if whole else "unknown",
                **{verdict: len(names) for verdict, names in by_verdict.items()},
                "missed_in": by_verdict["missed"],
            }
        )
    return found


def exit_status(state: str, planned: Sequence[Any], records: Sequence[dict[str, Any]]) -> int:
    """130 interrupted; 3 a trial is missing or not `ok`; 1 an expectation was missed; else 0."""
    if state == "interrupted":
        return EXIT_INTERRUPTED
    if len(records) < len(planned) or any(record["status"] != "ok" for record in records):
        return EXIT_INCOMPLETE
    if any(one["verdict"] == "missed" for record in records for one in record.get("expect", [])):
        return EXIT_MISSED
    return EXIT_OK
