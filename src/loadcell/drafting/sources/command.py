"""A service that loadcell starts by a command: a plan to start with."""

from __future__ import annotations

from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import load, plan
from loadcell.model.message import MessageCode

COMMAND_START_TITLE = MessageCode("draft-service.title", "info")
COMMAND_START_SERVER = MessageCode("draft-service.server", "info", place=str)


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    target = Section()
    service = Section(command="python3 -m http.server --bind 127.0.0.1 {port}", url="http://127.0.0.1:{port}")
    target.put("command", service, COMMAND_START_SERVER(place="{port}"))
    request = Section(path="/")
    request.put("check", {"contains": "<title>"}, active=False)
    return Draft(plan(COMMAND_START_TITLE(), target, Section(http=request), load({})))


DRAFT = Source(_draft, ("command",))
