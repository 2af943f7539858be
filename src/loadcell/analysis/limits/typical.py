"""Evidence for a candidate over the trials of a treatment: medians, as in tables of resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median, median_low

from loadcell.analysis.limits.candidate import Sign
from loadcell.model.message import Message


def typical(signs: Sequence[Sign], chosen: Sequence[Sign] = ()) -> Sign:
    """The sign of one candidate in the median trial by strength, of the `chosen` ones if there are any. Its
    evidence has medians over all trials.

    Argument names of a candidate have one meaning in all of its evidence. Names from outside (a thread, a
    disk) are those of the median trial; values are of trials with the same ones.
    """
    ordered = sorted(chosen or signs, key=lambda sign: sign.strength)
    middle = ordered[len(ordered) // 2]
    same = [sign.evidence for sign in signs if _is_of(sign.evidence, middle.evidence)]
    return replace(middle, evidence=_medians(middle.evidence, same))


def _medians(message: Message, evidence: Sequence[Message]) -> Message:
    """The message with the medians of its numbers, also of those in its parts."""
    arguments = {name: _median(name, value, evidence) for name, value in message.arguments.items()}
    return replace(message, arguments=arguments)


def _is_of(evidence: Message, middle: Message) -> bool:
    """True if both name the same thread, disk or wait, as far as they name any."""
    return all(
        evidence.arguments.get(name, value) == value
        for name, value in middle.arguments.items()
        if isinstance(value, str)
    )


def _median(name: str, value: object, evidence: Sequence[Message]) -> object:
    if isinstance(value, Message):
        parts = [part for item in evidence if isinstance(part := item.arguments.get(name), Message)]
        return _medians(value, parts)
    values = [other for item in evidence if isinstance(other := item.arguments.get(name), int | float)]
    if not values or not isinstance(value, int | float):
        return value
    return median_low(values) if isinstance(value, int) else median(values)
