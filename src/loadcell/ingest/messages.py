"""Message codes of ingest; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Count, ForeignText, Message, MessageCode

OUTPUT_JSON = MessageCode("output.json", how=str, key=str, trouble=Message)
OUTPUT_JSON_NONE = MessageCode("output.json.none", key=str)
OUTPUT_JSON_CUT_OFF = MessageCode("output.json.cut-off", begin=str, line=str)
OUTPUT_JSON_BROKEN = MessageCode("output.json.broken", begin=str, line=str, said=ForeignText)
OUTPUT_JSON_TOO_LONG = MessageCode("output.json.too-long", limit_mib=Count)
FIGURE_NOTHING = MessageCode("figure.nothing", sought=Message)
FIGURE_NO_NUMBER = MessageCode("figure.no-number", found=str, sought=Message)
FIGURE_PATTERN = MessageCode("figure.pattern", text=str)
FIGURE_JSON = MessageCode("figure.json", text=str)
FIGURE_CSV = MessageCode("figure.csv", text=str)
