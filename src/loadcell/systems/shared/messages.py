"""Message codes of shared; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Bytes, ForeignText, Message, MessageCode, Seconds

IMAGE_NO_DIRECTORY = MessageCode("image.no-directory", kind=str, path=str)
IMAGE_NO_MKFS = MessageCode("image.no-mkfs", fs=str, kind=str)
IMAGE_MKFS_FAILED = MessageCode("image.mkfs-failed", fs=str, kind=str, said=ForeignText, size=str)
IMAGE_NOT_ROOT = MessageCode("image.not-root")
IMAGE_NO_ROOM = MessageCode("image.no-room", free_bytes=Bytes, kind=str, path=str, size=str)
IMAGE_NOT_MADE = MessageCode("image.not-made", kind=str, path=str, said=ForeignText, size=str)
IMAGE_NO_LOOP = MessageCode("image.no-loop", said=ForeignText)
IMAGE_NO_MOUNT = MessageCode("image.no-mount", said=ForeignText)
IMAGE_UNKNOWN_FS = MessageCode("image.unknown-fs", fs=str, kind=str, said=ForeignText)
IMAGE_NOT_MOUNTED = MessageCode("image.not-mounted", kind=str, said=ForeignText)
SERVER_SETTING_UNKNOWN = MessageCode("server.setting-unknown", line=str, said=ForeignText)
CONNECTION_NO_PORT = MessageCode("connection.no-port", said=ForeignText, where=str)
HOME_NO_ROOM = MessageCode("home.no-room", kind=str, path=str)
HOME_NO_DIRECTORY = MessageCode("home.no-directory", option=str, path=str)
HOME_STRANGER = MessageCode("home.stranger", option=str, path=str, stranger=Message)
HOME_NOT_OURS = MessageCode("home.not-ours", option=str, path=str)
HOME_OTHER_OWNER = MessageCode("home.other-owner", kind=str, owner=str, path=str, user=str)
HOME_NOT_USABLE = MessageCode("home.not-usable", kind=str, path=str, said=ForeignText)
ACCOUNT_NO_NAME = MessageCode("account.no-name", uid=str)
ACCOUNT_NOT_ROOT = MessageCode("account.not-root", me=str, option=str, user=str)
ACCOUNT_ROOT = MessageCode("account.root", option=str, product=str)
ACCOUNT_NO_USER = MessageCode("account.no-user", option=str, product=str, user=str)
PROCESS_NOT_STARTED = MessageCode("process.not-started", said=ForeignText)
PROCESS_NO_ANSWER = MessageCode("process.no-answer", limit_s=Seconds, why=Message)
SOCKETS_NOT_MADE = MessageCode("sockets.not-made", path=str, said=ForeignText)
