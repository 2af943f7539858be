"""Message codes of cli; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Count, MessageCode

RUN_NONE_IN = MessageCode("run.none-in", results=str)
TRIAL_NO_SUCH = MessageCode("trial.no-such", count=Count, trial=str)
TRIAL_AMBIGUOUS = MessageCode("trial.ambiguous", count=Count, matches=str, trial=str)
TRIAL_NOT_FINISHED = MessageCode("trial.not-finished", resume=str, trial=str)
