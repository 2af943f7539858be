"""Findings of a report with their texts in both languages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loadcell.analysis.finding import Finding
from loadcell.model.message import Message, Severity
from loadcell.report.texts import Texts


@dataclass(frozen=True)
class Statement:
    """A finding in words: English, Chinese, and its severity.

    `code` identifies the text, `subject` groups findings, and `evidence` names treatments or trials.
    """

    code: str
    subject: str
    severity: Severity
    en: str
    zh: str
    evidence: tuple[str, ...] = ()

    def text(self, lang: str) -> str:
        """The text in a language."""
        return self.zh if lang == "zh" else self.en

    def __str__(self) -> str:
        return self.en


def statements(findings: Iterable[Finding], unit: str) -> tuple[Statement, ...]:
    """Findings in words; `unit` is what throughput counts."""
    english, chinese = Texts("en", unit), Texts("zh", unit)

    def of(finding: Finding) -> Statement:
        message: Message = finding.message
        return Statement(
            message.code,
            finding.subject.label,
            finding.severity,
            english.message(message),
            chinese.message(message),
            finding.evidence,
        )

    return tuple(map(of, findings))
