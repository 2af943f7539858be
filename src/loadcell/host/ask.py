"""Questions to a machine that may never answer: each has a time limit, and a reason where there is no answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Reading /proc and /sys takes microseconds; a dead mount, or a broken firmware table, can take forever.
LIMIT_S = 1.5


class UnavailableError(Exception):
    """A question that this machine has no answer to; the text says why, and goes behind `not available: `."""


@dataclass
class Answers:
    """What was answered, by the question's name, and why what was not has no answer."""

    found: dict[str, Any] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)


def ask(questions: Mapping[str, Callable[[], Any]], limit_s: float = LIMIT_S) -> Answers:
    """Every answer that came within `limit_s` of asking. All are asked at once; one that hangs is left behind in its thread.

    A question answers None where there is nothing to tell, and raises UnavailableError where there is a reason for that.
    """
    answers: dict[str, Any] = {}
    reasons: dict[str, str] = {}

    def answer(name: str, question: Callable[[], Any]) -> None:
        try:
            answers[name] = question()
        except UnavailableError as reason:
            reasons[name] = str(reason)
        except (
            Exception
        ) as error:  # a file of another shape than expected is no answer, and no reason to stop
            reasons[name] = f"could not be read ({type(error).__name__}: {error})"

    threads = {}
    for name, question in questions.items():
        threads[name] = threading.Thread(target=answer, args=(name, question), daemon=True)
        threads[name].start()
    until = time.monotonic() + limit_s
    for thread in threads.values():
        thread.join(max(0.0, until - time.monotonic()))
    # A thread that was left behind must not write into what is handed out.
    answers, reasons = dict(answers), dict(reasons)
    given = Answers()
    for name in questions:
        if name in answers:
            if answers[name] is not None:
                given.found[name] = answers[name]
        else:
            given.unavailable[name] = reasons.get(name, f"no answer within {limit_s:g} s")
    return given
