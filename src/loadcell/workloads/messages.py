"""Message codes of workloads; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import MessageCode, Seconds

BENCHMARKSQL_FILE_REMARKS = MessageCode("benchmarksql.file-remarks", "caution", name=str, remarks=list)
BENCHMARKSQL_OTHER_TERMINALS = MessageCode(
    "benchmarksql.other-terminals", "caution", clients=str, terminals=str
)
HTTP_UNUSED_PARAMETER = MessageCode("http.unused-parameter", "caution", place=str)
HTTP_NEVER_SENT = MessageCode("http.never-sent", "caution")
KV_ONLY_DELETES = MessageCode("kv.only-deletes", "caution")
KV_NO_KEYS = MessageCode("kv.no-keys", "caution")
PGBENCH_SMALL_SCALE = MessageCode("pgbench.small-scale", "caution")
SYSBENCH_ONE_TABLE = MessageCode("sysbench.one-table", "caution", script=str)
SYSBENCH_ONLY_DELETES = MessageCode("sysbench.only-deletes", "caution")
SYSBENCH_NO_INDEX = MessageCode("sysbench.no-index", "caution")
SYSBENCH_RANGE_TOO_LARGE = MessageCode("sysbench.range-too-large", "caution", range_size=str, table_size=str)
TPCC_TOO_MANY_TERMINALS = MessageCode("tpcc.too-many-terminals", clients=str, most=str, warehouses=str)
TPCC_SHORT_TRIAL = MessageCode("tpcc.short-trial", "caution", cycle_s=Seconds, duration_s=Seconds)
YCSB_FILE_REMARKS = MessageCode("ycsb.file-remarks", "caution", name=str, remarks=list)
BENCHMARKSQL_PASSWORD = MessageCode("benchmarksql.password", "caution", form=str)
BENCHMARKSQL_WITHOUT_MEANING = MessageCode("benchmarksql.without-meaning", "caution", names=list)
BENCHMARKSQL_UNKNOWN = MessageCode("benchmarksql.unknown", "caution", key=str)
BENCHMARKSQL_UNKNOWN_NEAR = MessageCode("benchmarksql.unknown-near", "caution", key=str, near=str)
BENCHMARKSQL_NOT_FIXED = MessageCode("benchmarksql.not-fixed", "caution")
BENCHMARKSQL_TRANSACTIONS = MessageCode("benchmarksql.transactions", "caution", count=str)
BENCHMARKSQL_CONNECTION = MessageCode("benchmarksql.connection", "caution")
BENCHMARKSQL_OTHER_DURATION = MessageCode("benchmarksql.other-duration", "caution", duration=str, minutes=str)
BENCHMARKSQL_OTHER_SERVER = MessageCode(
    "benchmarksql.other-server", "caution", where=str, server=str, remedy=str
)
BENCHMARKSQL_OTHER_ADDRESS = MessageCode(
    "benchmarksql.other-address", "caution", where=str, measured=str, remedy=str
)
HTTP_STREAMS_WITH_RATE = MessageCode("http.streams-with-rate")
SQL_NO_PROTOCOL = MessageCode("sql.no-protocol", protocol=str)
YCSB_UNKNOWN = MessageCode("ycsb.unknown", "caution", key=str)
YCSB_UNKNOWN_NEAR = MessageCode("ycsb.unknown-near", "caution", key=str, near=str)
YCSB_OTHER_CLIENTS = MessageCode("ycsb.other-clients", "caution", clients=str, threads=str)
YCSB_OTHER_RATE = MessageCode("ycsb.other-rate", "caution", rate=str)
KV_NOT_EMBEDDED = MessageCode("kv.not-embedded", name=str)
KV_NO_SCAN = MessageCode("kv.no-scan")
KV_PIPELINE_WITH_RATE = MessageCode("kv.pipeline-with-rate")
KV_MSET_WITHOUT_TTL = MessageCode("kv.mset-without-ttl")
KV_NO_BATCH = MessageCode("kv.no-batch")
KV_TOO_FEW_KEYS = MessageCode("kv.too-few-keys", clients=str, keys=str)
KV_FOREIGN_KEYS = MessageCode("kv.foreign-keys", "caution", place=str, good=str, bad=str)
KV_SHARED_PREFIX = MessageCode("kv.shared-prefix", "caution", group=str, prefix=str)
