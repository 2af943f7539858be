"""Messages of the pytest plugin."""

from __future__ import annotations

from loadcell.model.message import Count, ForeignText, Labels, MessageCode, Share
from loadcell.plan.workload import declare_unit
from loadcell.pytest_plugin import options

#: What throughput counts.
CALL = declare_unit("call")

OPTION_VALUE = MessageCode("pytest.option-value", option=str, value=str, example=str)
FAIL_WITHOUT_COMPARE = MessageCode("pytest.fail-without-compare")
NO_TESTS = MessageCode("pytest.no-tests", "info")
UNUSED = MessageCode("pytest.unused", "info", options=list)
XDIST = MessageCode("pytest.xdist", "caution")
SETUP_ITERATIONS = MessageCode("pytest.setup-iterations")
USED_TWICE = MessageCode("pytest.used-twice")
COUNT_TOO_SMALL = MessageCode("pytest.count-too-small", name=str, least=str, value=str)
TEST_FAILED = MessageCode("pytest.test-failed", output=ForeignText)
PROGRESS = MessageCode("pytest.progress", "info", tests=Count, repeats=Count, seed=str)
RUN_STARTED = MessageCode("pytest.run-started", "info", number=Count, runs=Count)
RUN_FAILED = MessageCode("pytest.run-failed", number=Count, status=str, output=ForeignText)
THREADS = MessageCode("pytest.threads", "caution", test=str, count=Count)
DIRECTORY = MessageCode("pytest.directory", "caution", test=str)
REPEAT_FAILED = MessageCode("pytest.repeat-failed", test=str, count=Count, repeats=Count, output=ForeignText)
MORE_REMARKS = MessageCode("pytest.more-remarks", "info", count=Count)
RUN_PATH = MessageCode("pytest.run-path", "info", path=str)
GATE_SLOWER = MessageCode("pytest.gate-slower", baseline=str, least_share=Share)
GATE_UNDECIDED = MessageCode("pytest.gate-undecided", baseline=str)
#: Help of the options.
OPTION_TEXTS = Labels(
    "pytest.option",
    {(option.meaning or options.NO_EFFECT).removeprefix("pytest.option.") for option in options.ALL},
)
