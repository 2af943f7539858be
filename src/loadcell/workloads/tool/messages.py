"""Message codes of tool; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import MessageCode

TOOL_NO_DATABASE = MessageCode("tool.no-database", target=str)
TOOL_LOAD_OPTION = MessageCode("tool.own-load", tool=str)
TOOL_NO_REQUESTS_PER_CLIENT = MessageCode("tool.no-requests-per-client")
TOOL_NO_REQUESTS = MessageCode("tool.no-requests", place=str, tool=str)
TOOL_NO_CLIENTS = MessageCode("tool.no-clients", clients=str, place=str, tool=str)
TOOL_NO_DURATION = MessageCode("tool.no-duration", "caution", place=str)
TOOL_INTEGER_SECONDS = MessageCode("tool.whole-seconds", time=str, tool=str)
TOOL_NO_PLACEHOLDER = MessageCode("tool.no-placeholder", place=str, target=str, available=str)
