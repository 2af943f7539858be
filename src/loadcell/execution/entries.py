"""Trials and treatments as run.json lists them."""

from __future__ import annotations

from loadcell.design.order import Trial
from loadcell.model.run_record import PlannedTrial, TreatmentRecord
from loadcell.plan.treatment import Treatment


def trial_entry(trial: Trial) -> PlannedTrial:
    """Trial as run.json lists it."""
    return PlannedTrial(
        trial.number,
        trial.name,
        trial.treatment.id,
        trial.repeat,
        trial.block,
        arm=trial.arm or None,
        role=trial.role or None,
    )


def treatment_entry(treatment: Treatment) -> TreatmentRecord:
    """Treatment as run.json lists it."""
    return TreatmentRecord(
        treatment.id, treatment.levels, dict(treatment.values), treatment.resolved.document()
    )
