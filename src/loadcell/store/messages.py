"""Message codes of store; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Count, ForeignText, MessageCode

DAMAGED = MessageCode("damaged", file=str, found=str, left=str)
DAMAGED_UNREADABLE = MessageCode("damaged.unreadable", said=ForeignText)
DAMAGED_CUT = MessageCode("damaged.cut", size=str)
DAMAGED_CUT_OFF = MessageCode("damaged.cut-off", size=str, whole=str)
DAMAGED_LINE = MessageCode("damaged.line", line=str)
DAMAGED_CSV = MessageCode("damaged.csv")
DAMAGED_MISSING = MessageCode("damaged.missing")
DAMAGED_JSON = MessageCode("damaged.json")
DAMAGED_OBJECT = MessageCode("damaged.object")
DAMAGED_NO_NAME = MessageCode("damaged.no-name")
LEFT_WITHOUT = MessageCode("left.without")
LEFT_LINES = MessageCode("left.lines", count=Count)
LEFT_OTHER_LINES = MessageCode("left.other-lines")
LEFT_NO_ENVIRONMENT = MessageCode("left.no-environment")
LEFT_NOT_FINISHED = MessageCode("left.not-finished")
