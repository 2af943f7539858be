"""Shapes of the lines that sysbench 0.4 to 1.1 prints, without their indentation."""

from __future__ import annotations

import re

HEAD = re.compile(r"sysbench (?P<version>[\d.]+)\b")
THREADS = re.compile(r"Number of threads: (\d+)")
INTERVAL = re.compile(
    r"\[ (?P<at>[\d.]+)s \] thds: \d+ tps: (?P<tps>[\d.]+) qps: [\d.]+"
    r".*?lat \(ms,(?P<rank>\d+)%\): (?P<late>[\d.]+) err/s:? (?P<errors>[\d.]+)"
)
EVENTS_INTERVAL = re.compile(
    r"\[ (?P<at>[\d.]+)s \] thds: \d+ eps: (?P<tps>[\d.]+) lat \(ms,(?P<rank>\d+)%\): (?P<late>[\d.]+)"
)
FILE_INTERVAL = re.compile(
    r"\[ (?P<at>[\d.]+)s \] reads: (?P<reads>[\d.]+) MiB/s writes: (?P<writes>[\d.]+) MiB/s "
    r"fsyncs: (?P<syncs>[\d.]+)/s "
    r"latency \(ms,(?P<rank>\d+)%\): (?P<late>[\d.]+)"
)
MEMORY_INTERVAL = re.compile(r"\[ (?P<at>[\d.]+)s \] (?P<moved>[\d.]+) MiB/sec")
#: 0.5, at first without a comma behind the writes; the operations of its fileio have no counts.
OLD_INTERVAL = re.compile(
    r"\[ *(?P<at>[\d.]+)s\] threads: \d+, tps: (?P<tps>[\d.]+), reads(?:/s)?: [\d.]+, writes(?:/s)?: [\d.]+"
    r",? response time: (?P<late>[\d.]+)ms \((?P<rank>\d+)%\)(?:, errors: (?P<errors>[\d.]+))?"
)
CHECKPOINT = re.compile(r"\[ *[\d.]+s ?\] Checkpoint report:")
INTERVALS = (INTERVAL, EVENTS_INTERVAL, FILE_INTERVAL, MEMORY_INTERVAL)
BLOCK_SIZE = re.compile(r"(?:Block size|\s*block size:) (?P<number>\d+)(?P<unit>B|KiB|MiB|GiB)\s*$")
UNITS = {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 2**10}
TRANSACTIONS = re.compile(r"\s*transactions:\s+(\d+)\s+\(([\d.]+) per sec")
QUERIES = re.compile(r"\s*queries:\s+(\d+)\s+\(([\d.]+) per sec")
IGNORED = re.compile(r"\s*ignored errors:\s+(\d+)\s+\(")
RECONNECTS = re.compile(r"\s*reconnects:\s+(\d+)\s+\(")
CPU = re.compile(r"\s*events per second:\s+([\d.]+)")
#: 1.1, of every test
EVENTS = re.compile(r"\s*events/s \(eps\):\s+([\d.]+)")
MEMORY = re.compile(r"\s*([\d.]+) Mi?B transferred \(([\d.]+) Mi?B/sec\)")
OPERATIONS = re.compile(
    r"(?:Total operations|Operations performed): (\d+) \(\s*([\d.]+) (?:per second|ops/sec)\)"
)
FILE = re.compile(r"\s*(reads/s|writes/s|fsyncs/s|read, MiB/s|written, MiB/s):\s+([\d.]+)")
#: 1.1: `read:  IOPS=8849.33 138.27 MiB/s (144.99 MB/s)`
FILE_IOPS = re.compile(r"\s*(?P<name>read|write|fsync):\s+IOPS=(?P<rate>[\d.]+)(?: (?P<mib>[\d.]+) MiB/s)?")
#: 0.4: `9.375Mb/sec` (2^20 bytes) and `600.03 Requests/sec executed`
OLD_FILE = re.compile(
    r"Read [\d.]+\w+\s+Written [\d.]+\w+\s+Total transferred [\d.]+\w+\s+\(([\d.]+)([KMG])b/sec\)"
)
OLD_FILE_RATE = re.compile(r"\s*([\d.]+) Requests/sec executed")
TIME = re.compile(r"\s*(?:total time|time elapsed):\s+([\d.]+)s")
COUNT = re.compile(r"\s*total number of events:\s+(\d+)")
#: 0.4 and 0.5: `approx.  95 percentile:   3.10ms`
LATENCY = re.compile(
    r"\s*(min|avg|max|(?:approx\.\s+)?(\d+)(?:th|st|nd|rd)? percentile|sum):\s+([\d.]+)(ms|s)?\s*$"
)
BLOCK = re.compile(r"\s*(block size|total size|operation|scope|Prime numbers limit): (\S+)")
FATAL = re.compile(r"FATAL: .*|ALERT: .*")
#: Repeats of the line before: a failure, or only the end of each thread's time.
REPEATED = re.compile(r"\(last message repeated (\d+) times?\)")
DEADLOCKS = re.compile(r"\s*deadlocks:\s+(\d+)\s+\(")
#: What is printed of the options of fileio, and of memory before 0.5.
OPTIONS = re.compile(
    r"Doing (?P<test>.+?) test(?: \(.*)?$|(?P<files>\d+ files, \S+ each)|Using (?P<io_mode>\w+) I/O mode|"
    r"Block size (?P<block_size>\S+)|Extra file open flags: (?P<extra_flags>.+?)\s*$|"
    r"Read/Write ratio for combined random IO test: (?P<read_write_ratio>[\d.]+)|"
    r"Periodic FSYNC enabled, calling fsync\(\) each (?P<fsync_after>\d+) requests|"
    r"Running (?P<oltp>simple|mixed|custom) OLTP|"
    r"Memory (?P<memory>block size|transfer size|operations type|scope type): (?P<value>\S+)"
)
#: The first line of an execution whose head was left out, as in texts that were copied into a report.
BEGIN = re.compile(
    r"Running the test with|Prime numbers limit:|Running memory speed test|SQL statistics:|"
    r"OLTP test statistics:|CPU speed:|File operations:|Total operations:|Operations performed:|"
    r"Throughput:\s*$"
)
LAST = re.compile(r"\s*execution time \(avg/stddev\)")
#: What is printed and measures nothing.
IGNORED_LINES = re.compile(
    r"Running the test|Initializing|Threads started|SQL statistics|\s*queries performed|\s*(read|"
    r"write|other|total):|General statistics|"
    r"Latency \(ms\)|Threads fairness|\s*(events|execution time) \(avg/stddev\)|CPU speed|Running "
    r"memory speed|Prime numbers limit|"
    r"Report intermediate|File operations|Throughput:|Throughput|Doing|Creating|Inserting|"
    r"Dropping|WARNING|Extra file|"
    r"\d+ files|[\d.]+[KMG]i?[Bb] total|Block size|Number of|Read/Write ratio|Periodic FSYNC|Calling "
    r"fsync|Using|\s*eps|Report checkpoint|Latency histogram|\s*value\s+-+|\s*[\d.]+ \|\**\s+\d+\s*$|"
    r"Time limit exceeded|Done\.|OLTP test|Test execution summary|\s*(read/write requests|other operations):|"
    r"\s*total time taken by|\s*(per-request statistics|response time):|Operations performed:|"
    r"No DB drivers|Skipping BEGIN|Maximum prime|Random number|Memory (block size|transfer|operations|scope)|"
    r"Running (simple|mixed|custom) OLTP"
)

#: Traffic of files and of memory in an interval.
MOVED = ("reads", "writes", "moved")
IOPS_NAMES = {
    "read": ("reads_per_s", "read_mib_per_s"), "write": ("writes_per_s", "written_mib_per_s"),
    "fsync": ("fsyncs_per_s", ""),
}  # fmt: skip
FILE_NAMES = {
    "reads/s": "reads_per_s", "writes/s": "writes_per_s", "fsyncs/s": "fsyncs_per_s",
    "read, MiB/s": "read_mib_per_s", "written, MiB/s": "written_mib_per_s",
}  # fmt: skip
