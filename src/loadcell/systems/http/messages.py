"""Message codes of http; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import ForeignText, MessageCode, Seconds

SERVICE_HOST = MessageCode("service.host", host=str, said=ForeignText)
SERVICE_TIMEOUT = MessageCode("service.timeout", limit_s=Seconds, where=str)
SERVICE_REFUSED = MessageCode("service.refused", said=ForeignText, where=str)
HTTP_NO_DATA = MessageCode("http.no-data")
