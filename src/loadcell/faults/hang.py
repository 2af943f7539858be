"""`hang`: processes of the target stop (SIGSTOP) and go on later (SIGCONT)."""

from __future__ import annotations

import signal

from loadcell.faults.base import CONNECTION_LOST, NO_ANSWER, NOT_RUNNING, Fault, FaultError
from loadcell.linux import process_tree
from loadcell.model.json import JsonObject
from loadcell.plan.parts import SubjectOptions


class Hang(Fault[SubjectOptions]):
    """Stop all processes of the subject without ending them."""

    name = "hang"
    synonyms = ("pause", "freeze", "suspend", "sigstop", "stall")
    summary = "Stop all processes of the subject (SIGSTOP), until it continues them (SIGCONT)"
    stops_load = True
    expected_errors = (*CONNECTION_LOST, *NO_ANSWER)

    def prepare(self) -> JsonObject:
        self._roots = process_tree.roots(self.subject.processes())
        if not self._roots:
            raise FaultError(NOT_RUNNING(subject=self.subject.name))
        return process_tree.document(self._roots)

    def apply(self) -> JsonObject:
        stopped = process_tree.signal_tree(self._roots, signal.SIGSTOP)
        if not stopped:
            raise FaultError(NOT_RUNNING(subject=self.subject.name))
        # all of them: one whose parent ends meanwhile is no descendant any more
        return process_tree.document(stopped)

    @classmethod
    def undo(cls, arguments: JsonObject) -> None:
        process_tree.signal_tree(process_tree.recorded(arguments), signal.SIGCONT)

    @classmethod
    def is_undone(cls, arguments: JsonObject) -> bool:
        return not process_tree.is_stopped(process_tree.recorded(arguments))


PART = Hang
