"""Message codes of comparisons that are refused; their texts are in `messages.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Message, MessageCode

REFUSED = MessageCode("compare.refused", finding=Message, remedy=Message)
REFUSED_DIFFERENCES = MessageCode(
    "compare.refused.differences", differences=str, finding=Message, remedy=Message
)
REFUSED_METRIC = MessageCode("compare.refused.metric", metric=str, metrics=list)
REFUSED_NO_ARMS = MessageCode("compare.refused.no-arms")
REFUSED_LEVEL = MessageCode("compare.refused.level", factor=str, level=str, levels=list)
REFUSED_ONE_LEVEL = MessageCode("compare.refused.one-level", factor=str, level=str)
REFUSED_NOT_ALONE = MessageCode("compare.refused.not-alone", factor=str)
REFUSED_NOTHING_COMMON = MessageCode("compare.refused.nothing-common")
REFUSED_NOTHING_VARIED = MessageCode("compare.refused.nothing-varied")
REFUSED_FACTORS = MessageCode("compare.refused.factors", count=str, factors=list)
REFUSED_FACTOR = MessageCode("compare.refused.factor", allowed=Message, factor=str)
ALLOWED_FACTORS = MessageCode("compare.allowed.factors", factors=list)
ALLOWED_NO_FACTOR = MessageCode("compare.allowed.no-factor")
REFUSED_UNLIKE = MessageCode("compare.refused.unlike", allowed=Message, factor=str)
ALLOWED_LEVELS = MessageCode("compare.allowed.levels", levels=str)
ALLOWED_ANOTHER_RUN = MessageCode("compare.allowed.another-run")
LEVELS_MEASURE = MessageCode("compare.levels-measure", levels=list, quantities=str)
REFUSED_SEVERAL_RUNS = MessageCode("compare.refused.several-runs")
REFUSED_TWICE = MessageCode("compare.refused.twice", run=str)
REFUSED_OTHER_PLAN = MessageCode("compare.refused.other-plan", first=str, other=str)
REFUSED_NOISE = MessageCode("compare.refused.noise", run=str)
MORE_DIFFERENCES = MessageCode("compare.more-differences", count=str)
CHANGED = MessageCode("compare.changed", after=str, before=str, path=str)
CHANGED_WITHIN = MessageCode("compare.changed.within", change=Message, treatments=list)
NOT_SET = MessageCode("compare.unset")
