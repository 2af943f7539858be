"""Message codes of tool_runner; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Count, ForeignText, Message, MessageCode

ENDED_SIGNAL = MessageCode("ended.signal", signal=str)
TOOL_NOT_RUN = MessageCode("tool.not-run", program=str, said=ForeignText)
TOOL_PRINTED_TOO_MUCH = MessageCode("tool.printed-too-much", program=str)
TOOL_STOPPED = MessageCode("tool.stopped")
TOOL_NO_THROUGHPUT = MessageCode("tool.no-throughput", program=str, setting=str)
TOOL_UNREADABLE = MessageCode("tool.unreadable", program=str, why=Message)
TOOL_NO_FIGURE = MessageCode("tool.no-figure", count=Count, program=str)
TOOL_METRIC_MISSING = MessageCode("tool.figure-not-found", name=str, why=Message)
TOOL_FILE_TOO_LARGE = MessageCode("tool.file-too-large", path=str)
TOOL_NO_FILE = MessageCode("tool.no-file", path=str, place=str, said=ForeignText)
TOOL_NO_DIRECTORY = MessageCode("tool.no-directory", path=str, said=ForeignText)
TOOL_NO_VALUE = MessageCode("tool.no-value", place=str)
TOOL_FAILED = MessageCode("tool.failed", how=str, program=str, said=ForeignText)
TOOL_MISSING = MessageCode("tool.missing", program=str)
TOOL_BACKGROUND = MessageCode("tool.beside", program=str)
TOOL_MISSING_PACKAGE = MessageCode("tool.missing-package", package=str, program=str)
TOOL_MISSING_ELSEWHERE = MessageCode("tool.missing-elsewhere", how=str, program=str)
TOOL_PASSWORD_IN_SIGHT = MessageCode("tool.password-in-sight", program=str, reads=str)
TOOL_ITS_ENVIRONMENT = MessageCode("tool.its-environment")
