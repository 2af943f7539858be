"""A service of HTTP: a plan to start with."""

from __future__ import annotations

from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.http_parts import OutsideTexts, address_of
from loadcell.drafting.plan import load, plan
from loadcell.model.message import MessageCode

HTTP_START_TITLE = MessageCode("draft-http.title", "info", url=str)
HTTP_START_SERVER = MessageCode("draft-http.server", "info")
HTTP_START_WORKLOAD = MessageCode("draft-http.workload", "info")
HTTP_START_NO_URL = MessageCode("draft-http.no-url", example=str)


def _draft(origin: Origin) -> Draft:
    if len(origin.words) != 2:
        raise DraftError(HTTP_START_NO_URL(example="loadcell init http http://127.0.0.1:8080/"))
    texts = OutsideTexts()
    address = address_of(origin.words[1], texts)
    target, workload = Section(), Section()
    target.put("http", Section(url=address.base))
    command = {"command": "./server --port {port}", "url": "http://127.0.0.1:{port}"}
    target.put("command", command, HTTP_START_SERVER(), active=False)
    request = Section(path=address.path)
    request.put("check", {"contains": "<title>"}, active=False)
    workload.put("http", request, HTTP_START_WORKLOAD())
    if address.auth:
        request.put("auth", address.auth)
    if texts.parameters():
        request.put("parameters", texts.parameters())
    section = plan(HTTP_START_TITLE(url=address.base), target, workload, load({}))
    return Draft(section, variables=texts.variables)


DRAFT = Source(_draft, ("http", "https"))
