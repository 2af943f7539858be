"""An embedded key-value store: a plan to start with."""

from __future__ import annotations

from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import load, plan
from loadcell.model.message import MessageCode

STORE_START_TITLE = MessageCode("draft-store.title", "info")
STORE_START_ENGINES = MessageCode("draft-store.engines", "info")


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    target = Section()
    target.put("store", Section(engine="redb"), STORE_START_ENGINES())
    workload = Section(kv=Section(reads="80%", keys=100_000, value_size="100B"))
    return Draft(plan(STORE_START_TITLE(), target, workload, load({}), levels=(1, 2, 4)))


DRAFT = Source(_draft, ("store",))
