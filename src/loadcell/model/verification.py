"""Verifications: checks of the data after a load, which workloads declare, and their texts by name.

The analysis reads checks from records: the workload that declared one need not be imported, nor installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from loadcell.model import catalogue
from loadcell.model.message import Message, MessageCode

_declared: dict[str, Verification] = {}


@dataclass(frozen=True)
class Verification:
    """A check of the data, by its name in records.

    Its texts are `check.NAME` (why a trial whose data do not meet it cannot be trusted), `check-name.NAME`
    and `advice.NAME` (findings on it), and `held.NAME` (the data met it). Raises ValueError for a name that
    is declared already.
    """

    name: str
    reason: MessageCode = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", MessageCode(f"check.{self.name}"))
        for prefix in ("check-name", "advice", "held"):
            MessageCode(f"{prefix}.{self.name}")
        _declared[self.name] = self


def declared() -> Mapping[str, Verification]:
    """Every verification of the modules imported so far, by name."""
    return MappingProxyType(_declared)


def text_of(prefix: str, name: str) -> Message | None:
    """The text of a check with this prefix; None if the catalogue has none."""
    code = f"{prefix}.{name}"
    return Message(code) if code in catalogue.texts() else None


#: Every value that was read equals what was written.
VALUES = Verification("values")
