"""Statements of a trial around its load: those of the plan, reset of statistics, and execution plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from loadcell.execution.target_pool import TargetPool
from loadcell.model.message import ForeignText, MessageCode
from loadcell.model.trial_record import PlanRecord
from loadcell.plan.workload import Run
from loadcell.systems.base import Execute, Target, TargetError
from loadcell.workloads.composite import CompositeWorkload

DOING_EXECUTE_STATEMENT = MessageCode("doing.execute-statement", key=str, statement=ForeignText)

#: What a message has of a statement.
_SHOWN = 80


@dataclass(frozen=True)
class Statements:
    """The statements of one trial; `log` takes lines for its output.log."""

    target: Target[Any]
    workload: CompositeWorkload
    pool: TargetPool
    treatment: str
    log: Callable[[str], None]

    def before(self) -> None:
        """Execute those before the load. Raises TargetError and WorkloadError."""
        with self._session("prepare") as run:
            self.workload.before_load(run, entered=self.pool.entered != self.treatment)
        self.pool.entered = self.treatment
        if self.workload.resets_statistics:
            for line in self.target.reset_statistics():
                self.log(f"statistics: {line}")

    def after(self, *, mysql: bool) -> tuple[PlanRecord, ...] | None:
        """Explain the statements, once for each treatment, and execute those after the load.

        Raises TargetError for the latter only: a missing execution plan leaves the measurement as it is.
        """
        plans: tuple[PlanRecord, ...] | None = None
        if self.treatment not in self.pool.explained and (texts := self.workload.explained(mysql=mysql)):
            try:
                plans = tuple(self.target.explain(texts))
                self.pool.explained.add(self.treatment)
            except TargetError as error:
                self.log(f"execution plans: {error.finding}")
        with self._session("collect") as run:
            self.workload.after_load(run)
        return plans

    @contextmanager
    def _session(self, during: str) -> Iterator[Run]:
        """Execute statements in one session, which begins with the first of them."""
        with ExitStack() as stack:
            sessions: list[Execute] = []

            def run(statement: str, key: str) -> list[tuple[Any, ...]]:
                if not sessions:
                    sessions.append(stack.enter_context(self.target.sql_session(during)))
                shown = " ".join(statement.split())
                if len(shown) > _SHOWN:
                    shown = shown[: _SHOWN - 1] + "…"
                return sessions[0](statement, DOING_EXECUTE_STATEMENT(key=key, statement=shown))

            yield run
