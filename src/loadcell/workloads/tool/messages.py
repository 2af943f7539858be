"""Message codes of tool; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Count, ForeignText, MessageCode

TOOL_NO_DATABASE = MessageCode("tool.no-database", target=str)
TOOL_LOAD_OPTION = MessageCode("tool.own-load", tool=str)
TOOL_NO_REQUESTS_PER_CLIENT = MessageCode("tool.no-requests-per-client")
TOOL_NO_REQUESTS = MessageCode("tool.no-requests", place=str, tool=str)
TOOL_NO_CLIENTS = MessageCode("tool.no-clients", clients=str, place=str, tool=str)
TOOL_NO_DURATION = MessageCode("tool.no-duration", "caution", place=str)
TOOL_INTEGER_SECONDS = MessageCode("tool.whole-seconds", time=str, tool=str)
TOOL_NO_PLACEHOLDER = MessageCode("tool.no-placeholder", place=str, target=str, available=list)
TOOL_UNKNOWN_PLACEHOLDER = MessageCode("tool.unknown-placeholder", name=str, names=list)
TOOL_NOT_SPLIT = MessageCode("tool.not-split", reason=ForeignText)
TOOL_SECRET_ARGUMENT = MessageCode("tool.secret-argument", example=str)
TOOL_EMPTY_COMMAND = MessageCode("tool.empty-command")
TOOL_MISSING_FILE = MessageCode("tool.missing-file", path=str)
TOOL_MISSING_JOB_FILE = MessageCode("tool.missing-job-file", path=str)
TOOL_MISSING_PROGRAM = MessageCode("tool.missing-program", path=str)
TOOL_NOT_EXECUTABLE = MessageCode("tool.not-executable", path=str)
TOOL_VARIABLE_NAME = MessageCode("tool.variable-name", name=str)
TOOL_FIGURE_NAME = MessageCode("tool.figure-name", name=str, names=list)
TOOL_SEVERAL = MessageCode("tool.several", count=Count, names=list, tools=list)
TOOL_NONE = MessageCode("tool.none", tools=list)
TOOL_PROGRAM_OF_COMMAND = MessageCode("tool.program-of-command")
TOOL_READ_AS_OF_TOOL = MessageCode("tool.read-as-of-tool")
FIGURE_NO_SOURCE = MessageCode("figure-source.missing")
FIGURE_PATTERN = MessageCode("figure-source.pattern", reason=ForeignText)
FIGURE_NO_GROUP = MessageCode("figure-source.no-group")
