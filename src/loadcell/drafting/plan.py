"""The order of a drafted plan: what is measured, the load, what is varied, repeats and expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loadcell.drafting.document import Section, Value
from loadcell.model.message import Message, MessageCode

DRAFT_FACTORS = MessageCode("draft.factors", "info")
DRAFT_FACTORS_OFF = MessageCode("draft.factors-off", "info")
DRAFT_REPEATS = MessageCode("draft.repeats", "info")
DRAFT_WARMUP = MessageCode("draft.warmup", "info")
DRAFT_RATE = MessageCode("draft.rate", "info")
DRAFT_EXISTING = MessageCode("draft.existing", "info")

#: Clients of a draft whose source gives no number: few, as the target may be somebody's server.
CLIENTS = 4
_LEVELS = (1, 4, 16)
WARMUP, DURATION = "5s", "30s"


def load(settings_of_source: Mapping[str, Value], *, open_loop: bool = True) -> Section:
    """The section `load`: settings of the source, and those that it leaves open.

    `open_loop`: a rate is shown as an alternative to clients that wait for answers.
    """
    section = Section()
    settings: dict[str, Value] = dict(settings_of_source)
    settings.setdefault("clients", CLIENTS)
    settings.setdefault("warmup", WARMUP)
    if "requests" not in settings and "requests_per_client" not in settings:
        settings.setdefault("duration", DURATION)
    for key, value in settings.items():
        is_new = key == "warmup" and key not in settings_of_source
        section.put(key, value, *([DRAFT_WARMUP()] if is_new else []))
    if open_loop and "rate" not in settings and "requests_per_client" not in settings:
        section.put("rate", "200/s", DRAFT_RATE(), active=False)
    return section


def plan(
    title: Message | str,
    target: Section,
    workload: Section,
    load: Section,
    *,
    factors: Section | None = None,
    levels: Sequence[int] | None = _LEVELS,
    expect: Sequence[str] = ("errors == 0",),
) -> Section:
    """A whole plan. Without `factors`, clients are varied; without `levels` that is commented out."""
    section = Section(title=title, target=target, workload=workload, load=load)
    if factors is not None:
        section.put("factors", factors)
    elif levels is not None:
        section.put("factors", {"load.clients": list(levels)}, DRAFT_FACTORS())
    else:
        section.put("factors", {"load.clients": list(_LEVELS)}, DRAFT_FACTORS_OFF(), active=False)
    section.put("repeats", 3, DRAFT_REPEATS())
    if expect:
        section.put("expect", list(expect))
    return section
