"""Redis and what speaks its protocol: a plan to start with."""

from __future__ import annotations

from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import DRAFT_EXISTING, load, plan
from loadcell.model.message import MessageCode

REDIS_START_TITLE = MessageCode("draft-redis.title", "info")
REDIS_START_SERVER = MessageCode("draft-redis.server", "info")
REDIS_START_WORKLOAD = MessageCode("draft-redis.workload", "info")


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    target, workload = Section(), Section()
    options = Section(server="local", settings={"save": ""})
    target.put("redis", options, REDIS_START_SERVER())
    external = {"server": "external", "host": "127.0.0.1", "port": 6379}
    target.put("redis", external, DRAFT_EXISTING(), active=False)
    kv = Section(reads="80%", keys=100_000, value_size="100B")
    kv.put("commands", {"push": {"command": "LPUSH list ${value}", "share": 1}}, active=False)
    workload.put("kv", kv, REDIS_START_WORKLOAD())
    return Draft(plan(REDIS_START_TITLE(), target, workload, load({})))


DRAFT = Source(_draft, ("redis", "valkey"))
