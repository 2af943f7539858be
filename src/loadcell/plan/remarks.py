"""What there is to say about a plan that is valid but may not do what its author hopes."""

from __future__ import annotations

from dataclasses import dataclass

from loadcell.plan import rate
from loadcell.plan.loaded import LoadedPlan
from loadcell.plan.parts import Advice, Parts
from loadcell.plan.treatment import Treatment

#: of more treatments, this many from the first to the last are asked about
_ASKED_AT_MOST = 1_000


@dataclass(frozen=True)
class Remark:
    """One piece of advice, with the first treatment it is about and how many others it is about too."""

    path: str
    text: str
    treatment: str
    others: int


def remarks(plan: LoadedPlan, parts: Parts) -> list[Remark]:
    """The advice on every treatment, of the load and of each part; the same setting is remarked on once, in the last treatment's words.

    The last, because levels mostly rise: what is said of 160 clients covers what would be said of 105.
    """
    found: dict[str, list[tuple[Treatment, Advice]]] = {}
    every = plan.treatments
    step = max(1, len(every) // _ASKED_AT_MOST)
    for treatment in [*every[:-1:step], *every[-1:]]:
        for advice in _advice(treatment, parts):
            found.setdefault(advice.path, []).append((treatment, advice))
    listed = []
    for path, said in found.items():
        treatment, advice = said[-1]
        names = {treatment.id for treatment, _ in said}
        listed.append(Remark(path, advice.text, treatment.id, len(names) - 1))
    return listed


def _advice(treatment: Treatment, parts: Parts) -> list[Advice]:
    settings = treatment.resolved
    target = parts.targets[settings.target_name]
    workload = parts.workloads[settings.workload_name]
    said: list[Advice] = list(rate.advice(settings.load.rate, settings.load.clients, settings.load.duration))
    if hasattr(target, "advice"):
        said += target.advice(settings.target, settings.load.model_dump())
    if hasattr(workload, "advice"):
        section = f"workload.{settings.workload_name}"
        said += [Advice(f"{section}.{own.path}", own.text) for own in workload(settings.workload).advice()]
    if hasattr(workload, "remarks"):
        said += workload(settings.workload).remarks(settings)
    return said
