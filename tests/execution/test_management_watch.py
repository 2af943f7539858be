"""The probe of a management plane: its operations in turn, with their times and refusals."""

from __future__ import annotations

import threading
from typing import Any

from loadcell.execution.management_watch import ManagementWatch
from loadcell.model.message import MessageError
from loadcell.systems.gluster.command_line import COMMAND_FAILED


def test_operations_are_executed_in_turn_and_refusals_recorded() -> None:
    done = threading.Event()
    now = iter(range(0, 100_000_000_000, 500_000_000))
    events: list[Any] = []

    def refuse() -> None:
        done.set()
        raise MessageError(COMMAND_FAILED(command="volume create", output="no"))

    operations = {"status": lambda: None, "create": refuse}
    watch = ManagementWatch(operations, events.append, lambda: next(now), interval_s=60.0)
    watch.start()
    assert done.wait(10.0)
    answers = watch.end(1_000_000_000)
    assert [(answer.operation, answer.began_s, answer.took_s, answer.succeeded) for answer in answers] == [
        ("status", -1.0, 0.5, True),
        ("create", 0.0, 0.5, False),
    ]
    assert [event["operation"] for event in events] == ["status", "create"]
    assert "reason" in events[1]


def test_a_target_without_management_has_no_answers() -> None:
    watch = ManagementWatch({}, lambda _: None)
    watch.start()
    assert watch.end(0) == ()
