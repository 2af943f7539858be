"""The machine itself: a plan to start with."""

from __future__ import annotations

from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import load, plan
from loadcell.model.message import MessageCode

HOST_START_TITLE = MessageCode("draft-host.title", "info")
HOST_START_PROBES = MessageCode("draft-host.probes", "info")
HOST_START_TOOL = MessageCode("draft-host.tool", "info")


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    workload = Section()
    workload.put("probe", Section(cpu={}), HOST_START_PROBES())
    workload.put("tool", {"sysbench": "cpu run"}, HOST_START_TOOL(), active=False)
    settings = load({"clients": 1, "warmup": "1s", "duration": "5s"}, open_loop=False)
    return Draft(plan(HOST_START_TITLE(), Section(host={}), workload, settings, levels=(1, 2)))


DRAFT = Source(_draft, ("host",))
