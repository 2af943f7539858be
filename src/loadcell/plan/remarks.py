"""Remarks on a valid plan that may not do what its author hopes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadcell.model.message import Count, Message, MessageCode
from loadcell.plan import affinity_check, expect_remarks, fault_remarks, rate
from loadcell.plan.affinity import ALL, ONE_NODE
from loadcell.plan.load import LoadedPlan
from loadcell.plan.model import Load, Resolved
from loadcell.plan.parts import Advice, Parts
from loadcell.plan.treatment import Treatment

LOAD_MANY_INTERVALS = MessageCode(
    "load.many-intervals", "caution", duration=str, interval=str, megabytes=Count, rows=Count
)
LOAD_LONG_WARMUP = MessageCode("load.long-warmup", "caution", warmup=str, duration=str)
EXPECT_CONFLICTS = MessageCode("expect.conflicts", "caution", codes=list, expectation=str)
AFFINITY_SAME_PLACE = MessageCode("affinity.same-place", "caution", placements=list, where=Message)

#: of more treatments, this many from the first to the last are asked about
_ASKED_AT_MOST = 1_000
#: two hours of seconds; and what an interval takes in intervals.csv and latency.hlog (measured: two client
#: groups of pgbench with eight statements)
_MANY_INTERVALS = 7_200
_INTERVAL_BYTES = 8_000
#: a warm-up of a minute that is this many times as long as the measurement is more likely a slip of units
_LONG_WARMUP_S, _LONG_WARMUP_TIMES = 60, 5


@dataclass(frozen=True)
class Remark:
    """One piece of advice, with the first treatment it is about and how many others it is about too."""

    path: str
    message: Message
    treatment: str
    others: int

    @property
    def text(self) -> str:
        """The message in English, with its remedy."""
        return ". ".join(part for part in (self.message.text, self.message.advice) if part)


def remarks(plan: LoadedPlan, parts: Parts) -> list[Remark]:
    """The advice on every treatment, of the load and of each part; the same setting is remarked on once, in
    the last treatment's words.

    The last, because levels mostly rise: a remark on 160 clients covers one on 105.
    """
    by_path: dict[tuple[str, str], list[tuple[Treatment, Advice]]] = {}
    every = plan.treatments
    step = max(1, len(every) // _ASKED_AT_MOST)
    for treatment in [*every[:-1:step], *every[-1:]]:
        for advice in _advice(treatment, parts):
            by_path.setdefault((advice.path, advice.subject), []).append((treatment, advice))
    listed = []
    for (path, _), remarks_of_path in by_path.items():
        treatment, advice = remarks_of_path[-1]
        names = {treatment.id for treatment, _ in remarks_of_path}
        listed.append(Remark(path, advice.message, treatment.id, len(names) - 1))
    return [*listed, *_same_places(every, parts)]


def _same_places(every: Sequence[Treatment], parts: Parts) -> Iterator[Remark]:
    """On levels that are different words for one place of this machine."""
    if parts.topology is None:
        return
    for key, places in affinity_check.meanings(
        (treatment.resolved for treatment in every), parts.topology()
    ).items():
        named: dict[str, list[str]] = {}
        for words, meaning in places.items():
            named.setdefault(meaning, []).append(words)
        for meaning, alike in named.items():
            if len(alike) == 1 or set(alike) == {ONE_NODE, ALL}:  # of these two the topology has remarked
                continue
            affected = [
                treatment.id
                for treatment in every
                if treatment.resolved.affinity.placements.get(key) in alike
            ]
            message = AFFINITY_SAME_PLACE(
                placements=[f"`{words}`" for words in alike], where=affinity_check.position(key, meaning)
            )
            yield Remark(f"affinity.{key}", message, affected[-1], len(affected) - 1)


def _advice(treatment: Treatment, parts: Parts) -> list[Advice]:
    settings = treatment.resolved
    target = parts.target(settings.target_name)
    advice: list[Advice] = list(_length(settings.load))
    advice += target.advice(settings.target, settings.load.model_copy(update={"clients": settings.clients}))
    section = f"target.{settings.target_name}"
    for refusal in target.refusals(settings.target, settings.clients):  # of a tool, whose connections differ
        advice.append(Advice(f"{section}.{refusal.path}", refusal.message))
    advice += affinity_check.remarks(settings, parts)
    advice += fault_remarks.remarks(settings, parts)
    advice += expect_remarks.remarks(settings)
    for group in settings.client_groups:
        remarks_of_group = _of_group(settings.alone(group), parts)
        advice += [Advice(group.placed(remark.path), remark.message) for remark in remarks_of_group]
    return advice


def _length(load: Load) -> Iterator[Advice]:
    """Remarks on the size of a long trial's files, and on a warm-up that takes most of a trial."""
    if load.warmup >= _LONG_WARMUP_S and load.warmup > _LONG_WARMUP_TIMES * (load.expected_s or math.inf):
        message = LOAD_LONG_WARMUP(warmup=load.warmup.text, duration=load.duration.text)
        yield Advice("load.warmup", message)
    rows = int((load.expected_s or 0.0) / load.interval)
    if rows > _MANY_INTERVALS:
        yield Advice(
            "load.interval",
            LOAD_MANY_INTERVALS(
                duration=load.duration.text,
                interval=load.interval.text,
                rows=rows,
                megabytes=round(rows * _INTERVAL_BYTES / 1000000.0),
            ),
        )


def _of_group(settings: Resolved, parts: Parts) -> list[Advice]:
    """On a workload and its load, as if it were the only one."""
    workload = parts.workload(settings.workload_name)(settings.workload)
    load = settings.load
    advice: list[Advice] = list(rate.advice(load.rate, load.clients, load.duration, load.count))
    section = f"workload.{settings.workload_name}"
    advice += [Advice(f"{section}.{remark.path}", remark.message) for remark in workload.advice()]
    advice += workload.remarks(settings)
    return [*advice, *_conflicts(settings, parts)]


def _conflicts(settings: Resolved, parts: Parts) -> Iterator[Advice]:
    """Remark on expectations without errors from transactions that conflict with each other."""
    workload = parts.workload(settings.workload_name)(settings.workload)
    codes = workload.unretried(settings.load, parts.target_kind(settings.target_name))
    expectation = next((expectation for expectation in settings.expect if expectation.forbids_errors), None)
    if codes and expectation is not None:
        message = EXPECT_CONFLICTS(expectation=expectation.text, codes=list(codes))
        yield Advice(f"workload.{settings.workload_name}.retry_sqlstates", message)
