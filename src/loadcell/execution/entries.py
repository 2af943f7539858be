"""Trials and treatments as run.json lists them."""

from __future__ import annotations

from typing import Any

from loadcell.design.order import Trial
from loadcell.plan.treatment import Treatment


def trial_entry(trial: Trial) -> dict[str, Any]:
    """A trial as run.json lists it."""
    return {
        "number": trial.number,
        "name": trial.name,
        "treatment": trial.treatment.id,
        "repeat": trial.repeat,
        "block": trial.block,
        **({"arm": trial.arm} if trial.arm else {}),
        **({"role": trial.role} if trial.role else {}),
    }


def treatment_entry(treatment: Treatment) -> dict[str, Any]:
    """A treatment as run.json lists it."""
    return {
        "id": treatment.id,
        "levels": dict(treatment.levels),
        "values": dict(treatment.values),
        "settings": treatment.resolved.document(),
    }
