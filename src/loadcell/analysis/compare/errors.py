"""Things that cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence


class CannotCompareError(Exception):
    """Why things cannot be compared, and what to do; `differences` where that is what they are."""

    def __init__(self, finding: str, *, advice: str, differences: Sequence[str] = ()) -> None:
        super().__init__(finding)
        self.finding = finding
        self.advice = advice
        self.differences = tuple(differences)

    def __str__(self) -> str:
        lines = "".join(f"\n  {difference}" for difference in self.differences)
        return f"{self.finding}{':' if lines else '.'}{lines}{chr(10) if lines else ' '}{self.advice}"
