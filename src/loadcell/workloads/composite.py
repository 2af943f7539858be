"""The workloads of a trial as one: their data side by side, and what is true of all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadcell.model import load_result, trial_record
from loadcell.model.json import JsonObject
from loadcell.model.metrics import find
from loadcell.plan.model import Group, Resolved
from loadcell.plan.parts import Parts
from loadcell.plan.workload import Ask, Condition, Run, StatementText


@dataclass(frozen=True)
class CompositeWorkload:
    """The workloads of a trial; each of `members` is a client group with its workload."""

    members: Sequence[tuple[Group, Any]]

    @classmethod
    def of(cls, settings: Resolved, parts: Parts) -> CompositeWorkload:
        """The workloads that these settings name: one, or that of each group."""
        return cls(
            [
                (group, parts.workloads[group.workload_name](group.workload))
                for group in settings.client_groups
            ]
        )

    def data(self) -> JsonObject | None:
        """Every data set once: tables of different kinds have different names, and those of one kind are the
        same.
        """
        return _merged(workload.data() for _, workload in self.members)

    def loading(self) -> JsonObject:
        """The specification for loading them, by the kind of data."""
        return _merged(workload.loading() for _, workload in self.members) or {}

    def key_prefixes(self) -> tuple[str, ...]:
        """Prefixes of the keys of all data sets, without repetition; none if one declares none."""
        if any(workload.data() and not workload.key_prefixes() for _, workload in self.members):
            return ()
        prefixes = (prefix for _, workload in self.members for prefix in workload.key_prefixes())
        return tuple(dict.fromkeys(prefixes))

    def table_names(self) -> tuple[str, ...]:
        """Names of the tables of all data sets, without repetition; none if one declares none."""
        if any(workload.data() and not workload.table_names() for _, workload in self.members):
            return ()
        names = (name for _, workload in self.members for name in workload.table_names())
        return tuple(dict.fromkeys(names))

    @property
    def changes_data(self) -> bool:
        """True if any of them does."""
        return any(workload.changes_data for _, workload in self.members)

    @property
    def verifies_values(self) -> bool:
        """True if any of them holds what it reads against what it wrote."""
        return any(workload.verifies_values for _, workload in self.members)

    def parallel_statements(self, operations: Mapping[str, int], statements: int) -> int:
        """Number of statements of a load that a server may have split among parallel workers."""
        return sum(workload.parallel_statements(operations, statements) for _, workload in self.members)

    @property
    def has_credentials(self) -> bool:
        """True if requests of any of them carry credentials of the plan."""
        return any(workload.has_credentials for _, workload in self.members)

    def figures(self, result: load_result.LoadResult) -> dict[str, float]:
        """Metrics of all groups combined; of several groups only additive ones."""
        every = self.figures_of_groups(result)
        totals: dict[str, float] = {}
        for of_group in every.values():
            for name, value in of_group.items():
                metric = None if len(every) == 1 else find(name)
                if metric is None or metric.additive:
                    totals[name] = totals.get(name, 0.0) + value
        return totals

    def figures_of_groups(self, result: load_result.LoadResult) -> dict[str, dict[str, float]]:
        """Metrics by group: those computed from the result's counts, and those it contains."""
        by_group = {}
        for group, workload in self.members:
            account = result.group(group.name)
            succeeded = {operation.name: operation.succeeded for operation in account.operations}
            by_group[group.name] = {**workload.figures(succeeded, result.seconds), **account.figures}
        return by_group

    @property
    def lays_out(self) -> bool:
        """True if any of them makes what it needs before its load begins."""
        return any(workload.lays_out for _, workload in self.members)

    @property
    def made_by(self) -> str | None:
        """The module that makes the load; None: the engine."""
        return next((workload.made_by for _, workload in self.members if workload.made_by), None)

    def loaded_by(self, kind: str) -> str | None:
        """The module that loads the data of this kind; None: the engine."""
        for _, workload in self.members:
            if kind in (workload.loading() or {}):
                return workload.loaded_by or self.made_by
        return self.made_by

    def before_load(self, run: Run, *, entered: bool) -> None:
        """Execute the statements of all of them before the load. Raises WorkloadError."""
        for _, workload in self.members:
            workload.before_load(run, entered=entered)

    def after_load(self, run: Run) -> None:
        """Execute the statements of all of them after the measurement."""
        for _, workload in self.members:
            workload.after_load(run)

    @property
    def resets_statistics(self) -> bool:
        """True if any of them wants the server's statistics of statements reset."""
        return any(workload.resets_statistics for _, workload in self.members)

    def explained(self, *, mysql: bool) -> list[list[StatementText]]:
        """Transactions whose statements are explained, those of several groups under the groups' names."""
        return [
            [
                replace(statement, name=f"{group.name}:{statement.name}" if group.name else statement.name)
                for statement in transaction
            ]
            for group, workload in self.members
            for transaction in workload.explained(mysql=mysql)
        ]

    @property
    def unit(self) -> str:
        """Unit of the throughput of all of them; operations if they differ."""
        units = {str(workload.unit) for _, workload in self.members}
        return units.pop() if len(units) == 1 else "operation"

    def calls(self, result: load_result.LoadResult) -> dict[str, int]:
        """Requests of all groups by the target's names, if it counts them."""
        calls: dict[str, int] = {}
        for group, workload in self.members:
            lifetime = result.group(group.name).lifetime or trial_record.Lifetime()
            for name, count in workload.calls(lifetime.operations).items():
                calls[name] = calls.get(name, 0) + count
        return calls

    def notes(self) -> list[str]:
        """Notes of all of them, without repetition."""
        return list(dict.fromkeys(note for _, workload in self.members for note in workload.notes()))

    def verify(self, ask: Ask) -> dict[str, list[Condition]]:
        """Each check of data there is, by name, with the conditions that the load left standing.

        A condition holds of tables that others write, too, only if they keep it as well: if it is one of
        theirs. Of whoever writes without telling of its data nothing is known, so nothing is asked.
        """
        by_check: dict[str, list[Condition]] = {}
        for group, workload in self.members:
            verified = workload.verified
            if verified is None:
                continue
            others = [
                other
                for its, other in self.members
                if its is not group and other.changes_data and _share(workload.data(), other.data())
            ]
            conditions = workload.verify(ask)
            for other in others:
                stated = (
                    {condition.says for condition in other.verify(ask)}
                    if other.verified == verified
                    else set()
                )
                conditions = [condition for condition in conditions if condition.says in stated]
            expressions = {condition.says for condition in by_check.setdefault(verified.name, [])}
            by_check[verified.name] += [
                condition for condition in conditions if condition.says not in expressions
            ]
        return by_check


def _merged(sections: Iterable[JsonObject | None]) -> JsonObject | None:
    merged: JsonObject = {}
    for section in sections:
        merged.update(section or {})
    return merged or None


def _share(first: JsonObject | None, other: JsonObject | None) -> bool:
    """True if two workloads may share tables: one without data works on those of any other."""
    return first is None or other is None or bool(first.keys() & other.keys())
