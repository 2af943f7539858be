"""Message codes of report; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import ForeignText, MessageCode

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
