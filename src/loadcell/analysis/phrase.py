"""What the analysis says, before it is said in a language: a key of the catalogue and the values in the sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

#: A value in a sentence. Numbers carry their unit in the parameter's name: `p99_ms`, `spread_share`, `duration_s`.
Value = Union[
    str, int, float, "Meaning", "Recorded", "FigureName", "Phrase", Sequence["Phrase"], Sequence[str]
]

Severity = Literal["good", "info", "caution", "problem"]


@dataclass(frozen=True)
class Phrase:
    """A text of the catalogue with its parameters."""

    key: str
    params: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Meaning:
    """What an error's code means: as the catalogue says it, or, if it does not know the code, as the record does."""

    code: str
    recorded: str


@dataclass(frozen=True)
class Recorded:
    """A sentence of a record: as the catalogue says it, or, if it does not know the code or the arguments, as the record does."""

    code: str
    args: Mapping[str, Any]
    recorded: str


@dataclass(frozen=True)
class FigureName:
    """A figure of a workload's or a tool's own: as the catalogue calls it, or, if it does not know it, by the name in the record."""

    name: str


@dataclass(frozen=True)
class Finding:
    """Something the analysis noticed.

    `kind` groups findings (`throughput`, `spread`, `errors`, `trials`, `expectations`, `checks`, `trust` ...);
    `phrase` says it; `evidence` names the treatments or trials it rests on.
    """

    kind: str
    severity: Severity
    phrase: Phrase
    evidence: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "key": self.phrase.key,
            "params": {name: _plain(value) for name, value in self.phrase.params.items()},
            "evidence": list(self.evidence),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Phrase):
        return {"key": value.key, "params": {name: _plain(item) for name, item in value.params.items()}}
    if isinstance(value, Meaning | Recorded):
        return value.recorded
    if isinstance(value, FigureName):
        return value.name
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
