"""Types of records declare which of their texts are words of loadcell; all others pass the redactor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from loadcell.model.json import OF_PLAN, OMITTED, WORDS, JsonObject, Word
from loadcell.model.run_record import PlannedTrial, RunRecord
from loadcell.model.trial_record import Check, Status, TrialRecord
from loadcell.store.redaction import redacted_event, redacted_record

SECRET = "s3cret pw"
REFERENCE = "${env:PW}"


def redact(text: str) -> str:
    return text.replace(SECRET, REFERENCE)


@dataclass(frozen=True)
class Inner:
    """Record within a record."""

    name: Word = SECRET
    text: str = SECRET


@dataclass(frozen=True)
class Outer:
    """Record with every kind of declaration."""

    word: Annotated[Word | None, OMITTED] = SECRET
    words: tuple[Word, ...] = (SECRET,)
    files: Annotated[Mapping[str, str], WORDS] = field(default_factory=lambda: {"a": SECRET, "b": "file"})
    choice: Literal["s3cret pw"] = "s3cret pw"
    status: Status | None = Status.OK
    settings: Annotated[JsonObject, OF_PLAN] = field(default_factory=lambda: {"a": "word", "b": SECRET})
    name: str = SECRET
    code: Annotated[str | None, OMITTED] = SECRET
    examples: tuple[str, ...] = (SECRET,)
    facts: JsonObject = field(default_factory=lambda: {"name": SECRET, SECRET: 1})
    inner: Inner | None = field(default_factory=Inner)
    inners: tuple[Inner, ...] = (Inner(),)
    named: Mapping[str, Inner] = field(default_factory=lambda: {SECRET: Inner(), "name": Inner()})
    nothing: Inner | None = None


def test_a_field_holds_foreign_text_unless_its_type_declares_words() -> None:
    inner = {"name": SECRET, "text": REFERENCE}
    assert redacted_record(Outer(), redact) == {
        "word": SECRET,
        "words": [SECRET],
        "files": {"a": REFERENCE, "b": "file"},
        "choice": SECRET,
        "status": "ok",
        "settings": {"a": "word", "b": REFERENCE},
        "name": REFERENCE,
        "code": REFERENCE,
        "examples": [REFERENCE],
        "facts": {"name": REFERENCE, REFERENCE: 1},
        "inner": inner,
        "inners": [inner],
        "named": {REFERENCE: inner, "name": inner},
        "nothing": None,
    }


@pytest.mark.parametrize("secret", ["finished", "plan", "as-written", "t-1", "missing"])
def test_words_of_runs_stay_whatever_the_secret_is(secret: str) -> None:
    run = RunRecord(
        plan_name="plan", state="finished", order="as-written", reason_code="missing", title=secret,
        trials=(PlannedTrial(1, "t-1", "t-1", 1),),
    )  # fmt: skip
    stored = redacted_record(run, lambda text: text.replace(secret, REFERENCE))
    names = [stored[key] for key in ("plan_name", "state", "order", "reason_code")]
    assert names == ["plan", "finished", "as-written", "missing"]
    assert [stored["trials"][0][key] for key in ("name", "treatment")] == ["t-1", "t-1"]
    assert stored["title"] == REFERENCE


def test_evidence_of_checks_and_facts_of_targets_are_foreign_text() -> None:
    facts: dict[str, Any] = {"settings": [{"name": SECRET, "value": SECRET}]}
    trial = TrialRecord(
        1, "t", "t", 1, Status.OK, checks=(Check("client", "ok", {"name": SECRET}),), target=facts
    )
    stored = redacted_record(trial, redact)
    assert stored["checks"] == [{"name": "client", "verdict": "ok", "detail": {"name": REFERENCE}}]
    assert stored["target"] == {"settings": [{"name": REFERENCE, "value": REFERENCE}]}


def test_events_keep_their_names_and_instants() -> None:
    event = {"event": SECRET, "phase": SECRET, "utc": SECRET, "mono_ns": 5, "who": SECRET}
    stored = {"event": SECRET, "phase": SECRET, "utc": SECRET, "mono_ns": 5}
    assert redacted_event(event, redact) == {**stored, "who": REFERENCE}
