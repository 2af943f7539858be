"""Message codes of report; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.analysis.finding import FindingCode, Subject
from loadcell.model.message import Change, Count, ForeignText, MessageCode, Rate, Seconds, Share

OUT_NOT_HTML = MessageCode("out.not-html", path=str)
RESULTS_NO_DIRECTORY = MessageCode("results.no-directory", path=str)
HOSTS_NOTHING_IN_COMMON = MessageCode("hosts.nothing-in-common", first=str, second=str)
HOSTS_NO_BASELINE = MessageCode("hosts.no-baseline", path=str, workload=str)
HOSTS_SAME = MessageCode("hosts.same", first=str, second=str)
OUT_WRONG_SUFFIX = MessageCode("out.wrong-suffix", path=str, suffix=str)
HISTORY_NO_RUNS = MessageCode("history.no-runs", name=str, results=str)
HISTORY_NO_RUNS_NEAR = MessageCode("history.no-runs-near", name=str, results=str, near=str, plans=list)
HISTORY_NO_RUNS_LISTED = MessageCode("history.no-runs-listed", name=str, results=str, plans=list)
HOSTS_UNREADABLE = MessageCode("hosts.unreadable", path=str, said=ForeignText)
HOSTS_NO_JSON = MessageCode("hosts.no-json", path=str)
HOSTS_NO_MACHINE = MessageCode("hosts.no-machine", path=str)
HOSTS_BAD_SCORES = MessageCode("hosts.bad-scores", path=str, said=ForeignText)

#: In place of a value that is not there.
NO_VALUE = MessageCode("mark.none", "info")()

DONE_FACTORS = FindingCode(
    "done.factors", Subject.DONE, "info", count=Count, factors=list, repeats=Count, trials=Count
)
DONE_FACTORS_ONCE = FindingCode("done.factors.once", Subject.DONE, "info", count=Count, factors=list)
DONE_ONE = FindingCode("done.one", Subject.DONE, "info", repeats=Count)
DONE_ONE_ONCE = FindingCode("done.one.once", Subject.DONE, "info")()
DONE_SEARCH = FindingCode(
    "done.search",
    Subject.DONE,
    "info",
    factor=str,
    low=str,
    high=str,
    levels=Count,
    objective=str,
    trials=Count,
)
DONE_COUNT = FindingCode("done.count", Subject.DONE, "info", count=Count)
DONE_COUNT_PER_CLIENT = FindingCode("done.count.per-client", Subject.DONE, "info", count=Count)
DONE_LENGTHS = FindingCode("done.lengths", Subject.DONE, "info", duration_s=Seconds, warmup_s=Seconds)
DONE_LENGTH = FindingCode("done.length", Subject.DONE, "info", duration_s=Seconds)
DONE_TOOK = FindingCode("done.took", Subject.DONE, "info", elapsed_s=Seconds)
DONE_IMPORTED_LASTED = FindingCode("done.imported.lasted", Subject.DONE, "info", duration_s=Seconds)

PROFILE_FAILED = MessageCode("found.profile.failed", "caution", treatment=str, reason=str, advice=str)
PROFILE_NOTHING = MessageCode("found.profile.nothing", "caution", treatment=str)
PROFILE_TAKEN = MessageCode(
    "found.profile.taken",
    "info",
    treatment=str,
    samples=Count,
    event=str,
    frequency=Count,
    duration_s=Seconds,
    half_points=str,
)
PROFILE_COST = MessageCode(
    "found.profile.cost", "info", throughput_per_s=Rate, scored_per_s=Rate, change=Change
)
PROFILE_IN_CLIENT = MessageCode("found.profile.in-client", "info")()
PROFILE_FEW = MessageCode("found.profile.few", "caution", treatment=str, samples=Count)
PROFILE_UNRESOLVED = MessageCode("found.profile.unresolved", "caution", treatment=str, unresolved_share=Share)

HOST_NOTHING_NOTICED = MessageCode("host-found.none", "good")()
RUN_ON_OTHER_HOST = MessageCode("hosts.follows.elsewhere", workload=str, host=str, label=str)
BASELINE_MISSING = MessageCode("hosts.found.missing", count=Count, of=Count, run=str)
BASELINE_INCOMPLETE = MessageCode("hosts.found.incomplete", count=Count, of=Count)
BASELINE_FAILED = MessageCode("hosts.found.why", names=list, reason=str, advice=str)
BASELINE_FAILED_BARE = MessageCode("hosts.found.why.bare", names=list, reason=str)
BASELINE_WITHOUT_SCORE = MessageCode("hosts.found.no-figure", count=Count, names=list)
BASELINE_WITHOUT_SCORE_MANY = MessageCode("hosts.found.no-figure.many", count=Count, names=list)
BASELINE_WIDE = MessageCode(
    "hosts.found.wide", "caution", count=Count, wide_share=Share, worst=str, most_share=Share
)
