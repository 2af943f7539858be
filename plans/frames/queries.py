"""Group-by, join and filter on the data of db-benchmark (G1, K = 100, without missing values).

Defined at https://github.com/duckdblabs/db-benchmark.

Each library returns the columns of the question in this order; the order of rows does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Number of groups of the small keys.
GROUPS = 100
#: Rows of the table to be joined, as shares of the rows: small 10^-6, medium 10^-3.
SMALL, MEDIUM = 1e-6, 1e-3

Work = Callable[[], Any]


def make(rows: int, question: str) -> dict[str, dict[str, Any]]:
    """Table `x` of db-benchmark, and for a join the table `y`."""
    random = np.random.default_rng(108)
    large = max(1, rows // GROUPS)

    def keys(count: int, width: int) -> Any:
        names = np.array([f"id{number:0{width}d}" for number in range(1, count + 1)])
        return names[random.integers(0, count, rows)]

    tables = {
        "x": {
            "id1": keys(GROUPS, 3),
            "id2": keys(GROUPS, 3),
            "id3": keys(large, 10),
            "id4": random.integers(1, GROUPS + 1, rows),
            "id5": random.integers(1, GROUPS + 1, rows),
            "id6": random.integers(1, large + 1, rows),
            "v1": random.integers(1, 6, rows),
            "v2": random.integers(1, 16, rows),
            "v3": np.round(random.uniform(0, 100, rows), 6),
        }
    }
    if question.startswith("join"):
        share = SMALL if question == "join-small" else MEDIUM
        count = max(1, round(rows * share))
        key = "id4" if question == "join-small" else "id6"
        domain = GROUPS if key == "id4" else large
        values = random.permutation(domain)[: max(count, min(domain, 10))] + 1
        tables["y"] = {key: values, "v4": np.round(random.uniform(0, 100, len(values)), 6)}
    return tables


#: Sums and means by key: columns of the key, (column, function) of the values.
GROUP_BY: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "group-q1": (["id1"], [("v1", "sum")]),
    "group-q2": (["id1", "id2"], [("v1", "sum")]),
    "group-q3": (["id3"], [("v1", "sum"), ("v3", "mean")]),
    "group-q4": (["id4"], [("v1", "mean"), ("v2", "mean"), ("v3", "mean")]),
    "group-q5": (["id6"], [("v1", "sum"), ("v2", "sum"), ("v3", "sum")]),
}
#: The key of each join.
JOIN = {"join-small": "id4", "join-medium": "id6"}
#: The filter keeps about one row in ten.
LEAST = 90.0


def prepare(data: dict[str, dict[str, Any]], library: str, question: str) -> Work:
    """The question to tables of the library, which are made before it is timed."""
    work: Work = globals()[f"_{library.replace('-', '_')}"](data, question)
    return work


def _pandas(data: dict[str, dict[str, Any]], question: str) -> Work:
    import pandas as pd

    return _of_pandas({name: pd.DataFrame(table) for name, table in data.items()}, question)


def _pandas_arrow(data: dict[str, dict[str, Any]], question: str) -> Work:
    import pandas as pd
    import pyarrow as pa

    tables = {name: pa.table(table).to_pandas(types_mapper=pd.ArrowDtype) for name, table in data.items()}
    return _of_pandas(tables, question)


def _of_pandas(tables: dict[str, Any], question: str) -> Work:
    x = tables["x"]
    if question in GROUP_BY:
        keys, values = GROUP_BY[question]
        functions = {f"{column}_{name}": (column, name) for column, name in values}
        return lambda: x.groupby(keys, as_index=False, sort=False, observed=True).agg(**functions)
    if question in JOIN:
        y = tables["y"]
        return lambda: x.merge(y, on=JOIN[question])
    return lambda: x[x["v3"] >= LEAST]


def _polars(data: dict[str, dict[str, Any]], question: str) -> Work:
    import polars as pl

    return _of_polars({name: pl.DataFrame(table) for name, table in data.items()}, question)


def _polars_lazy(data: dict[str, dict[str, Any]], question: str) -> Work:
    import polars as pl

    lazy = _of_polars({name: pl.DataFrame(table).lazy() for name, table in data.items()}, question)
    return lambda: lazy().collect()


def _of_polars(tables: dict[str, Any], question: str) -> Work:
    import polars as pl

    x = tables["x"]
    if question in GROUP_BY:
        keys, values = GROUP_BY[question]
        functions = [getattr(pl.col(column), name)().alias(f"{column}_{name}") for column, name in values]
        return lambda: x.group_by(keys).agg(functions)
    if question in JOIN:
        y = tables["y"]
        return lambda: x.join(y, on=JOIN[question])
    return lambda: x.filter(pl.col("v3") >= LEAST)


def _duckdb(data: dict[str, dict[str, Any]], question: str) -> Work:
    import duckdb
    import pyarrow as pa

    database = duckdb.connect(config={"autoinstall_known_extensions": False})
    for name, table in data.items():
        arrow = pa.table(table)
        database.register("arrow", arrow)
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")  # noqa: S608 - x or y
        database.unregister("arrow")
    if question in GROUP_BY:
        keys, values = GROUP_BY[question]
        functions = {"sum": "sum", "mean": "avg"}
        columns = [f"{functions[name]}({column})" for column, name in values]
        query = f"SELECT {', '.join(keys + columns)} FROM x GROUP BY {', '.join(keys)}"  # noqa: S608 - our own
    elif question in JOIN:
        query = f"SELECT * FROM x JOIN y USING ({JOIN[question]})"  # noqa: S608 - one of two keys
    else:
        query = f"SELECT * FROM x WHERE v3 >= {LEAST}"  # noqa: S608 - a number
    return lambda: _in_columns(database.sql(query).to_arrow_table())


def _in_columns(table: Any) -> Any:
    """The columns of `x` in their order, which a join by SQL changes."""
    names = [
        name
        for name in ("id1", "id2", "id3", "id4", "id5", "id6", "v1", "v2", "v3", "v4")
        if name in table.column_names
    ]
    return table.select(names) if len(names) == table.num_columns else table


def _pyarrow(data: dict[str, dict[str, Any]], question: str) -> Work:
    import pyarrow as pa
    import pyarrow.compute as pc

    tables = {name: pa.table(table) for name, table in data.items()}
    x = tables["x"]
    if question in GROUP_BY:
        keys, values = GROUP_BY[question]
        return lambda: _keys_first(x.group_by(keys).aggregate(values), keys)
    if question in JOIN:
        y = tables["y"]
        return lambda: _in_columns(x.join(y, JOIN[question], join_type="inner"))
    return lambda: x.filter(pc.greater_equal(x["v3"], LEAST))


def _keys_first(table: Any, keys: list[str]) -> Any:
    return table.select([*keys, *(name for name in table.column_names if name not in keys)])
