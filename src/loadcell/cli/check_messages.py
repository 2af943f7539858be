"""Message codes of the page that `loadcell check` prints; their texts are in `messages-check.toml`."""

from __future__ import annotations

from loadcell.model.message import Count, Message, MessageCode, Seconds

FACTORS = MessageCode("check-page.factors", "info")
SEARCH = MessageCode("check-page.search", "info")
ORDER = MessageCode("check-page.order", "info")
TIME = MessageCode("check-page.time", "info")
EXPECT = MessageCode("check-page.expect", "info")
TREATMENTS = MessageCode("check-page.treatments", "info", count=Count)
MORE_FACTORS = MessageCode("check-page.more-factors", "info", count=Count)
VALID = MessageCode("check-page.valid", "good", run=str)

OPEN_LOOP = MessageCode("check-page.open-loop", "info")
NONE = MessageCode("check-page.none", "info")
AS_BY_DEFAULT = MessageCode("check-page.as-by-default", "info")
PROFILE = MessageCode("check-page.profile", "info", options=str)
PLACEMENT = MessageCode("check-page.placement", "info", placement=str, position=Message)
CLIENTS = MessageCode("check-page.clients", "info", count=Count)
SHARE = MessageCode("check-page.share", "info", load=Message, weight=str)
OFFERED = MessageCode("check-page.offered", "info", rate=Message, connections=Count, requests=Count)
OFFERED_POISSON = MessageCode(
    "check-page.offered-poisson", "info", rate=Message, connections=Count, requests=Count
)
CROSSED = MessageCode("check-page.crossed", "info", factor=str)
LEVELS = MessageCode("check-page.levels", "info", count=Count, levels=list)

ORDER_AS_WRITTEN = MessageCode("check-page.order-as-written", "info", repeats=Count)
ORDER_DRAWN = MessageCode("check-page.order-drawn", "info", repeats=Count)
ORDER_SEEDED = MessageCode("check-page.order-seeded", "info", repeats=Count, seed=str)

GOAL = MessageCode("check-page.goal", "info", factor=str, levels=Message, objective=str)
GOAL_EACH = MessageCode(
    "check-page.goal-each", "info", factor=str, count=Count, levels=Message, objective=str
)
GOAL_BOUNDED = MessageCode("check-page.goal-bounded", "info", goal=Message, bounds=list)
RATE_SUSTAINED = MessageCode("check-page.rate-sustained", "info")
SEARCH_MAXIMUM = MessageCode("check-page.search-maximum", "info", goal=Message, trials=Count, repeats=Count)
SEARCH_HIGHEST = MessageCode("check-page.search-highest", "info", goal=Message, trials=Count, repeats=Count)

TIME_TIMED = MessageCode("check-page.time-timed", "info", trials=Count, load_s=Seconds, expected_s=Seconds)
TIME_COUNTED = MessageCode("check-page.time-counted", "info", trials=Count, expected_s=Seconds)
TIME_SEARCH = MessageCode(
    "check-page.time-search", "info", trials=Count, load_s=Seconds, expected_s=Seconds, at_most=Count
)
TIME_PROFILED = MessageCode("check-page.time-profiled", "info", time=Message, profile_s=Seconds, count=Count)
CONSENT = MessageCode("check-page.consent", "caution")

REMARK = MessageCode("check-page.remark", "caution", path=str, treatment=str)
REMARK_MORE = MessageCode("check-page.remark-more", "caution", path=str, treatment=str, count=Count)
