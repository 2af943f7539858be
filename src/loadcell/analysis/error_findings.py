"""Findings on failed and retried transactions: their codes, meanings and remedies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from loadcell.analysis.error_codes import BY_FAULT
from loadcell.analysis.finding import Concern, Evidence, Finding, FindingCode, Subject
from loadcell.analysis.trials import ErrorCount, Trial
from loadcell.model import stream_metrics
from loadcell.model.message import Count, Message, MessageCode, Share

ERRORS_NONE = FindingCode("found.errors.none", Subject.ERRORS, "good", (Concern.WELL, 30), count=Count)
_ERRORS: dict[str, type] = {"count": Count, "failed_share": Share}
_CODED: dict[str, type] = {**_ERRORS, "code": str, "code_count": Count}


def _errors_code(name: str, /, **arguments: type) -> FindingCode:
    return FindingCode(f"found.errors.{name}", Subject.ERRORS, "problem", (Concern.WRONG, 20), **arguments)


ERRORS_SOME = _errors_code("some", **_ERRORS)
ERRORS_CODED = _errors_code("coded", **_CODED, meaning=Message)
ERRORS_CODED_BARE = _errors_code("coded.bare", **_CODED)
ERRORS_CODED_REMEDIED = _errors_code("coded.remedied", **_CODED, meaning=Message, remedy=Message)
ERRORS_ALIKE = _errors_code("all-alike", **_ERRORS, code=str, meaning=Message)
ERRORS_ALIKE_BARE = _errors_code("all-alike.bare", **_ERRORS, code=str)
ERRORS_ALIKE_REMEDIED = _errors_code(
    "all-alike.remedied", **_ERRORS, code=str, meaning=Message, remedy=Message
)
ERRORS_CODED_REMEDIED_BARE = _errors_code("coded.remedied.bare", **_CODED, remedy=Message)
ERRORS_ALIKE_REMEDIED_BARE = _errors_code("all-alike.remedied.bare", **_ERRORS, code=str, remedy=Message)
ERRORS_OF_FAULTS = FindingCode(
    "found.errors.of-faults", Subject.ERRORS, "info", (Concern.WRONG, 20), cases=list, **_ERRORS
)
OF_FAULT = MessageCode("errors.of-fault", codes=list, faults=list)
ERRORS_IN = MessageCode("errors.in", meaning=Message, operations=list)
ERRORS_IN_BARE = MessageCode("errors.in.bare", operations=list)
#: Operations that a sentence names, the most frequent first.
_MOST_OPERATIONS = 3
#: Answers of a service of streams that are no failed records, by metric.
WRONG_ANSWERS = FindingCode(
    "found.errors.answers", Subject.ANSWERS, "problem", (Concern.WRONG, 21), cases=list
)
_ANSWERS = {key: MessageCode(f"answers.{key}", count=Count) for key in stream_metrics.WRONG_ANSWERS}
RETRIED = FindingCode(
    "found.retried", Subject.ERRORS, "info", (Concern.COST, 10), count=Count, retried_share=Share
).marked(evidence=Evidence.RESULTS)


def errors(all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Transactions that failed or were tried again; those that faults of the plan explain by fault."""
    ended = sum(trial.succeeded + trial.failed for trial in all_trials)
    failed = sum(trial.failed for trial in all_trials)
    if not ended:
        return
    evidence = tuple(trial.name for trial in all_trials if trial.failed)
    of_faults = _of_faults(all_trials)
    explained = sum(sum(codes.values()) for codes in of_faults.values())
    if not failed:
        yield ERRORS_NONE.finding(count=ended)
    elif explained < failed:
        yield _unexplained(all_trials, failed - explained, ended, evidence)
    if explained:
        cases = tuple(
            OF_FAULT(codes=[f"{code} × {count:,}" for code, count in codes.most_common()], faults=faults)
            for faults, codes in of_faults.items()
        )
        yield ERRORS_OF_FAULTS.finding(evidence, cases=cases, count=explained, failed_share=explained / ended)
    wrong = {
        key: round(sum(trial.figures.get(key, 0) for trial in all_trials))
        for key in stream_metrics.WRONG_ANSWERS
    }
    if any(wrong.values()):
        cases = tuple(_ANSWERS[key](count=count) for key, count in wrong.items() if count)
        yield WRONG_ANSWERS.finding(
            tuple(trial.name for trial in all_trials if any(trial.figures.get(key) for key in wrong)),
            cases=cases,
        )
    retried = sum(trial.retried for trial in all_trials)
    if retried:
        yield RETRIED.finding(count=retried, retried_share=retried / ended)


def _is_explained(error: ErrorCount) -> bool:
    return error.remedy is not None and error.remedy.code == BY_FAULT.code


def _of_faults(all_trials: Sequence[Trial]) -> dict[tuple[str, ...], Counter[str]]:
    """Failures that faults of the plan explain, by the names of these and by code."""
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for trial in all_trials:
        for error in trial.errors:
            if error.transactions and error.remedy is not None and _is_explained(error):
                names = error.remedy.arguments["faults"]
                faults = tuple(str(name) for name in names) if isinstance(names, list | tuple) else ()
                counts.setdefault(faults, Counter())[error.code] += error.transactions
    return counts


def _unexplained(all_trials: Sequence[Trial], failed: int, ended: int, evidence: tuple[str, ...]) -> Finding:
    """The failures that no fault explains, with the most frequent code."""
    codes: Counter[str] = Counter()
    meanings: dict[str, Message] = {}
    operations: dict[str, Counter[str]] = {}
    others = [error for trial in all_trials for error in trial.errors if not _is_explained(error)]
    remedies = {
        error.code: error.remedy for error in sorted(others, key=lambda error: error.count) if error.remedy
    }
    for error in others:
        if error.transactions:
            codes[error.code] += error.transactions
            meanings.setdefault(error.code, error.meaning)
            operations.setdefault(error.code, Counter()).update(error.operations)
    params: dict[str, object] = {"count": failed, "failed_share": failed / ended}
    finding_code = ERRORS_SOME
    if codes:
        code, often = codes.most_common(1)[0]
        meaning = _with_operations(meanings[code], operations[code])
        params |= {"code": code, "meaning": meaning, "code_count": often}
        alike, bare = often == failed, not meaning.text
        if code in remedies:
            params["remedy"] = remedies[code]
            with_meaning = ERRORS_ALIKE_REMEDIED if alike else ERRORS_CODED_REMEDIED
            without = ERRORS_ALIKE_REMEDIED_BARE if alike else ERRORS_CODED_REMEDIED_BARE
        else:
            with_meaning = ERRORS_ALIKE if alike else ERRORS_CODED
            without = ERRORS_ALIKE_BARE if alike else ERRORS_CODED_BARE
        finding_code = without if bare else with_meaning
    return finding_code.finding(evidence, **params)


def _with_operations(meaning: Message, counts: Counter[str]) -> Message:
    """The meaning of an error with the operations of the workload that it struck, where that is recorded."""
    if not counts:
        return meaning
    operations = [name for name, _ in counts.most_common(_MOST_OPERATIONS)]
    if not meaning.text:
        return ERRORS_IN_BARE(operations=operations)
    return ERRORS_IN(meaning=meaning, operations=operations)
