"""Message codes of redis; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Bytes, Count, ForeignText, Message, MessageCode

REDIS_NO_PROGRAM = MessageCode("redis.no-program", path=str)
REDIS_MISSING = MessageCode("redis.missing", places=list, servers=list)
REDIS_NO_VERSION = MessageCode("redis.no-version", program=str)
REDIS_NO_MEMORY = MessageCode("redis.no-memory", said=ForeignText)
REDIS_NO_CONNECTION_LEFT = MessageCode("redis.no-connection-left", said=ForeignText, where=str)
REDIS_NO_PASSWORD = MessageCode("redis.no-password", said=ForeignText, where=str)
REDIS_NO_DATABASE = MessageCode("redis.no-database", said=ForeignText, where=str)
REDIS_TLS = MessageCode("redis.tls", said=ForeignText, where=str)
REDIS_NO_REDIS = MessageCode("redis.no-redis", said=ForeignText, where=str)
REDIS_HOST = MessageCode("redis.host", said=ForeignText, where=str)
REDIS_TIMEOUT = MessageCode("redis.timeout", where=str)
REDIS_CONNECTION_FAILED = MessageCode("redis.connection-failed", said=ForeignText, where=str)
REDIS_FOREIGN_MARK = MessageCode("redis.foreign-mark", where=str)
REDIS_FOREIGN_KEYS = MessageCode("redis.foreign-keys", database=str, key=str, prefix=str, where=str)
REDIS_CLUSTER = MessageCode("redis.cluster", count=Count, where=str)
REDIS_SETTING_UNKNOWN = MessageCode("redis.setting-unknown", line=str, said=ForeignText)
REDIS_WANTS_PASSWORD = MessageCode("redis.wants-password", said=ForeignText, variable=str, where=str)
REDIS_REFUSED_USER = MessageCode("redis.refused-user", said=ForeignText, user=str, variable=str, where=str)
REDIS_NO_RIGHTS = MessageCode("redis.no-rights", said=ForeignText, user=str)
REDIS_LOADING = MessageCode("redis.loading", said=ForeignText, where=str)
REDIS_CANNOT_SAVE = MessageCode("redis.cannot-save", said=ForeignText, where=str)
REDIS_REPLICA = MessageCode("redis.replica", said=ForeignText, where=str)
REDIS_REPLICA_ALONE = MessageCode("redis.replica-alone", said=ForeignText, where=str)
REDIS_MAXMEMORY = MessageCode("redis.maxmemory", said=ForeignText, where=str)
REDIS_CLUSTER_NODE = MessageCode("redis.cluster-node", said=ForeignText, where=str)
SERVER_REFUSED = MessageCode("server.refused", doing=Message, said=ForeignText)
SERVER_CANNOT = MessageCode("server.cannot", doing=Message, why=Message)
DOING_ASK_WHAT_IT_IS = MessageCode("doing.ask-what-it-is")
WHERE_SERVER = MessageCode("where.server")
USER_DEFAULT = MessageCode("user.default")
REDIS_TOO_FEW_CONNECTIONS = MessageCode(
    "redis.too-few-connections", "caution", allowed=str, clients=str, needed=str
)
REDIS_TOO_FEW_DESCRIPTORS = MessageCode(
    "redis.too-few-descriptors", "caution", clients=str, most=str, needed=str
)
REDIS_SNAPSHOTS = MessageCode("redis.snapshots", "caution")
REDIS_NO_FSYNC = MessageCode("redis.no-fsync", "caution")
REDIS_HUGE_PAGES = MessageCode("redis.huge-pages", "caution")
REDIS_MAXMEMORY_TOO_LARGE = MessageCode(
    "redis.maxmemory-too-large", "caution", memory_bytes=Bytes, wanted_bytes=Bytes
)
REDIS_NO_EVICTION = MessageCode("redis.no-eviction", "caution")
REDIS_NO_LOCATION = MessageCode("redis.no-location")
REDIS_SOCKET_AND_HOST = MessageCode("redis.socket-and-host")
REDIS_USER_ALONE = MessageCode("redis.user-alone", example=str)
REDIS_NO_TLS = MessageCode("redis.no-tls")
