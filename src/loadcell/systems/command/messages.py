"""Message codes of command; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import ForeignText, Message, MessageCode, Seconds

VALGRIND_MISSING = MessageCode("valgrind.missing")
VALGRIND_UNREADABLE = MessageCode("valgrind.unreadable", said=ForeignText)
COMMAND_PLACE_TAKEN = MessageCode("command.place-taken", address=str, port=str)
COMMAND_NO_DIRECTORY = MessageCode("command.no-directory", path=str)
COMMAND_NO_PROGRAM = MessageCode("command.no-program", program=str)
COMMAND_NOT_READY = MessageCode("command.not-ready", limit_s=Seconds, program=str, why=Message)
COMMAND_NO_DATA = MessageCode("command.no-data")
COMMAND_ENDED = MessageCode("command.ended", how=str, program=str, said=ForeignText)
READY_NO_LINE = MessageCode("ready.no-line")
READY_NO_ANSWER = MessageCode("ready.no-answer", said=ForeignText, url=str)
READY_STATUS = MessageCode("ready.status", status=str, url=str)
ENDED_BY = MessageCode("ended.by", signal=str)
