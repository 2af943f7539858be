"""Message codes of nghttpd; their texts are in `messages.toml`."""

from loadcell.model.message import Count, MessageCode, Seconds, Share

MISSING = MessageCode("nghttpd.missing")
NOT_READY = MessageCode("nghttpd.not-ready", limit_s=Seconds, why=str)
ENDED = MessageCode("nghttpd.ended", output=str)
NO_DATA = MessageCode("nghttpd.no-data")
MORE_THREADS = MessageCode("nghttpd.more-threads", "info", threads=Count, cpus=Count)
THREADS_ASLEEP = MessageCode("nghttpd.threads-asleep", "info", asleep_share=Share)
NOT_H2LOAD = MessageCode("nghttpd.not-h2load")
