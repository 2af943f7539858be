"""Memory of Python functions over time: files in the directory of a trial."""

from __future__ import annotations

from typing import Final

#: The resident set: `mono_ns`, `rss_bytes`.
CURVE: Final = "python-memory.csv"
#: Steps of the trial and calls of marked functions: `name`, `begin_mono_ns`, `end_mono_ns`, the last empty if
#: the process ended before.
SPANS: Final = "python-spans.csv"
#: Steps, in their order; other names are those of functions (`package.module:function`).
STEPS: Final = ("data", "setup", "warmup", "measure", "result", "teardown")
