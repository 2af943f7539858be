"""Calls a Python function and times it: `INTERPRETER harness.py ORDER`, a file of JSON.

This file is run by the interpreter under test, which may have no other package of loadcell: it imports only
the standard library of Python 3.11 or later. What the function prints goes to standard error.

Lines of JSON on standard output, times in nanoseconds of CLOCK_MONOTONIC:

- `{"type": "started", "process"}`: the first line.
- `{"type": "set-up"}`: from now on only the function is called.
- `{"type": "span", "name", "begin", "end"}`: a step, or a call of a marked function, which has begun
  (`end` null) or ended; lines with the same name and begin are of one span.
- `{"type": "ready", "process", ...}`: the code is set up, the number of calls of a sample is calibrated.
  Measuring then begins with a line on standard input, the start instant; after it, the samples per second
  that the harness itself takes of its threads, if any.
- `{"type": "samples", "client", "samples": [[begin, end, due, calls, failed], ...]}`: samples that have
  ended. `due` is null in a closed loop.
- `{"type": "error", "client", "name", "text", "position", "count"}`: exceptions of a class.
- `{"type": "overhead", "calls", "ns"}`: a sample of the loop without the function.
- `{"type": "result", "name", "kind", "columns", "size_bytes"}`: the result of a call that is not timed.
- `{"type": "stacks", "stacks": {"frame;frame": count}}`: samples of the clients, by the harness.
- `{"type": "findings", ...}`: what a profiler found (`loadcell.model.python_profile.PythonFindings`).
- `{"type": "end", ...}`: the last one, or `{"type": "failed", "step", "name", "text", "position"}`.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import math
import operator
import os
import pickle
import random
import sys
import threading
import time
import traceback
from types import CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, NoReturn

clock = time.perf_counter_ns

#: Shortest sample in readings of the clock, and in nanoseconds.
_READINGS, _SHORTEST_NS = 10_000, 1_000_000
_MOST_CALLS = 1 << 30
#: A sample of this length is no interrupted short one.
_LONG_NS = 1_000_000_000
#: How often samples are written, and the overhead of the loop is measured again.
_REPORT_NS = 500_000_000
#: Most samples of a line.
_MOST_SAMPLES = 2_000
#: Failed calls, before any has returned, after which the function counts as broken.
_FAILURES = 3
#: Most rows of a result that are compared by all values; of more only sums are.
_MOST_ROWS = 1_000_000
#: Longest text of an exception.
_LONGEST_TEXT = 500
#: Calls of a marked function that are marked, from the first on.
_MOST_SPANS = 200

_FUNCTION = """
def _timed(_iterator, _clock, _call{names}):
    _begin = _clock()
    for _ in _iterator:
        _call({arguments})
    return _begin, _clock()
"""
#: Lines of the loop around statements are numbered from here: the others are those of the statements.
_FIRST_SHELL_LINE = 1_000_000
_EMPTY = "def _empty({parameters}):\n    pass\n"


class StepError(Exception):
    """A step before the measurement has failed."""

    def __init__(self, step: str, error: BaseException) -> None:
        super().__init__(step)
        self.step, self.error = step, error


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """A step of the code under test. Raises StepError for any exception."""
    try:
        yield
    except BaseException as error:
        raise StepError(name, error) from error


class Piece:
    """A function by its name (`package.module:function`), or statements; `call` is None or `code` empty."""

    def __init__(self, call: str | None, code: str | None) -> None:
        self.call, self.code = call, code or ""


class Order:
    """The order, as it is written in its file."""

    mode: str
    work: Piece
    setup: Piece | None
    data: Piece | None
    teardown: Piece | None
    arguments: dict[str, object]
    data_file: str | None
    path: list[str]
    gc: bool
    processes: bool
    seed: int
    clients: int
    first_client: int
    warmup_ns: int
    duration_ns: int
    arrivals: str
    rate: list[dict[str, float]]
    memory_bytes: int | None
    group: str | None
    profile: dict[str, Any] | None
    verify: bool
    ordered: bool
    spans: list[str]

    def __init__(self, text: str) -> None:
        document = json.loads(text)
        schedule = document.pop("schedule") or {"arrivals": "", "rate": []}
        for name, value in {**document, **schedule}.items():
            is_piece = name in ("work", "setup", "data", "teardown") and value is not None
            setattr(self, name, Piece(**value) if is_piece else value)


class Lines:
    """Standard output, for lines alone: output of the code under test goes to standard error."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._descriptor = os.dup(1)
        os.set_inheritable(self._descriptor, False)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def say(self, **line: Any) -> None:
        """Write a line."""
        self.pass_on(json.dumps(line).encode() + b"\n")

    def pass_on(self, line: bytes) -> None:
        """Write a line as it is."""
        data = memoryview(line)
        with self._lock:
            while data:
                data = data[os.write(self._descriptor, data) :]


def position_of(error: BaseException) -> str:
    """File and line of the code under test that an exception comes from; empty if none does."""
    frames = traceback.extract_tb(error.__traceback__)
    others = [frame for frame in frames if not frame.filename.startswith((__file__, "<frozen "))]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    return "".join(f"{frame.filename}:{frame.lineno}" for frame in others[-1:])


def text_of(error: BaseException) -> str:
    """Text of an exception; also of one whose own `__str__` raises."""
    try:
        return str(error)[:_LONGEST_TEXT]
    except Exception:
        return ""


def find(reference: str) -> Callable[..., Any]:
    """Import `package.module:name.name`."""
    module, _, name = reference.partition(":")
    __import__(module)
    target: Any = sys.modules[module]
    for part in name.split("."):
        target = getattr(target, part)
    return target  # type: ignore[no-any-return]


@contextlib.contextmanager
def span(lines: Lines, name: str) -> Iterator[None]:
    """Say when this begins and ends."""
    begin = clock()
    lines.say(type="span", name=name, begin=begin, end=None)
    try:
        yield
    finally:
        lines.say(type="span", name=name, begin=begin, end=clock())


def mark(reference: str, lines: Lines) -> None:
    """Say when calls of a function begin and end, of the first ones; then the function is as it was.

    Modules that have imported the function by name get the marked one, too. Raises what its import raises.
    """
    import functools  # noqa: PLC0415 - only to mark

    module, _, path = reference.partition(":")
    function = find(reference)
    owner_path, _, name = path.rpartition(".")
    owner = find(f"{module}:{owner_path}") if owner_path else sys.modules[module]
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"{reference} is no function: {type(function).__name__}")
    stored = vars(owner).get(name, function)
    remaining = itertools.count(_MOST_SPANS, -1)

    def put(old: object, new: object) -> None:
        setattr(owner, name, new)
        for other in list(sys.modules.values()):
            for key, value in list(getattr(other, "__dict__", {}).items()):
                if value is old and not owner_path:
                    setattr(other, key, new)

    @functools.wraps(function)
    def marked(*arguments: Any, **named: Any) -> Any:
        number = next(remaining)
        if number == 0:
            put(replacement, stored)
        if number <= 0:
            return called(*arguments, **named)
        with span(lines, reference):
            return called(*arguments, **named)

    kind = type(stored) if isinstance(stored, (staticmethod, classmethod)) else None
    called = stored.__func__ if kind is not None else function
    replacement = marked if kind is None else kind(marked)
    put(stored, replacement)


class Code:
    """The code of an order: its namespace, the function, and the loop around it."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.arguments = order.arguments
        self.namespace: dict[str, Any] = {"__name__": "__loadcell__", **self.arguments}
        self._given: list[Any] = []

    def load_data(self, path: str) -> None:
        """Load the data set, the first argument of the setup and of the function."""
        with open(path, "rb") as file:  # noqa: PTH123 - no more modules than needed
            data = pickle.load(file)  # noqa: S301 - written by this program
        self.namespace["data"] = data
        self._given = [data]

    def set_up(self) -> None:
        """Execute `setup`: its result, or else the data, is the first argument of the function."""
        assert self.order.setup is not None
        if (state := self._execute(self.order.setup, "setup")) is not None:
            self.namespace["state"] = state
            self._given = [state]

    def make_data(self) -> object:
        """The data set, as `data` of the order makes it."""
        assert self.order.data is not None
        result = self._execute(self.order.data, "data")
        return result if self.order.data.call is not None else self.namespace["data"]

    def once(self) -> object:
        """The result of one call; of statements, of the last one if it is an expression."""
        if self.order.work.call is not None:
            return self._execute(self.order.work, "call")
        import ast  # noqa: PLC0415 - only of inline code

        tree = ast.parse(self.order.work.code, "<code>")
        if not tree.body or not isinstance(tree.body[-1], ast.Expr):
            raise TypeError("the last statement is no expression, whose value would be the result")
        last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
        exec(compile(tree, "<code>", "exec"), self.namespace)  # noqa: S102 - as ordered
        return eval(compile(last, "<code>", "eval"), self.namespace)  # noqa: S307 - as ordered

    def tear_down(self) -> None:
        """Execute `teardown`."""
        assert self.order.teardown is not None
        self._execute(self.order.teardown, "teardown")

    def _execute(self, piece: Piece, name: str) -> object:
        """Call a function, and return its result, or execute statements."""
        if piece.call is not None:
            return find(piece.call)(*self._given, **self._accepted(piece.call))
        exec(compile(piece.code, f"<{name}>", "exec"), self.namespace)  # noqa: S102 - as ordered
        return None

    def _accepted(self, reference: str) -> dict[str, object]:
        """Arguments that a function names, or all where it takes any or does not tell."""
        if not self.arguments:
            return {}
        import inspect  # noqa: PLC0415 - costs 10 ms

        try:
            parameters = inspect.signature(find(reference)).parameters.values()
        except ValueError:
            return self.arguments
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return self.arguments
        names = {parameter.name for parameter in parameters}
        return {name: value for name, value in self.arguments.items() if name in names}

    def _check_arguments(self) -> None:
        """Raises TypeError for an argument that no function takes."""
        pieces = [self.order.work, self.order.setup, self.order.data, self.order.teardown]
        references = [piece.call for piece in pieces if piece is not None]
        if None in references:
            return  # statements may use any name
        taken = {name for reference in references for name in self._accepted(str(reference))}
        for name in self.arguments:
            if name not in taken:
                raise TypeError(f"no function takes the argument {name!r}")

    def loops(self) -> tuple[Loop, Loop]:
        """The loop that calls the function, and the same loop without it."""
        if (call := self.order.work.call) is not None:
            function = find(call)
            if not callable(function):
                raise TypeError(f"{call} is not callable: {type(function).__name__}")
            self._check_arguments()
            accepted = self._accepted(call)
            words = [f"_argument_{number}" for number in range(len(self._given))]
            names = [*words, *(f"_value_{name}" for name in accepted)]
            passed = ", ".join((*words, *(f"{name}=_value_{name}" for name in accepted)))
            text = _FUNCTION.format(names="".join(f", {name}" for name in names), arguments=passed)
            empty: dict[str, Any] = {}
            exec(_EMPTY.format(parameters=", ".join((*words, *accepted))), empty)  # noqa: S102 - our own
            values = (*self._given, *accepted.values())
            called, bare = (compile(text, __file__, "exec") for _ in range(2))
            return Loop(called, {}, (function, *values)), Loop(bare, {}, (empty["_empty"], *values))
        body = self.order.work.code
        compile(body, "<code>", "exec")
        local = [name for name in (*self.arguments, "data", "state") if name in self.namespace]
        passed_on = tuple(self.namespace[name] for name in local)
        return Loop(inline(body, local), self.namespace, passed_on), Loop(
            inline("pass", local), {}, passed_on
        )


def inline(body: str, names: Sequence[str]) -> CodeType:
    """A loop around statements, with the lines of the statements; these names are local variables."""
    import ast  # noqa: PLC0415 - only of inline code

    text = _FUNCTION.format(names="".join(f", {name}" for name in names), arguments="")
    shell = ast.parse(text.replace("_call()", "pass").replace(", _call", ""))
    ast.increment_lineno(shell, _FIRST_SHELL_LINE)
    statements = ast.parse(body, "<code>").body
    shell.body[0].body[1].body = statements or [ast.Pass()]  # type: ignore[attr-defined]
    return compile(ast.fix_missing_locations(shell), "<code>", "exec")


_PROCESS = os.getpid()
#: Iterators of running loops, by thread.
_running: dict[int, Iterator[int]] = {}


def _end_loops() -> None:
    """End the loops in a forked child: a call that returns there is not followed by another."""
    for iterator in _running.values():
        iterator.__setstate__(1 << 62)  # type: ignore[attr-defined] # as pickle sets the position


class Loop:
    """A compiled loop: a separate copy for each client, which Python specialises by itself."""

    def __init__(self, code: CodeType, namespace: dict[str, object], values: tuple[object, ...]) -> None:
        self._values = values
        exec(code, namespace)  # noqa: S102 - as ordered
        self._timed: Callable[..., tuple[int, int]] = namespace["_timed"]  # type: ignore[assignment]

    def sample(self, calls: int) -> tuple[int, int, int, BaseException | None]:
        """Begin, end, calls that returned, and the exception that ended the others."""
        iterator = iter(range(calls))
        _running[threading.get_ident()] = iterator
        begin, returned, failure = clock(), calls, None
        try:
            begin, end = self._timed(iterator, clock, *self._values)
        except BaseException as error:
            end, returned, failure = clock(), calls - operator.length_hint(iterator) - 1, error
        if os.getpid() != _PROCESS:
            os._exit(0)  # the function has forked, and its child has returned
        return begin, end, returned, failure

    def within(self, profiler: Profiler, begin: int) -> None:
        """Profile the samples from an instant on."""
        timed = self._timed

        def profiled(*values: Any) -> tuple[int, int]:
            if clock() < begin:
                return timed(*values)
            profiler.start()
            try:
                return timed(*values)
            finally:
                profiler.stop()

        self._timed = profiled


def shortest_ns() -> int:
    """Shortest time of a sample, in which a reading of the clock is no more than 1/10,000."""
    readings = [clock() for _ in range(1_000)]
    step = min(
        (after - before for before, after in itertools.pairwise(readings) if after > before),
        default=1,
    )
    return max(_SHORTEST_NS, _READINGS * step)


def calibrate(loop: Loop, limit_ns: int) -> int:
    """Calls of a sample that is as long as `limit_ns`; 1 where a call fails or takes as long itself."""
    calls, failures = 1, 0
    while calls < _MOST_CALLS:
        begin, end, returned, error = loop.sample(calls)
        if error is not None:
            failures += 1
            if not isinstance(error, Exception) or (not returned and failures == _FAILURES):
                raise StepError("call", error)
            if returned:
                return 1
            continue
        took = end - begin
        if limit_ns <= took < _LONG_NS:  # something may have interrupted it
            begin, end, _, _ = loop.sample(calls)
            took = min(took, end - begin)
        if took >= limit_ns:
            return calls
        calls = min(calls * 10, max(calls * 2, math.ceil(1.2 * calls * limit_ns / max(1, took))))
    return calls


def columns_of(result: Any) -> tuple[str, list[Any]] | None:
    """Kind of a result (`value`, `column` or `table`) and its columns; None if it has no such form.

    Tables and columns are recognised by their methods: those of pandas, polars, Arrow, DuckDB and NumPy.
    """
    for lazy in ("collect", "to_arrow_table"):
        if hasattr(result, lazy) and not hasattr(result, "num_rows"):
            result = getattr(result, lazy)()
    if hasattr(result, "to_pydict"):
        return "table", list(result.columns)
    if hasattr(result, "columns") and hasattr(result, "shape"):
        return "table", [result[name] for name in result.columns]
    if isinstance(result, dict):
        return "table", list(result.values())
    shape = getattr(result, "shape", None)
    if shape is not None and len(shape) == 2:  # an array
        return "table", [result[:, number] for number in range(shape[1])]
    if shape == () or result is None or isinstance(result, (str, bytes, int, float, complex, bool)):
        return "value", [[result.item() if shape == () else result]]
    if not is_column(result):
        return None
    if (
        isinstance(result, list)
        and result
        and all(isinstance(row, tuple) and len(row) == len(result[0]) for row in result)
    ):
        return "table", [list(column) for column in zip(*result, strict=True)]
    return "column", [result]


def is_column(column: Any) -> bool:
    """True if it has values in a row."""
    by_method = any(hasattr(column, method) for method in ("to_pylist", "to_list", "tolist"))
    return by_method or isinstance(column, (list, tuple, range, set, frozenset))


def listed(column: Any) -> Any:
    """The values of a column as a list; one of another type is a column with it alone."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column) if is_column(column) else [column]


def in_order(columns: list[list[Any]]) -> list[list[Any]]:
    """The rows in the order of their values other than fractions, which differ by rounding."""

    def key(row: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple("" if isinstance(value, float) else repr(value) for value in row)

    rows = sorted(zip(*columns, strict=True), key=key)
    return [list(column) for column in zip(*rows, strict=True)] if rows else columns


def summary(values: list[Any]) -> dict[str, object]:
    """Summary of a column, as `loadcell.model.result_summary.ColumnSummary` declares it."""
    import decimal  # noqa: PLC0415 - only to verify
    import hashlib  # noqa: PLC0415 - only to verify

    numbers, texts, missing = [], hashlib.sha256(), 0
    total_of_texts = 0
    for row, value in enumerate(values):
        if value is None or value != value:
            missing += 1
        elif isinstance(value, (int, float, decimal.Decimal)):
            numbers.append((row, float(value)))
        else:
            text = (value if isinstance(value, str) else repr(value)).encode("utf-8", "surrogatepass")
            texts.update(b"%d %d:" % (row, len(text)) + text)
            total_of_texts += 1
    kinds = {(True, True): "mixed", (True, False): "number", (False, True): "text", (False, False): "empty"}
    return {
        "kind": kinds[bool(numbers), bool(total_of_texts)],
        "values": len(values),
        "missing": missing,
        "sum": math.fsum(number for _, number in numbers),
        "weighted": math.fsum(
            number * ((row + 1) * 2_654_435_761 % (1 << 32)) / (1 << 32) for row, number in numbers
        ),
        "magnitude": math.fsum(abs(number) for _, number in numbers),
        "digest": texts.hexdigest() if total_of_texts else "",
    }


def summary_of_large(column: Any) -> dict[str, object]:
    """Summary of a column with too many values for a list: sums of numbers by NumPy, and otherwise their
    number alone.
    """
    values, kind, missing, total, magnitude = len(column), "text", 0, 0.0, 0.0
    with contextlib.suppress(Exception):
        import numpy  # noqa: PLC0415 - of the interpreter under test, if it has it

        array = numpy.asarray(column)
        if array.dtype.kind in "iufb" or (array.dtype.kind == "O" and not isinstance(array[0], str)):
            array = array.astype(float)
            missing = int(numpy.isnan(array).sum())
            kind, total, magnitude = "number", float(numpy.nansum(array)), float(numpy.nansum(abs(array)))
    return {
        "kind": kind, "values": values, "missing": missing, "sum": total, "weighted": 0.0,
        "magnitude": magnitude, "digest": "",
    }  # fmt: skip


def size_of(result: Any) -> int:
    """Bytes of a result, as its library states them."""
    if hasattr(result, "memory_usage"):  # pandas
        usage = result.memory_usage(deep=True)
        return int(usage.sum() if hasattr(usage, "sum") else usage)
    if hasattr(result, "estimated_size"):  # polars
        return int(result.estimated_size())
    return int(getattr(result, "nbytes", None) or sys.getsizeof(result))


def describe(result: Any, order: Order) -> dict[str, object]:
    """Size of a result, and its content on request."""
    form = columns_of(result) if order.verify else None
    columns = [] if form is None else form[1]
    if any(hasattr(column, "__len__") and len(column) > _MOST_ROWS for column in columns):
        summaries = [summary_of_large(column) for column in columns]
    else:
        lists = [listed(column) for column in columns]
        summaries = [summary(values) for values in (lists if order.ordered or not lists else in_order(lists))]
    return {
        "name": type(result).__name__,
        "kind": "opaque" if form is None else form[0],
        "columns": summaries,
        "size_bytes": size_of(result),
    }


class Errors:
    """Exceptions of one client, by class and place."""

    def __init__(self, lines: Lines, client: int) -> None:
        self._lines, self._client = lines, client
        self._counts: dict[tuple[str, str], list[Any]] = {}

    def add(self, error: BaseException) -> None:
        """Count an exception. Raises it where it is no `Exception`, which ends a program."""
        if not isinstance(error, Exception) or isinstance(error, MemoryError):
            raise StepError("call", error)
        kind = type(error)
        name = (
            kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        )
        entry = self._counts.setdefault((name, position_of(error)), [text_of(error), 0])
        entry[1] += 1

    def tell(self) -> None:
        """Write the counts since the last time."""
        for (name, position), (text, count) in self._counts.items():
            self._lines.say(
                type="error", client=self._client, name=name, position=position, text=text, count=count
            )
        self._counts.clear()


class Pace:
    """Instants at which calls are due, shared by all clients of this process."""

    def __init__(self, order: Order, begin: int) -> None:
        self._stretches = order.rate
        self._random = random.Random(order.seed) if order.arrivals == "poisson" else None  # noqa: S311 - no secret
        self._lock = threading.Lock()
        self._begin, self._expected = begin, 0.0
        self._index, self._index_count, self._index_ns = 0, 0.0, 0.0

    def next(self) -> int | None:
        """The next instant; None after the end."""
        with self._lock:
            self._expected += 1.0 if self._random is None else self._random.expovariate(1.0)
            while self._index < len(self._stretches):
                stretch = self._stretches[self._index]
                first, last = stretch["from_per_s"], stretch["to_per_s"]
                length_s = stretch["for_ns"] / 1e9
                count = self._expected - self._index_count
                total = (first + last) / 2 * length_s
                if count <= total:
                    slope = (last - first) / length_s if length_s else 0.0
                    if abs(slope) < 1e-12:
                        seconds = count / first
                    else:
                        seconds = (math.sqrt(first * first + 2 * slope * count) - first) / slope
                    return self._begin + round(self._index_ns + seconds * 1e9)
                self._index_count += total
                self._index_ns += stretch["for_ns"]
                self._index += 1
            return None


class Client(threading.Thread):
    """One client: calls in a loop until the end, in samples, or each when it is due."""

    def __init__(self, number: int, lines: Lines, loops: tuple[Loop, Loop], calls: int, end: int) -> None:
        super().__init__(name=f"loadcell-{number}")
        self._number, self._lines, self._end = number, lines, end
        (self._loop, self._empty), self._calls = loops, calls
        self._errors = Errors(lines, number)
        self._samples: list[tuple[int, int, int | None, int, int]] = []
        self.pace: Pace | None = None
        #: Name of the function whose calls are marked, of the first samples, where a sample is a call.
        self.span: str | None = None
        self._spans = 0
        self.begin = self.measure = 0
        self.failure: StepError | None = None

    def run(self) -> None:
        try:
            self._wait(self.begin)
            if self.pace is None:
                self._closed()
            else:
                self._open(self.pace)
        except StepError as failure:
            self.failure = failure
        self._tell()

    @staticmethod
    def _wait(until: int) -> None:
        while (remaining := until - clock()) > 0:
            time.sleep(remaining / 1e9)

    def _closed(self) -> None:
        report = clock() + _REPORT_NS
        while True:
            begin, end, calls, error = self._loop.sample(self._calls)
            self._mark(begin, end)
            self._samples.append((begin, end, None, calls, error is not None))
            if error is not None:
                self._errors.add(error)
            if end >= self._end and begin >= self.measure:
                return  # at least one sample is measured
            if end >= report:
                self._tell()
                if self._number == 0 and self._calls > 1:
                    begin, end, calls, _ = self._empty.sample(self._calls)
                    self._lines.say(type="overhead", calls=calls, ns=end - begin)
                report = clock() + _REPORT_NS

    def _open(self, pace: Pace) -> None:
        report = clock() + _REPORT_NS
        while (due := pace.next()) is not None and due < self._end:
            self._wait(due)
            begin, end, calls, error = self._loop.sample(1)
            self._mark(begin, end)
            self._samples.append((begin, end, due, calls, error is not None))
            if error is not None:
                self._errors.add(error)
            if end >= self._end:
                return
            if end >= report:
                self._tell()
                report = clock() + _REPORT_NS

    def _mark(self, begin: int, end: int) -> None:
        if self.span is not None and self._calls == 1 and self._spans < _MOST_SPANS:
            self._spans += 1
            self._lines.say(type="span", name=self.span, begin=begin, end=end)

    def _tell(self) -> None:
        for first in range(0, len(self._samples), _MOST_SAMPLES):
            samples = self._samples[first : first + _MOST_SAMPLES]
            self._lines.say(type="samples", client=self._number, samples=samples)
        self._samples = []
        self._errors.tell()


class Profiler:
    """A profiler of the first client: it starts and stops around each sample of the measurement.

    `finish` says what it found. Files are named in the order.
    """

    def __init__(self, order: Order, code: Code) -> None:
        assert order.profile is not None
        self.profile: dict[str, Any] = order.profile
        self.call, self._code = order.work.call, code

    def begin(self, begin: int, frequency: int = 0) -> None:
        """The measurement begins at this instant."""

    def start(self) -> None:
        """A sample begins."""

    def stop(self) -> None:
        """A sample has ended."""

    def finish(self, lines: Lines) -> None:
        """The load has ended."""

    def stack_of(self, frames: list[tuple[str, str, int]]) -> str | None:
        """Folded stack of frames (name, file, line) from the outermost: those within the loop.

        None for frames of the harness itself.
        """
        names = []
        for name, file, line in frames:
            if name == "_timed" and file in (__file__, "<code>"):
                names = ["<code>"] if self.call is None else []
            elif name == "_empty" or (file == __file__ and not names):
                return None
            else:
                names.append(frame_name(name, file, line))
        inside = any(frame[0] == "_timed" for frame in frames)
        if not names and not inside:
            return None
        return ";".join(["python", *(names or [self.call or "<code>"])])


def version_of(package: str) -> str:
    """Version of an installed package."""
    import importlib.metadata  # noqa: PLC0415 - only to profile

    return importlib.metadata.version(package)


def frame_name(name: str, file: str, line: int) -> str:
    """`function (package/module.py:12)`, with the file from the directory of imports."""
    roots = [path for path in sys.path if path and file.startswith(path.rstrip("/") + "/")]
    short = file[len(max(roots, key=len).rstrip("/")) + 1 :] if roots else file
    return f"{name} ({short}:{line})".replace(";", ":").replace("\n", " ")


class Sampling(Profiler):
    """Samples the stacks of all threads by a thread of this process."""

    def begin(self, begin: int, frequency: int = 0) -> None:
        self._counts: dict[str, int] = {}
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        if frequency:
            sys.setswitchinterval(0.0005)  # a thread that computes hands over that soon
            self._thread = threading.Thread(target=self._sample, args=[begin, frequency], daemon=True)
            self._thread.start()

    def _sample(self, begin: int, frequency: int) -> None:
        due = begin
        while not self._end.wait(max(0.0, (due - clock()) / 1e9)):
            for thread, frame in sys._current_frames().items():
                if thread in _running and (stack := self._stack(frame)) is not None:
                    self._counts[stack] = self._counts.get(stack, 0) + 1
            due = max(due + 1_000_000_000 // frequency, clock())

    def _stack(self, frame: Any) -> str | None:
        frames = []
        while frame is not None:
            code = frame.f_code
            frames.append((code.co_qualname, code.co_filename, code.co_firstlineno))
            if code.co_name == "_timed":
                return self.stack_of(frames[::-1])
            frame = frame.f_back
        return None

    def finish(self, lines: Lines) -> None:
        if self._thread is not None:
            self._end.set()
            self._thread.join()
            lines.say(type="stacks", stacks=self._counts)


class Calls(Profiler):
    """Counts and times calls by cProfile."""

    def __init__(self, order: Order, code: Code) -> None:
        super().__init__(order, code)
        import cProfile  # noqa: PLC0415 - only to profile

        self._profile = cProfile.Profile()
        self._samples = 0

    def start(self) -> None:
        self._samples += 1
        self._profile.enable()

    def stop(self) -> None:
        self._profile.disable()

    def finish(self, lines: Lines) -> None:
        self._profile.dump_stats(self.profile["file"])
        functions = [row for entry in self._profile.getstats() if (row := self._row(entry)) is not None]
        functions.sort(key=lambda row: -float(row["self_s"]))
        statistics = {
            "functions": len(functions),
            "calls": sum(int(row["calls"]) for row in functions),
            "total_s": math.fsum(float(row["self_s"]) for row in functions),
            "largest": functions[: self.profile["most"]],
        }
        lines.say(type="findings", tool=f"cProfile {sys.version.split()[0]}", event="calls", calls=statistics)

    def _row(self, entry: Any) -> dict[str, str | int | float] | None:
        code, calls = entry.code, entry.callcount
        if isinstance(code, str):
            if code == "<method 'disable' of '_lsprof.Profiler' objects>":
                return None
            if code == "<built-in method time.perf_counter_ns>" and (calls := calls - 2 * self._samples) <= 0:
                return None
            name, position = code, ""
        elif code.co_filename == __file__:
            return None
        else:
            name, position = code.co_qualname, f"{code.co_filename}:{code.co_firstlineno}"
            if code.co_name == "_timed" and code.co_filename == "<code>":
                name, position = "<code>", ""
        return {
            "name": name,
            "position": position,
            "calls": calls,
            "primitive_calls": calls - entry.reccallcount,
            "self_s": entry.inlinetime,
            "cumulative_s": entry.totaltime,
        }


class Allocations(Profiler):
    """The peak of allocated memory, by memray, from the first sample to the last."""

    def __init__(self, order: Order, code: Code) -> None:
        super().__init__(order, code)
        import memray  # noqa: PLC0415 - only to profile

        self._memray = memray
        self._tracker: Any = None

    def start(self) -> None:
        if self._tracker is None:
            destination = self._memray.FileDestination(self.profile["file"], overwrite=True)
            self._tracker = self._memray.Tracker(
                destination=destination,
                file_format=self._memray.FileFormat.AGGREGATED_ALLOCATIONS,
                trace_python_allocators=True,
            )
            self._tracker.__enter__()

    def finish(self, lines: Lines) -> None:
        if self._tracker is None:
            return
        self._tracker.__exit__(None, None, None)
        reader = self._memray.FileReader(self.profile["file"])
        at_peak = reader.get_high_watermark_allocation_records(merge_threads=False)
        records = [(record.tid, record.size, record.stack_trace()[::-1]) for record in at_peak]
        stacks: dict[str, int] = {}
        # memray leaves out the outermost frames of the thread that began: those of the harness
        ours = {thread for thread, _, frames in records if any(frame[0] == "_timed" for frame in frames)}
        for thread, size, frames in records:
            inside = any(frame[0] == "_timed" for frame in frames)
            if inside or thread not in ours:
                stack = self.stack_of(frames) if frames else "python;[native threads]"
                stacks[str(stack)] = stacks.get(str(stack), 0) + size
        lines.say(type="stacks", stacks=stacks)
        lines.say(
            type="findings",
            tool=f"memray {version_of('memray')}",
            event="peak",
            allocations={"peak_bytes": sum(stacks.values())},
        )


class SourceLines(Profiler):
    """Growth of the resident memory by source line, in named functions."""

    def __init__(self, order: Order, code: Code) -> None:
        super().__init__(order, code)
        self._descriptor = os.open("/proc/self/statm", os.O_RDONLY)
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._named: dict[CodeType, tuple[str, str, list[str], int]] = {}
        self._lines: dict[CodeType, dict[int, list[int]]] = {}
        self._calls: dict[CodeType, int] = {}
        self._text = order.work.code
        for name in self.profile["functions"] or ([] if self.call is None else [self.call]):
            self._name(name)

    def _name(self, name: str) -> None:
        import inspect  # noqa: PLC0415 - only to profile

        function = inspect.unwrap(find(name))
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if code is None:
            raise TypeError(f"{name} is no Python function, and has no source lines")
        try:
            text, first = inspect.getsourcelines(code)
        except OSError:
            text, first = [], code.co_firstlineno
        self._named[code] = (name, code.co_filename, text, first)

    def _resident(self) -> int:
        return int(os.pread(self._descriptor, 100, 0).split()[1]) * self._page

    def start(self) -> None:
        sys.settrace(self._entered)

    def stop(self) -> None:
        sys.settrace(None)

    def _entered(self, frame: Any, _: str, __: object) -> Any:
        code = frame.f_code
        if code not in self._named:
            if self.profile["functions"] or code.co_name != "_timed" or code.co_filename != "<code>":
                return None
            self._named[code] = ("<code>", "", self._text.splitlines(), 1)
        entries = self._lines.setdefault(code, {})
        self._calls[code] = self._calls.get(code, 0) + 1
        line, before = 0, 0

        def trace(frame: Any, event: str, _: object) -> Any:
            nonlocal line, before
            if event in ("line", "return"):
                now = self._resident()
                if line:
                    entry = entries.setdefault(line, [0, 0, 0])
                    entry[0] += 1
                    entry[1] += now - before
                    entry[2] = max(entry[2], now)
                line, before = frame.f_lineno, self._resident()
            return trace

        return trace

    def finish(self, lines: Lines) -> None:
        functions = []
        for code, (name, file, text, first) in self._named.items():
            rows = sorted(self._lines.get(code, {}).items())
            rows = [row for row in rows if row[0] < _FIRST_SHELL_LINE]
            calls = self._calls.get(code, 0)
            if name == "<code>":
                calls = max((entry[0] for _, entry in rows), default=0)
            functions.append(
                {
                    "name": name,
                    "file": file,
                    "calls": calls,
                    "lines": [
                        {
                            "number": number,
                            "text": text[number - first].rstrip() if number - first < len(text) else "",
                            "executions": entry[0],
                            "increment_bytes": entry[1] / calls,
                            "total_bytes": entry[2],
                        }
                        for number, entry in rows
                    ],
                }
            )
        lines.say(type="findings", tool="sys.settrace", event="resident", lines=functions)


class Trace(Profiler):
    """Calls over time, by viztracer."""

    def __init__(self, order: Order, code: Code) -> None:
        super().__init__(order, code)
        import viztracer  # noqa: PLC0415 - only to profile

        self._tracer = viztracer.VizTracer(
            tracer_entries=self.profile["events"],
            min_duration=self.profile["least_ns"] / 1e3,
            output_file=self.profile["file"],
            verbose=0,
        )

    def start(self) -> None:
        self._tracer.start()

    def stop(self) -> None:
        self._tracer.stop()

    def finish(self, lines: Lines) -> None:
        self._tracer.save()
        lines.say(type="findings", tool=f"viztracer {version_of('viztracer')}", event="trace")


PROFILERS = {
    "python": Sampling,
    "calls": Calls,
    "memory": Allocations,
    "lines": SourceLines,
    "trace": Trace,
}


def measure(order: Order, lines: Lines) -> None:
    """Set up, calibrate, wait for the start, measure."""
    code = Code(order)
    lines.say(type="started", process=os.getpid())
    if order.data_file is not None:
        with step("data"), span(lines, "data"):
            code.load_data(order.data_file)
    for reference in order.spans:
        if reference != order.work.call:  # its samples are its calls
            with step("spans"):
                mark(reference, lines)
    if order.setup is not None:
        with step("setup"), span(lines, "setup"):
            code.set_up()
    with step("call"):
        loops = code.loops()
    if not order.gc:
        gc.disable()
    scheduled = bool(order.arrivals)
    lines.say(type="set-up")
    limit = shortest_ns()
    calls = 1 if scheduled else calibrate(loops[0], limit)
    overheads = []
    for _ in range(0 if scheduled else 5):
        count = max(calls, 1_000)
        begin, end, _, _ = loops[1].sample(count)
        overheads.append((end - begin) / count)
    profiler = None
    if order.profile is not None:
        with step("profile"):
            profiler = PROFILERS[order.profile["kind"]](order, code)
    lines.say(
        type="ready",
        process=os.getpid(),
        calls=calls,
        overhead_ns=sorted(overheads)[2] if overheads else 0.0,
        **environment(),
    )
    start, *frequency = map(int, sys.stdin.readline().split())
    if profiler is not None:
        profiler.begin(start + order.warmup_ns, *frequency)
        loops[0].within(profiler, start + order.warmup_ns)
    resident = resident_bytes("VmRSS")
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123 - as above
        file.write("5")  # VmHWM begins again at the present size
    end = start + order.warmup_ns + order.duration_ns
    pace = Pace(order, start) if scheduled else None
    clients = [
        Client(order.first_client + number, lines, loops if number == 0 else code.loops(), calls, end)
        for number in range(order.clients)
    ]
    for client in clients:
        client.begin, client.measure, client.pace = start, start + order.warmup_ns, pace
        client.span = order.work.call if order.work.call in order.spans else None
    for client in clients[1:]:
        client.daemon = True
        client.start()
    clients[0].run()
    for client in clients[1:]:
        client.join()
    for client in clients:
        if client.failure is not None:
            raise client.failure
    peak, grown = resident_bytes("VmHWM"), resident_bytes("VmRSS") - resident
    if profiler is not None:
        with step("profile"):
            profiler.finish(lines)
    wants_size = order.profile is not None and order.profile["kind"] == "memory"
    if (order.verify or wants_size) and order.first_client == 0:
        with step("verify"), span(lines, "result"):
            lines.say(type="result", **describe(code.once(), order))
    if order.teardown is not None:
        with step("teardown"), span(lines, "teardown"):
            code.tear_down()
    threads = [
        thread.name
        for thread in threading.enumerate()
        if thread is not threading.main_thread() and not thread.daemon
    ]
    lines.say(
        type="end",
        threads=threads[:5],
        thread_count=len(threads),
        resident_bytes=resident,
        peak_bytes=peak,
        grown_bytes=grown,
    )


def resident_bytes(name: str) -> int:
    """Resident set of this process (`VmRSS`), or its peak (`VmHWM`)."""
    with open("/proc/self/status", encoding="utf-8") as file:  # noqa: PTH123 - no more modules than needed
        for row in file:
            if row.startswith(name + ":"):
                return int(row.split()[1]) * 1024
    return 0


def limit_memory(order: Order) -> None:
    """Enter the control group with the limit, or limit the address space."""
    if order.group is not None:
        with open(order.group, "w", encoding="utf-8") as file:  # noqa: PTH123 - no more modules than needed
            file.write("0")
    elif order.memory_bytes is not None:
        import resource  # noqa: PLC0415 - only with a limit

        resource.setrlimit(resource.RLIMIT_AS, (order.memory_bytes, order.memory_bytes))


def spread(order: Order, words: Sequence[str], lines: Lines) -> bool:
    """Run each client in a separate process; True if all have succeeded."""
    import subprocess  # noqa: PLC0415 - costs 10 ms

    processes = [
        subprocess.Popen(
            [sys.executable, *words[:2], str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(order.clients)
    ]

    def relay(process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.pass_on(line)

    threads = [threading.Thread(target=relay, args=[process]) for process in processes]
    for thread in threads:
        thread.start()
    start = sys.stdin.buffer.readline()
    for process in processes:
        assert process.stdin is not None
        try:
            process.stdin.write(start)
            process.stdin.close()
        except BrokenPipeError:
            pass  # its reason to end is in a line
    for thread in threads:
        thread.join()
    return {process.wait() for process in processes} == {0}


def environment() -> dict[str, object]:
    """Facts of the interpreter that a trial records."""
    modules = {name.partition(".")[0] for name in list(sys.modules)}
    return {
        "version": ".".join(map(str, sys.version_info[:3])),
        "implementation": sys.implementation.name,
        "executable": sys.executable,
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random"),
        "gc": gc.isenabled(),
        "gc_threshold": gc.get_threshold(),
        "processors": sorted(os.sched_getaffinity(0)),
        "packages": versions(modules),
    }


def versions(modules: set[str]) -> dict[str, str]:
    """Versions of the packages that have been imported, as each states it itself."""
    stated = {}
    for name in sorted(modules):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str) and name not in sys.stdlib_module_names:
            stated[name] = version
    return stated


def make_data(order: Order, lines: Lines) -> None:
    """Make the data set, and write it under another name first."""
    with step("data"):
        data = Code(order).make_data()
        path = str(order.data_file)
        with open(f"{path}.{os.getpid()}", "wb") as file:  # noqa: PTH123 - no more modules than needed
            pickle.dump(data, file, protocol=5)
        os.replace(file.name, path)  # noqa: PTH105 - no more modules than needed
    lines.say(type="end")


def main(words: Sequence[str]) -> NoReturn:
    """Execute an order, and end; its failure is the last line."""
    os.register_at_fork(after_in_child=_end_loops)
    with open(words[1], encoding="utf-8") as file:  # noqa: PTH123 - no more modules than needed
        order = Order(file.read())
    lines = Lines()
    if order.processes and order.mode == "measure":
        if len(words) == 2:
            os._exit(0 if spread(order, words, lines) else 1)
        order.first_client, order.clients = int(words[2]), 1
    limit_memory(order)
    sys.path[:1] = order.path
    try:
        (make_data if order.mode == "data" else measure)(order, lines)
    except StepError as failure:
        error = failure.error
        kind = type(error).__qualname__
        lines.say(
            type="failed", step=failure.step, name=kind, text=text_of(error), position=position_of(error)
        )
        traceback.print_exception(error)
        sys.stderr.flush()
        os._exit(1)
    sys.stderr.flush()
    os._exit(0)  # threads that the code has left are not waited for


if __name__ == "__main__":
    main(sys.argv)
