"""A load of which nothing succeeded: there is no figure to trust, so its trial has failed and says of what.

Only the whole of what is scored counts: a target that is down for a while within it has answered before or after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from loadcell.execution.record import TRANSACTION
from loadcell.plan.expect import Expectation
from loadcell.reasons import Reason, because, of_load, texts

#: The figures by which a plan can say that it is failures it wants to see.
_OF_FAILURES = ("errors", "error_rate")


def fruitless(document: Mapping[str, Any], protocol: str) -> Reason | None:
    """Why a trial, as its record has it, has no figures: all that ended in the measurement failed. None where that is not so.

    What a tool counted is taken by its own figures: one that gives a throughput had successes, whether it counts them or not.
    """
    totals = document.get("totals") or {}
    counts = totals.get("transactions") or {}
    failed = counts.get("failed") or 0
    if not failed or counts.get("succeeded") or totals.get("throughput_per_s"):
        return None
    codes: Counter[str] = Counter()
    messages: dict[str, str] = {}
    for error in document.get("errors") or ():
        if error["operation"] == TRANSACTION:
            codes[error["code"]] += error["count"]
            messages.setdefault(error["code"], error.get("message") or "")
    if not codes:
        return because("nothing-succeeded.uncoded", failed=failed, remedy=because("nothing-succeeded.look"))
    code, often = codes.most_common(1)[0]
    remedy = remedy_of(protocol, code) or _remedy_of_answer(code)
    why = of_load(code, messages[code] or code, remedy.finding)
    return because("nothing-succeeded", failed=failed, code=code, often=often, why=why, remedy=remedy)


def wanted(expect: Sequence[Expectation], figures: Mapping[str, float | None]) -> bool:
    """Whether failures are what the plan wants: an expectation of them holds, and would not if there were none."""
    return any(
        one.metric.rpartition(".")[2] in _OF_FAILURES
        and one.judge(figures).verdict == "met"
        and one.judge({one.metric: 0.0}).verdict == "missed"
        for one in expect
    )


def remedy_of(protocol: str, code: str | None) -> Reason | None:
    """What the catalogue knows to do about a failure of this kind in this protocol, or in any."""
    known = (f"remedy.{protocol}.{code}", f"remedy.{code}")
    found = next((one for one in known if one in texts()), None)
    return None if found is None else because(found)


def _remedy_of_answer(code: str) -> Reason:
    return because("nothing-succeeded.status" if code.startswith("http-") else "nothing-succeeded.look")
