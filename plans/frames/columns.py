"""Sums, means and concatenations of columns by libraries for tables: each returns a function to be timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Bytes of a string, and their letters.
STRING_BYTES = 8
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", dtype="S1")

Work = Callable[[], Any]


def make(rows: int, operation: str) -> dict[str, Any]:
    """Columns `a` and `b`: floats of 1 to 100, or strings of 8 letters; the same ones for each library."""
    random = np.random.default_rng(rows)
    if operation != "concat":
        return {name: random.uniform(1, 100, rows) for name in "ab"}
    letters = {name: LETTERS[random.integers(0, 26, (rows, STRING_BYTES))] for name in "ab"}
    return {name: value.view(f"S{STRING_BYTES}").ravel().astype(str) for name, value in letters.items()}


def prepare(data: dict[str, Any], library: str, operation: str) -> Work:
    """The operation on a table of the library, which is made before it is timed."""
    work: Work = globals()[f"_{library.replace('-', '_')}"](data, operation)
    return work


def _loop(data: dict[str, Any], operation: str) -> Work:
    import pandas as pd

    table = pd.DataFrame(data)

    def by_index() -> Any:
        a, b = table["a"], table["b"]
        return pd.Series([a[row] + b[row] for row in range(len(table))])

    def mean() -> Any:
        total, column = 0.0, table["a"]
        for row in range(len(table)):
            total += column[row]
        return total / len(table)

    return mean if operation == "mean" else by_index


def _iterrows(data: dict[str, Any], operation: str) -> Work:
    import pandas as pd

    table = pd.DataFrame(data)

    def combined() -> Any:
        return pd.Series([row["a"] + row["b"] for _, row in table.iterrows()])

    def mean() -> Any:
        return sum(row["a"] for _, row in table.iterrows()) / len(table)

    return mean if operation == "mean" else combined


def _itertuples(data: dict[str, Any], operation: str) -> Work:
    import pandas as pd

    table = pd.DataFrame(data)

    def combined() -> Any:
        return pd.Series([row.a + row.b for row in table.itertuples()])

    def mean() -> Any:
        return sum(row.a for row in table.itertuples()) / len(table)

    return mean if operation == "mean" else combined


def _apply(data: dict[str, Any], operation: str) -> Work:
    import pandas as pd

    table = pd.DataFrame(data)

    def combined() -> Any:
        return table.apply(lambda row: row["a"] + row["b"], axis=1)

    def mean() -> Any:
        return table.apply(lambda row: row["a"], axis=1).sum() / len(table)

    return mean if operation == "mean" else combined


def _vectorised(data: dict[str, Any], operation: str) -> Work:
    import pandas as pd

    return _of_pandas(pd.DataFrame(data), operation)


def _pandas_arrow(data: dict[str, Any], operation: str) -> Work:
    import pandas as pd
    import pyarrow as pa

    return _of_pandas(pa.table(data).to_pandas(types_mapper=pd.ArrowDtype), operation)


def _of_pandas(table: Any, operation: str) -> Work:
    if operation == "mean":
        return lambda: table["a"].mean()
    return lambda: table["a"] + table["b"]


def _polars(data: dict[str, Any], operation: str) -> Work:
    import polars as pl

    table = pl.DataFrame(data)
    if operation == "mean":
        return lambda: table["a"].mean()
    return lambda: table["a"] + table["b"]


def _polars_lazy(data: dict[str, Any], operation: str) -> Work:
    import polars as pl

    table = pl.DataFrame(data).lazy()
    if operation == "mean":
        return lambda: table.select(pl.col("a").mean()).collect()["a"][0]
    return lambda: table.select(pl.col("a") + pl.col("b")).collect()["a"]


def _duckdb(data: dict[str, Any], operation: str) -> Work:
    import duckdb
    import pyarrow as pa

    database = duckdb.connect(config={"autoinstall_known_extensions": False})
    arrow = pa.table(data)
    database.register("arrow", arrow)
    database.execute("CREATE TABLE numbers AS SELECT a, b FROM arrow")
    database.unregister("arrow")
    if operation == "mean":
        return lambda: database.execute("SELECT avg(a) FROM numbers").fetchall()[0][0]
    operator = "+" if operation == "sum" else "||"
    query = f"SELECT a {operator} b AS c FROM numbers"  # noqa: S608 - one of two operators
    return lambda: database.sql(query).to_arrow_table()["c"]


def _pyarrow(data: dict[str, Any], operation: str) -> Work:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.table(data)
    if operation == "mean":
        return lambda: pc.mean(table["a"]).as_py()
    if operation == "sum":
        return lambda: pc.add(table["a"], table["b"])
    return lambda: pc.binary_join_element_wise(table["a"], table["b"], "")
