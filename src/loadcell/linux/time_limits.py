"""Questions to a host under a time limit, each with its answer or the reason for none."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loadcell.model.json import JsonValue
from loadcell.model.message import ForeignText, Message, MessageCode, MessageError

NO_TABLE = MessageCode("host-reason.no-table", "info")
ONLY_ROOT = MessageCode("host-reason.only-root", "info", file=str)
NO_MODULE = MessageCode("host-reason.no-module", "info")
NO_NAMES = MessageCode("host-reason.no-names", "info")
NO_CPUFREQ = MessageCode("host-reason.no-cpufreq", "info")
NO_TURBO = MessageCode("host-reason.no-turbo", "info", driver=str)
NO_SPEED = MessageCode("host-reason.no-speed", "info", names=list)
NO_HYPERVISOR = MessageCode("host-reason.no-hypervisor", "info")
NO_FILE = MessageCode("host-reason.no-file", "info", file=str)
SLOW = MessageCode("host-reason.slow", "info", limit=str)
UNREADABLE = MessageCode("host-reason.unreadable", "info", error=ForeignText)


#: Reading /proc and /sys takes microseconds; a dead mount, or a broken firmware table, can take forever.
LIMIT_S = 1.5
#: Number of questions asked at the same time; each that hangs occupies one.
AT_ONCE = 64


class UnavailableError(MessageError):
    """A property that this host does not state, with the reason."""


@dataclass
class Answers:
    """Answers by question, and the reasons of the questions without one."""

    values: dict[str, JsonValue] = field(default_factory=dict)
    unavailable: dict[str, Message] = field(default_factory=dict)
    unasked: frozenset[str] = frozenset()


def ask(questions: Mapping[str, Callable[[], Any]], limit_s: float = LIMIT_S) -> Answers:
    """Ask concurrently for at most `limit_s` seconds. A question that hangs keeps its thread.

    A question returns None without an answer, and raises UnavailableError to state the reason.
    Questions that no thread reached in time are in `unasked`.
    """
    answers: dict[str, JsonValue] = {}
    reasons: dict[str, Message] = {}

    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in questions:
        waiting.put(name)
    asked: set[str] = set()
    # starting the threads on a busy machine must not count against the answers
    until = math.inf

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
            # a file with unexpected contents must not end the inventory
            except Exception as error:
                reasons[name] = UNREADABLE(error=f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=ask_on, daemon=True) for _ in range(min(AT_ONCE, len(questions)))]
    for thread in threads:
        thread.start()
    until = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    # A thread that was left behind must not write into what is handed out.
    answers, reasons, asked = dict(answers), dict(reasons), set(asked)
    refused = Answers(unasked=frozenset(questions) - asked)
    for name in questions:
        if name in answers:
            if answers[name] is not None:
                refused.values[name] = answers[name]
        else:
            refused.unavailable[name] = reasons.get(name) or SLOW(limit=f"{limit_s:g}")
    return refused
