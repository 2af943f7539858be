"""A service that reads a stream of records: a plan to start with."""

from __future__ import annotations

from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import load, plan
from loadcell.model.message import MessageCode

STREAM_START_TITLE = MessageCode("draft-stream.title", "info")
STREAM_START_FIELDS = MessageCode("draft-stream.fields", "info")
STREAM_START_ANSWERS = MessageCode("draft-stream.answers", "info")


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    target = Section(stream={"url": "tcp://127.0.0.1:9000"})
    records = Section()
    fields = {"id": {"step": 1}, "key": {"from": 0, "to": 9_999}, "amount": {"from": 1, "to": 100_000}}
    records.put("fields", fields, STREAM_START_FIELDS())
    records.put("size", "200B")
    records.put("answers", "count", STREAM_START_ANSWERS(), active=False)
    return Draft(plan(STREAM_START_TITLE(), target, Section(stream=records), load({"clients": 1})))


DRAFT = Source(_draft, ("stream",))
