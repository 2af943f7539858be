"""Message codes of systems; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import ForeignText, Message, MessageCode

TARGET_NO_SQL = MessageCode("target.no-sql", target=str)
TARGET_NOT_UP = MessageCode("target.not-up")
SERVER_TOO_OLD = MessageCode("server.too-old", oldest=str, place=str, product=str, version=str)
SERVER_PORTS_TAKEN = MessageCode("server.ports-taken")
SERVER_DATA_IN_USE = MessageCode("server.data-in-use")
SERVER_NOT_STARTED = MessageCode("server.not-started", said=ForeignText)
SERVER_INIT_FAILED = MessageCode("server.init-failed", program=str, said=ForeignText)
SERVER_DATA_CLOSED = MessageCode("server.data-closed", kind=str, path=str)
SERVER_READ_ONLY = MessageCode("server.read-only", doing=Message, said=ForeignText)
SERVER_WENT_AWAY = MessageCode("server.went-away", doing=Message, said=ForeignText)
SERVER_REFUSED_WITH_CODE = MessageCode("server.refused-with-code", code=str, doing=Message, said=ForeignText)
SERVER_PRODUCT_TOO_OLD = MessageCode(
    "server.product-too-old", oldest=str, product=str, version=str, where=str
)
SERVER_SETTING_REFUSED = MessageCode("server.setting-refused", kind=str, line=str, name=str, said=ForeignText)
SERVER_SETTING_MISSPELT = MessageCode("server.setting-misspelt", line=str, near=str, said=ForeignText)
CONNECTION_FAILED = MessageCode("connection.failed", said=ForeignText, where=str)
CONNECTION_REFUSED = MessageCode("connection.refused", said=ForeignText, where=str)
CONNECTION_NONE_LEFT = MessageCode("connection.none-left", said=ForeignText, where=str)
CONNECTION_NO_DATABASE = MessageCode("connection.no-database", said=ForeignText, where=str)
CONNECTION_TIMEOUT = MessageCode("connection.timeout", said=ForeignText, where=str)
HOME_LOST_CONTENTS = MessageCode("home.lost-contents", home=str, path=str)
HOME_NOT_COPIED = MessageCode("home.not-copied", said=ForeignText)
ENDED_STATUS = MessageCode("ended.status", status=str)
DOING_LOOK_FOR_THE_DATA_SET = MessageCode("doing.look-for-the-data-set")
DOING_ASK_THE_VERSION = MessageCode("doing.ask-the-version")
DOING_READ_COUNTERS = MessageCode("doing.read-counters")
DOING_CHECK_THE_DATA = MessageCode("doing.check-the-data")
DOING_PREPARE_THE_DATA_SET = MessageCode("doing.prepare-the-data-set")
DOING_MARK_THE_DATA_SET = MessageCode("doing.mark-the-data-set")
DOING_READ_SETTINGS = MessageCode("doing.read-settings")
DOING_DROP_DATA_SETS = MessageCode("doing.drop-data-sets")
DOING_FIND_THE_PROCESS = MessageCode("doing.find-the-process")
WHERE_SERVER_DATA = MessageCode("where.server-data")
WHERE_DATA_DIRECTORY = MessageCode("where.data-directory")
USER_NAMED = MessageCode("user.named", name=str)
STRANGER_SERVER = MessageCode("stranger.server")
