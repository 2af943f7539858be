"""Execution plans of statements: which plan each treatment had, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Message, MessageCode
from loadcell.model.trial_record import PlanRecord, TrialRecord

PLAN_DIFFERS = FindingCode(
    "found.plan-differs", Subject.PLANS, "info", (Concern.ANSWER, 290), statement=str, plans=list
)
PLAN_OF = MessageCode("found.plan-differs.of", "info", shape=str, treatments=list)

#: What a sentence has of a plan.
_SHOWN = 120
_ARROW = "->"


@dataclass(frozen=True)
class Plan:
    """An execution plan of a statement, and the treatments that had it."""

    record: PlanRecord
    treatments: tuple[str, ...]

    @property
    def nodes(self) -> list[str]:
        """The nodes, from the outermost."""
        return [line.strip().removeprefix(_ARROW).strip() for line in self.record.shape]

    def summary(self, others: Sequence[Plan]) -> str:
        """The nodes that some other plan lacks, in one line; all of them where that is none."""
        distinct = [node for node in self.nodes if any(node not in other.nodes for other in others)]
        line = " > ".join(distinct or self.nodes)
        return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def by_statement(records: Sequence[TrialRecord]) -> dict[str, list[Plan]]:
    """Different plans of each statement, in the order in which they were recorded."""
    statements: dict[str, dict[tuple[str, ...], Plan]] = {}
    for record in records:
        for plan in record.plans or ():
            if plan.trouble is not None:
                continue
            plans = statements.setdefault(plan.statement, {})
            earlier = plans.get(plan.shape)
            treatments = () if earlier is None else earlier.treatments
            if record.treatment not in treatments:
                treatments += (record.treatment,)
            plans[plan.shape] = Plan(plan if earlier is None else earlier.record, treatments)
    return {name: list(plans.values()) for name, plans in statements.items()}


def findings(records: Sequence[TrialRecord], treatments: Sequence[Treatment]) -> Iterator[Finding]:
    """Statements whose plan is not the same in all treatments."""
    labels = {treatment.id: treatment.label for treatment in treatments}
    position = {treatment.id: index for index, treatment in enumerate(treatments)}
    for name, of_statement in by_statement(records).items():
        if len(of_statement) < 2:
            continue
        plans = sorted(of_statement, key=lambda plan: min(position.get(id_, 0) for id_ in plan.treatments))
        described: list[Message] = [
            PLAN_OF(shape=plan.summary(plans), treatments=[labels.get(id_, id_) for id_ in plan.treatments])
            for plan in plans
        ]
        evidence = tuple(treatment for plan in plans for treatment in plan.treatments)
        yield PLAN_DIFFERS.finding(evidence, statement=name, plans=described)
