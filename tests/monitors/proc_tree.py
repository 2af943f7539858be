"""A /proc of our own making: two recorded instants of a small machine, in the kernel's formats."""

from __future__ import annotations

from pathlib import Path

STAT = """cpu  {user} 100 {system} {idle} {iowait} 10 20 {steal} 0 0
cpu0 {user} 100 {system} 0 {iowait} 10 20 {steal} 0 0
cpu1 0 0 0 {idle} 0 0 0 0 0 0
intr 12345 1 2 3
ctxt {ctxt}
btime 1700000000
processes 4242
procs_running 3
procs_blocked 1
"""
MEMINFO = """MemTotal:       8000000 kB
MemFree:         500000 kB
MemAvailable:   6000000 kB
Dirty:             1024 kB
SwapTotal:      1000000 kB
SwapFree:        900000 kB
HugePages_Total:       0
"""
#: Reads and writes of a disk, as /proc/diskstats gives them.
_IO = "{reads} 0 {read_sectors} {read_ms} {writes} 0 {write_sectors} {write_ms} 0 {busy_ms} 0 0 0 0 0"
DISKSTATS = f"""   7       0 loop0 9 9 9 9 9 9 9 9 9 9 9
 259       0 nvme0n1 {_IO}
 259       1 nvme0n1p1 {_IO}
 253       0 dm-0 {_IO}
"""
NET_DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls \
carrier compressed
    lo: 999999 9 0 0 0 0 0 0 999999 9 0 0 0 0 0 0
  eth0: {rx} 9 0 0 0 0 0 0 {tx} 9 0 0 0 0 0 0
veth12: 999999 9 0 0 0 0 0 0 999999 9 0 0 0 0 0 0
"""
SNMP = """Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RetransSegs InErrs
Tcp: 1 {retransmits} 0
"""
PRESSURE = """some avg10=0.00 avg60=0.00 avg300=0.00 total={some}
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
"""


class ProcTree:
    """Writes the files below `root`; what is not named keeps its last value."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for device in ("loop0", "nvme0n1", "dm-0"):
            (root / "sys/block" / device).mkdir(parents=True)
        self.values = dict.fromkeys(
            ("user", "system", "idle", "iowait", "steal", "ctxt", "reads", "read_sectors", "read_ms",
             "writes", "write_sectors", "write_ms", "busy_ms", "rx", "tx", "retransmits", "some",
             "majfault"), 0,
        )  # fmt: skip
        self.write()

    def write(self, **values: int) -> None:
        self.values.update(values)
        files = {
            "stat": STAT, "loadavg": "1.50 1.00 0.50 3/400 4242\n", "meminfo": MEMINFO,
            "vmstat": "pgmajfault {majfault}\npswpin 0\npswpout 0\n", "diskstats": DISKSTATS,
            "net/dev": NET_DEV,
            "net/snmp": SNMP, "pressure/cpu": PRESSURE, "pressure/io": PRESSURE, "pressure/memory": PRESSURE,
        }  # fmt: skip
        for name, text in files.items():
            self.file(f"proc/{name}", text.format(**self.values))

    def file(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def process(
        self,
        pid: int,
        parent: int,
        *,
        name: str = "postgres",
        title: str = "postgres: checkpointer ",
        cpu: tuple[int, int] = (0, 0),
        children_cpu: tuple[int, int] = (0, 0),
        start: int = 100,
        threads: int = 1,
        state: str = "S",
        io: tuple[int, int] | None = (0, 0),
        switches: tuple[int, int] = (0, 0),
        faults: int = 0,
        children: tuple[int, ...] | None = (),
    ) -> None:
        user, system = cpu
        cuser, csystem = children_cpu
        self.file(
            f"proc/{pid}/stat",
            f"{pid} ({name}) {state} {parent} 1 1 0 -1 0 0 0 {faults} 0 {user} {system} {cuser} {csystem} "
            f"20 0 {threads} 0 {start} 1000000 250 18446744073709551615 0 0\n",
        )
        self.file(f"proc/{pid}/cmdline", title + "\0")
        status = (
            f"Name:\t{name}\nvoluntary_ctxt_switches:\t{switches[0]}\n"
            f"nonvoluntary_ctxt_switches:\t{switches[1]}\n"
        )
        self.file(f"proc/{pid}/status", status)
        for thread in range(threads):
            self.file(f"proc/{pid}/task/{pid + thread}/status", status)
            if children is not None:
                self.file(f"proc/{pid}/task/{pid + thread}/children", "")
        if children is not None:
            self.file(f"proc/{pid}/task/{pid}/children", "".join(f"{child} " for child in children))
        if io is not None:
            self.file(f"proc/{pid}/io", f"rchar: 1\nread_bytes: {io[0]}\nwrite_bytes: {io[1]}\n")

    def thread(
        self, pid: int, tid: int, *, name: str = "worker", state: str = "S", run_ns: int = 0, wait_ns: int = 0
    ) -> None:
        """A thread of a process, with its times."""
        home = f"proc/{pid}/task/{tid}"
        fields = " ".join(["0"] * 50)
        self.file(f"{home}/stat", f"{tid} ({name}) {state} {fields}\n")
        self.file(f"{home}/comm", f"{name}\n")
        self.file(f"{home}/schedstat", f"{run_ns} {wait_ns} 1\n")

    def gone(self, pid: int) -> None:
        import shutil

        shutil.rmtree(self.root / "proc" / str(pid))
