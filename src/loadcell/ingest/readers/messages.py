"""Message codes of readers; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import ForeignText, MessageCode

OUTPUT_AB = MessageCode("output.ab", head=str)
OUTPUT_SYSBENCH = MessageCode("output.sysbench")
OUTPUT_WRK = MessageCode("output.wrk")
OUTPUT_PGBENCH = MessageCode("output.pgbench", summary=str)
OUTPUT_PGBENCH_LOG = MessageCode("output.pgbench-log")
OUTPUT_PGBENCH_LOG_NONE_ENDED = MessageCode("output.pgbench-log.none-ended")
OUTPUT_PGBENCH_LOG_ALL_EMPTY = MessageCode("output.pgbench-log.all-empty")
OUTPUT_REDIS_BENCHMARK = MessageCode("output.redis-benchmark")
OUTPUT_BENCHMARKSQL = MessageCode("output.benchmarksql", head=str)
OUTPUT_MBW = MessageCode("output.mbw")
OUTPUT_DD = MessageCode("output.dd")
OUTPUT_STRESS_NG = MessageCode("output.stress-ng")
OUTPUT_NETPERF = MessageCode("output.netperf")
OUTPUT_IPERF3 = MessageCode("output.iperf3", said=ForeignText)
OUTPUT_IPERF3_FAILED = MessageCode("output.iperf3.failed", said=ForeignText)
OUTPUT_SAR = MessageCode("output.sar")
OUTPUT_SADF_ROWS = MessageCode("output.sadf-rows")
OUTPUT_SADF_JSON = MessageCode("output.sadf-json")
OUTPUT_NMON = MessageCode("output.nmon")
OUTPUT_NMON_ALL_EMPTY = MessageCode("output.nmon.all-empty")
OUTPUT_JSTAT = MessageCode("output.jstat")
OUTPUT_JSTAT_TOO_SHORT = MessageCode("output.jstat.too-short")
