"""Questions to a machine that may never answer: each has a time limit, and a reason where there is no answer."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loadcell.linux.messages import SLOW, UNREADABLE
from loadcell.model.message import Message, MessageError

#: Reading /proc and /sys takes microseconds; a dead mount, or a broken firmware table, can take forever.
LIMIT_S = 1.5
#: So many questions are asked at the same time; each that hangs keeps one of them from being more.
AT_ONCE = 64


class UnavailableError(MessageError):
    """A property that this host does not state, with the reason."""


@dataclass
class Answers:
    """What was answered, by the question's name, and why what was not has no answer."""

    found: dict[str, Any] = field(default_factory=dict)
    unavailable: dict[str, Message] = field(default_factory=dict)
    unasked: frozenset[str] = frozenset()


def ask(questions: Mapping[str, Callable[[], Any]], limit_s: float = LIMIT_S) -> Answers:
    """Every answer that came within `limit_s`. Many are asked at once; one that hangs is left behind in its thread.

    A question answers None where there is nothing to tell, and raises UnavailableError where there is a reason for that.
    Those that nobody came to ask in time are in `unasked`.
    """
    answers: dict[str, Any] = {}
    reasons: dict[str, Message] = {}

    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in questions:
        waiting.put(name)
    asked: set[str] = set()
    until = (
        math.inf
    )  # until all are there to ask: on a busy machine that takes its time, and is none of an answer's

    def ask_on() -> None:
        while time.monotonic() < until:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                return
            asked.add(name)
            try:
                answers[name] = questions[name]()
            except UnavailableError as error:
                reasons[name] = error.message
            except (
                Exception
            ) as error:  # a file of another shape than expected is no answer, and no reason to stop
                reasons[name] = UNREADABLE(error=f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=ask_on, daemon=True) for _ in range(min(AT_ONCE, len(questions)))]
    for thread in threads:
        thread.start()
    until = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    # A thread that was left behind must not write into what is handed out.
    answers, reasons, asked = dict(answers), dict(reasons), set(asked)
    given = Answers(unasked=frozenset(questions) - asked)
    for name in questions:
        if name in answers:
            if answers[name] is not None:
                given.found[name] = answers[name]
        else:
            given.unavailable[name] = reasons.get(name) or SLOW(limit=f"{limit_s:g}")
    return given
