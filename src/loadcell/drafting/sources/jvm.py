"""A service on the JVM that loadcell starts: a plan to start with."""

from __future__ import annotations

from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import load, plan
from loadcell.model.message import MessageCode

JVM_START_TITLE = MessageCode("draft-jvm.title", "info")
JVM_START_JAR = MessageCode("draft-jvm.jar", "info", place=str)
JVM_START_MEMORY = MessageCode("draft-jvm.memory", "info")


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    service = Section()
    service.put("jar", "service.jar", JVM_START_JAR(place="{port}"))
    service.put("arguments", "--server.port={port}")
    service.put("url", "http://127.0.0.1:{port}")
    service.put("ready", {"within": "60s"})
    service.put("heap", "1GiB", JVM_START_MEMORY())
    service.put("collector", "G1")
    service.put("flags", {"MaxGCPauseMillis": 50}, active=False)
    request = Section(path="/")
    request.put("check", {"status": 200}, active=False)
    target = Section(jvm=service)
    return Draft(plan(JVM_START_TITLE(), target, Section(http=request), load({})))


DRAFT = Source(_draft, ("jvm",))
