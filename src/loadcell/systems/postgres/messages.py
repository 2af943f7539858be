"""Message codes of postgres; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Bytes, ForeignText, Message, MessageCode

POSTGRES_NO_WHEEL = MessageCode("postgres.no-wheel")
POSTGRES_NO_PROGRAMS = MessageCode("postgres.no-programs", path=str)
POSTGRES_MISSING = MessageCode("postgres.missing", places=list)
POSTGRES_NO_VERSION = MessageCode("postgres.no-version", there=list, version=str, where=str)
POSTGRES_NOT_RUNNABLE = MessageCode("postgres.not-runnable", copy=str, program=str, user=str)
POSTGRES_NO_CACHE = MessageCode("postgres.no-cache")
POSTGRES_NOT_COPYABLE = MessageCode("postgres.not-copyable", path=str)
POSTGRES_NOT_COPIED = MessageCode("postgres.not-copied", path=str, said=ForeignText)
POSTGRES_HOME_OF_OTHER_VERSION = MessageCode(
    "postgres.home-of-other-version", found=str, home=str, path=str, version=str
)
POSTGRES_STILL_HELD = MessageCode("postgres.still-held")
POSTGRES_OTHER_VERSION = MessageCode("postgres.other-version", found=str, version=str)
POSTGRES_NO_EXTENSION = MessageCode("postgres.no-extension", libraries=str, said=ForeignText)
POSTGRES_DSN = MessageCode("postgres.dsn")
POSTGRES_CLIENT_CERTIFICATE = MessageCode("postgres.client-certificate", name=str)
POSTGRES_NOT_ALLOWED = MessageCode("postgres.not-allowed", doing=Message, said=ForeignText)
POSTGRES_FOREIGN_DATABASE = MessageCode("postgres.foreign-database", name=str, where=str)
POSTGRES_DATABASE_BEING_MADE = MessageCode("postgres.database-being-made", name=str)
POSTGRES_FOREIGN_SCHEMA = MessageCode("postgres.foreign-schema", database=str)
POSTGRES_FOREIGN_TABLES = MessageCode("postgres.foreign-tables", database=str, first=str, tables=list)
POSTGRES_DATABASE_IN_USE = MessageCode("postgres.database-in-use", name=str)
POSTGRES_DATABASE_IN_USE_BY = MessageCode(
    "postgres.database-in-use-by", host=str, name=str, pid=str, program=str
)
POSTGRES_DATA_IN_USE_BY = MessageCode("postgres.data-in-use-by", path=str, pid=str)
POSTGRES_NO_MEMORY = MessageCode("postgres.no-memory", said=ForeignText)
POSTGRES_NO_MEMORY_FOR = MessageCode("postgres.no-memory-for", said=ForeignText, settings=list)
POSTGRES_NO_TLS = MessageCode("postgres.no-tls", said=ForeignText, where=str)
POSTGRES_CERTIFICATE_NOT_TRUSTED = MessageCode(
    "postgres.certificate-not-trusted", said=ForeignText, where=str
)
POSTGRES_ROOTS_UNREADABLE = MessageCode("postgres.roots-unreadable", said=ForeignText, where=str)
POSTGRES_CERTIFICATE_OF_OTHER = MessageCode("postgres.certificate-of-other", said=ForeignText, where=str)
POSTGRES_TLS = MessageCode("postgres.tls", said=ForeignText, where=str)
POSTGRES_PG_HBA = MessageCode("postgres.pg-hba", said=ForeignText, user=str, where=str)
POSTGRES_REFUSED_PASSWORD = MessageCode(
    "postgres.refused-password", said=ForeignText, user=str, variable=str, where=str
)
POSTGRES_NO_USER = MessageCode("postgres.no-user", said=ForeignText, user=str, where=str)
POSTGRES_NOBODY_THERE = MessageCode("postgres.nobody-there", said=ForeignText, where=str)
POSTGRES_HOST = MessageCode("postgres.host", said=ForeignText, where=str)
POSTGRES_NOT_READY = MessageCode("postgres.not-ready", said=ForeignText, where=str)
DOING_ASK_FOR_PERMISSIONS = MessageCode("doing.ask-for-permissions")
DOING_MAKE_THE_ROLE = MessageCode("doing.make-the-role")
DOING_CREATE_DATABASE = MessageCode("doing.create-database", name=str)
DOING_DROP_DATABASE = MessageCode("doing.drop-database", name=str)
DOING_CREATE_SCHEMA = MessageCode("doing.create-schema", database=str)
DOING_DROP_TABLES = MessageCode("doing.drop-tables")
WHERE_EMBEDDED = MessageCode("where.embedded")
WHERE_DIRECTORY = MessageCode("where.directory", path=str)
WHERE_MACHINE = MessageCode("where.machine")
USER_THIS = MessageCode("user.this")
STRANGER_POSTGRES = MessageCode("stranger.postgres")
POSTGRES_IMAGE_NEEDS_ROOT = MessageCode("postgres.image-needs-root", "caution")
POSTGRES_TOO_FEW_CONNECTIONS = MessageCode(
    "postgres.too-few-connections",
    "caution",
    allowed=str,
    clients=str,
    max_connections=str,
    needed=str,
    reserved=str,
)
POSTGRES_SHARED_BUFFERS_TOO_LARGE = MessageCode(
    "postgres.shared-buffers-too-large", "caution", memory_bytes=Bytes, wanted_bytes=Bytes
)
POSTGRES_NO_FSYNC = MessageCode("postgres.no-fsync", "caution", name=str)
POSTGRES_NO_FULL_PAGES = MessageCode("postgres.no-full-pages", "caution", name=str)
POSTGRES_LATE_COMMITS = MessageCode("postgres.late-commits", "caution", name=str)
POSTGRES_EMBEDDED_BINARIES = MessageCode("postgres.embedded-binaries")
