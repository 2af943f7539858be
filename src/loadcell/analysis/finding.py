"""Findings: messages of the analysis with the evidence that they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loadcell.model.message import Message, Severity


@dataclass(frozen=True)
class Finding:
    """Something the analysis noticed.

    `kind` groups findings (`throughput`, `spread`, `errors`, `trials`, `expectations`, `checks`, `trust`
    ...);
    `evidence` names the treatments or trials it rests on.
    """

    kind: str
    message: Message
    evidence: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """The severity of the message."""
        return self.message.severity

    def document(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "key": self.message.code,
            "params": {name: _plain(value) for name, value in self.message.arguments.items()},
            "evidence": list(self.evidence),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        if value.recorded is not None:
            return value.recorded[0]
        return {
            "key": value.code,
            "params": {name: _plain(item) for name, item in value.arguments.items()},
        }
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
