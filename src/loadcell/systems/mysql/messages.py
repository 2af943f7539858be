"""Message codes of mysql; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Bytes, ForeignText, Message, MessageCode

MYSQL_NO_PROGRAMS = MessageCode("mysql.no-programs", install=str, path=str)
MYSQL_MISSING = MessageCode("mysql.missing", places=list)
MYSQL_URL = MessageCode("mysql.url")
MYSQL_URL_PARAMETERS = MessageCode("mysql.url-parameters")
MYSQL_TLS = MessageCode("mysql.tls", said=ForeignText, where=str)
MYSQL_NOT_ALLOWED = MessageCode("mysql.not-allowed", doing=Message, said=ForeignText)
MYSQL_FOREIGN_TABLES = MessageCode("mysql.foreign-tables", name=str, tables=list, where=str)
MYSQL_NO_MEMORY = MessageCode("mysql.no-memory", said=ForeignText)
MYSQL_NO_MEMORY_FOR = MessageCode("mysql.no-memory-for", said=ForeignText, size=str)
MYSQL_NO_RIGHTS = MessageCode("mysql.no-rights", said=ForeignText, user=str)
MYSQL_REFUSED_PASSWORD = MessageCode(
    "mysql.refused-password", said=ForeignText, user=str, variable=str, where=str
)
MYSQL_BLOCKED_HOST = MessageCode("mysql.blocked-host", said=ForeignText, where=str)
MYSQL_UNKNOWN_HOST = MessageCode("mysql.unknown-host", said=ForeignText, where=str)
MYSQL_NONE_LEFT_FOR_USER = MessageCode("mysql.none-left-for-user", said=ForeignText, user=str, where=str)
MYSQL_USER_LIMITS = MessageCode("mysql.user-limits", said=ForeignText, user=str, where=str)
MYSQL_REFUSED_USER = MessageCode("mysql.refused-user", said=ForeignText, user=str, where=str)
MYSQL_WANTS_TLS = MessageCode("mysql.wants-tls", said=ForeignText, where=str)
MYSQL_NO_SOCKET = MessageCode("mysql.no-socket", said=ForeignText, where=str)
MYSQL_HOST = MessageCode("mysql.host", said=ForeignText, where=str)
MYSQL_ENCRYPTED_PASSWORD = MessageCode("mysql.encrypted-password", said=ForeignText, where=str)
DOING_ASK_FOR_THE_BUFFER_POOL = MessageCode("doing.ask-for-the-buffer-pool")
DOING_MAKE_ROOM_FOR_A_COPY = MessageCode("doing.make-room-for-a-copy")
MYSQL_TOO_FEW_CONNECTIONS = MessageCode("mysql.too-few-connections", "caution", allowed=str, clients=str)
MYSQL_BUFFER_POOL_TOO_LARGE = MessageCode(
    "mysql.buffer-pool-too-large", "caution", memory_bytes=Bytes, wanted_bytes=Bytes
)
MYSQL_LATE_COMMITS = MessageCode("mysql.late-commits", "caution", name=str, value=str)
MYSQL_NO_DOUBLEWRITE = MessageCode("mysql.no-doublewrite", "caution", name=str, value=str)
MYSQL_NO_SYNC = MessageCode("mysql.no-sync", "caution", name=str, value=str)
