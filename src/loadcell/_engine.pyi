"""The engine: makes load and records it. Written in Rust; see engine/ for how, docs/explanation for why.

Specifications, events and results are JSON texts. Times are integers in nanoseconds: `*_mono_ns` of
`time.monotonic_ns()`, `*_utc_ns` since 1970.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

class EngineError(Exception):
    """Something a user can act upon. `args[0]` is JSON: `{"code", "reason": {"code", "args"}}`, the class of
    the error and a code of the message catalogue with its arguments.

    `code` is an SQLSTATE, or one of `spec`, `connection`, `timeout`, `tls`, `protocol`, `limit`, `script`,
    `stopped`, `internal` ...
    """

def run(spec: str, on_event: Callable[[str], None]) -> str:
    """Make the load that `spec` describes: connect, warm up, measure, drain.

    Blocks without holding the GIL. Events (`connected`, `phase`, `interval`, `trouble`) go to `on_event` on
    the calling thread. About every 50 ms signals are handled. What `on_event` or a signal handler raises ends
    the load at once and is raised here.

    The result's `outcome` is `completed`, `stopped` (by `stop`), `lost` (no connection was to be had for
    `lost_ns`), `overloaded` (of an open loop: ever more was due than the target took), `unfinished` (a number
    of requests was not made within `duration_ns`), `unsettled` (nor was the warm-up's last one) or
    `connect-failed` (nothing was measured; `window` is null). `reason_args` has the arguments of the message
    of that outcome, with `group` where it is the reason of one group among several.

    `load.schedule` makes an open loop: `{"arrivals": "constant" | "poisson", "rate": [{"from_per_s",
    "to_per_s", "for_ns"}, ...], "most_overdue_ns"}`. A transaction then counts as started when it is due; the
    result's `schedule` (null in a closed loop) says what was offered and achieved, how late the client was
    where a connection was free (`pacing_error`), how long requests waited for one (`backlog_wait`), and the
    backlog; each interval has a `backlog`.

    `load.requests` (of all clients) or `load.requests_per_client` ends the measurement when this
    number of transactions, failed ones included, was started and has ended; `duration_ns` is then the
    longest it may take. A warm-up comes to rest before it.

    `load.timeout_ns` is how long a transaction may take from when it was begun: it has failed then, with the
    code `timeout`, and its connection is made again. The result's `received` counts bytes that arrived, those
    of bodies of responses, and responses by the first digit of their status (`{"2xx": 9}`).

    A result may have further values of its workload, `figures` (name -> number), in each group where there
    are several; and `remarks`, what a reader must know of them, by name with their values (`indirect`: a
    file system could not do direct I/O; `streams`: a server took fewer requests at once than it was to get).

    A target of the protocol `host` is this machine: `{"protocol": "host", "directory", "peer"}`. Its workload
    is `{"probe": {name: options}}`; each client is a thread, and a transaction is one pass of the probe.

    The result's `histograms` have, for each of `operations`, those of `response`, `service` and
    `failed_response` within the window, and those of `lateness` and `backlog_wait`: `{"encoded", "sum_ns",
    "min_ns", "max_ns"}`, encoded as in the interval log (HdrHistogram V2, compressed, base64); null if empty.
    `merge` needs them.

    `load.armed_ns` arms the load: it connects, emits `{"type": "ready", "mono_ns", "utc_ns"}`, and begins at
    the instant that `start_at` gives, at most `armed_ns` after `ready`. Raises EngineError with the code
    `start-never-came` at that limit, `start-too-far` for an instant beyond it, and `start-missed` for one
    that has passed by more than 0.1 s.

    `load.timeline` records completions in slots of 10 ms and slow requests: the result then has `timelines`,
    one of each group, as `loadcell.model.timeline.Timeline` declares them.

    With `groups` instead of `workload`, several groups of clients work side by side in one window: `[{"name",
    "workload", "load"}, ...]`, where a group's `load` adds to the common one (`clients`, `threads`,
    `timeout_ns`, `max_retries`, `schedule`). Operation `transaction` is then all groups together, `<group>`
    (kind `type`) one of them, `<group>:<operation>` what it does. The result's `groups` have each group's own
    `operations`, `queries`, `lifetime`, `schedule` and `client`; errors, trouble and intervals say of which
    group they are. A group that is lost or overloaded ends the load for all.

    Raises EngineError when the specification cannot be carried out.
    """

class Recording:
    """Receives the parts of a call from a client's callable: each is recorded as a separate operation."""

    def timed(self, name: str) -> AbstractContextManager[None]:
        """A part, timed from entering to leaving; it fails with what is raised within. Raises KeyError
        for an unknown name.
        """

    def retried(self, name: str) -> None:
        """A part in progress failed in a way that may be retried, and is retried."""

def run_calls(
    spec: str, on_event: Callable[[str], None], client: Callable[[int, Recording], Callable[[], object]]
) -> str:
    """Make a load of Python's: as `run`, of a target `{"protocol": "calls"}` and a workload `{"calls":
    {"operations": [{"name", "kind": "read" | "write" | "other"}, ...]}}`, the names of parts.

    Each client is a thread (`load.threads` and `load.timeout_ns` have no effect). It asks `client(number,
    recording)`, on its own thread and before anything is measured, for what it calls then: each call is one
    transaction. A call that raises has failed, with the exception's `code` (a str; else its class's name) and
    the first line of its text; with `fatal = True`, or where it is no `Exception`, nothing more is called by
    this client. One that `client` raises ends the load as `connect-failed`.

    The duration of a call is not client time; only the time between calls counts as `busy`.
    """

def prepare(spec: str, on_event: Callable[[str], None]) -> str:
    """Load the data that `spec` describes. Events are of type `progress`; otherwise as `run`.

    Returns `{"rows", "duration_s"}`, and `"size_bytes"` where the server told.
    """

def check(workload: str) -> str:
    """Analyses a workload (the `workload` section of a specification) without a target.

    Known for `pgbench`: `{"writes": bool, "operations": [name, ...]}`, `writes` when a statement may change
    rows. Raises EngineError with code `script` when a script is wrong: the finding has a paragraph for each
    mistake, with script, line and column. Known for `http`: `{"operations": [name, ...]}`; what is wrong has
    the code `spec`. Known for `kv` on Redis: `{}`, likewise. Known for `stream`: `{"operations": [name]}`,
    and `"largest_bytes"` of a generated record in its frame, likewise.
    """

def stream_records(spec: str, connection: int, count: int) -> bytes:
    """Generate the first `count` records of a connection of the stream that `spec` describes, framed as they
    are sent: fewer where a file ends before. Raises EngineError as `run`.
    """

def store(engine: str) -> str:
    """Describe the engine of an embedded store, `{"engine": name, "library": path or null}`: `{"version"}`,
    and `"library"` where it is one of the machine's.

    Raises EngineError with code `library` when this machine has none.
    """

def serve(address: str, on_event: Callable[[str], None]) -> str:
    """Answer network probes at `address` (`HOST:PORT`; port 0 for any) until `stop` is called.

    Says `{"type": "listening", "address"}` when it listens; otherwise as `run`. Returns what was served, of
    connections that have ended: `{"connections", "transactions", "received_bytes"}`. Raises EngineError when
    it cannot listen there.
    """

def start_at(mono_ns: int) -> None:
    """Give the start instant of the armed load that is running, or would run next: nanoseconds of
    CLOCK_MONOTONIC.

    May be called from any thread. The instant should lie at least half a second ahead, so that every thread
    learns of it in time.
    """

def merge(results: Sequence[str]) -> str:
    """Merge results of workers that made parts of one load (JSON as returned by `run`).

    Counts, CPU times and memory are summed; percentiles are those of the union of all recorded values,
    without loss. The window spans all windows by UTC; the outcome is that of the first load that did not
    complete. `figures` do not merge, and are dropped. Raises EngineError with the code `merge` when there is
    no result, one cannot be read, or they are of different loads.
    """

def stop() -> None:
    """End what is running, or would run next, early but properly. May be called from a signal handler
    or any thread.
    """

def fold_stacks(script: Path) -> str:
    """Fold the stacks in a file with the output of `perf script` (fields comm, pid, tid, time, event, ip,
    sym, dso).

    Returns a line for each stack, sorted: frames from the outermost (the process, `name-pid`) to the
    innermost, `;` between them, and the number of samples. Functions of the kernel end in `_[k]`. Raises
    OSError.
    """

def flame_graph(folded: str, title: str, subtitle: str) -> str:
    """Draw folded stacks as an SVG that stands for itself, with a script to zoom and to search."""

def import_pgbench_log(files: Sequence[Path], on_event: Callable[[str], None]) -> str:
    """Read pgbench's logs of every transaction (`-l`), those of one execution, in blocks: each is counted and
    forgotten.

    Events: `{"type": "progress", "read_bytes", "total_bytes"}`; otherwise as `run`. Returns `{"count",
    "words", "unread", "examples"}`: how many succeeded; how often each word stood in place of a time
    (`failed`, `skipped` ...); how many lines are none of the log, and the first of them. Where any ended also
    `{"began_s", "length_s", "clients", "response", "intervals"}`: `response` has milliseconds by the record's
    keys; `intervals` are columns of seconds (`done`, `mean_ms`, `p99_ms`; null where nothing ended), from
    number `first` on, each `width_s` wide, where number 0 begins at `origin_s`; where `width_s` is not 1,
    `lowest` and `highest` are the throughputs of any second in it (of a log of more than twelve days: of any
    few seconds), else null. Raises OSError.
    """

def import_benchmarksql(files: Sequence[Path], on_event: Callable[[str], None]) -> str:
    """Read BenchmarkSQL's result.csv; otherwise as `import_pgbench_log`.

    Returns `{"runs": [{"run", "ended_s", "count", "failed", "response", "types", "rolled_back",
    "intervals"}], "unread", "examples"}`, a run for each number in the column `run`: `types` are `{"count",
    "failed", "response"}` by name, `rolled_back` those that were, as specified, among them. The deferred part
    of a delivery is in none.
    """

class Stretches:
    """The parts of a text in its order: tables of lines that are the same but for their numbers (digits,
    perhaps a point and more), and begin with `begin`; and the lines between. A thread reads ahead, a few MiB
    at most. Raises OSError."""

    #: How much of the text lies behind what was given.
    read_bytes: int

    def __init__(self, files: Sequence[Path], begin: bytes) -> None: ...
    def __iter__(self) -> Stretches: ...
    def __next__(self) -> tuple[bytes, int]:
        """A table's first line, and how many numbers each of its lines has; or lines, and none."""

    def column(self, position: int) -> bytes:
        """The numbers at one position in each line of the table that was given last, as doubles. Raises
        IndexError.
        """

    def text(self) -> bytes:
        """All lines of the input read last."""

class Proxy:
    """A proxy between the load and its target, on a port of 127.0.0.1, from its creation to `stop`.

    `spec` is `{"target", "threads", "connections", "processors", "seed"}`: the target as in the specification
    of a load, the least number of threads, the number of connections at a time, and the processors that the
    threads run on (none: any). Raises EngineError.
    """

    #: port that it listens on
    port: int

    def __init__(self, spec: str) -> None: ...
    def begin(self, effect: str) -> int:
        """Begin an effect, and return its number once it is in effect. Raises EngineError.

        One of `{"delay": {"time_ns", "jitter_ns", "direction"}}`, `{"bandwidth": {"bytes_per_s",
        "direction"}}`, `{"reset": {}}`, `{"refuse": {}}`, `{"blackhole": {}}`, `{"http-5xx": {"share",
        "status"}}`, `{"truncate": {"bytes"}}`, where a direction is `to-server`, `to-client` or `both`.
        """

    def end(self, number: int) -> None:
        """End an effect; on return it is not in effect any more. Raises EngineError."""

    def stop(self) -> str:
        """Close all connections. Returns counts: `{"threads", "connections", "unconnected", "bytes":
        [TO_SERVER, TO_CLIENT], "reset", "swallowed_bytes", "answered", "truncated", "cpu_ns"}`.
        """

def mysql_proof(plugin: str, password: bytes, nonce: bytes) -> bytes:
    """Response of an authentication plugin to a server's nonce. Raises ValueError for an unknown plugin."""

def mysql_encrypted(password: bytes, nonce: bytes, key: bytes) -> bytes:
    """The password encrypted for a server's public key (PEM), as `caching_sha2_password` wants it without
    TLS. Raises ValueError for another key.
    """

def preload_library() -> bytes:
    """The library that causes faults in the processes which load it (`LD_PRELOAD`). The file that
    `LOADCELL_FAULT_CONTROL` names controls it. Empty where there is none for this system.
    """

def version() -> str:
    """Return the engine's version."""
