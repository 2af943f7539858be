"""TPC-C's consistency conditions 1 to 4 (clause 3.3.2), in SQL on the tables of BenchmarkSQL, as every target
has it.

Each statement gives nothing where the condition holds; else one row: how many do not meet it, and the first
of them.
"""

from __future__ import annotations

from loadcell.plan.workload import Ask, Condition

_SQL: dict[str, tuple[str, str]] = {
    "1: w_ytd = sum(d_ytd)": (
        "warehouse {}: w_ytd {}, sum(d_ytd) {}",
        """
        SELECT count(*) OVER (), w_id, w_ytd, d_ytd
        FROM bmsql_warehouse
        LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS d_ytd FROM bmsql_district GROUP BY d_w_id) AS districts ON d_w_id = w_id
        WHERE w_ytd <> d_ytd OR (w_ytd IS NULL) <> (d_ytd IS NULL)
        ORDER BY w_id LIMIT 1
        """,
    ),
    # Where no order waits there is no max(no_o_id), and nothing to compare.
    "2: d_next_o_id - 1 = max(o_id) = max(no_o_id)": (
        "warehouse {} district {}: d_next_o_id - 1 is {}, max(o_id) {}, max(no_o_id) {}",
        """
        SELECT count(*) OVER (), d_w_id, d_id, last_o_id, o_id, no_o_id
        FROM (
            SELECT d_w_id, d_id, d_next_o_id - 1 AS last_o_id,
                (SELECT max(o_id) FROM bmsql_oorder WHERE o_w_id = d_w_id AND o_d_id = d_id) AS o_id,
                (SELECT max(no_o_id) FROM bmsql_new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) AS no_o_id
            FROM bmsql_district
        ) AS districts
        WHERE last_o_id <> o_id OR (last_o_id IS NULL) <> (o_id IS NULL) OR no_o_id <> last_o_id
        ORDER BY d_w_id, d_id LIMIT 1
        """,
    ),
    "3: max(no_o_id) - min(no_o_id) + 1 = count(new_order)": (
        "warehouse {} district {}: max(no_o_id) {}, min(no_o_id) {}, count {}",
        """
        SELECT count(*) OVER (), no_w_id, no_d_id, max(no_o_id), min(no_o_id), count(*)
        FROM bmsql_new_order
        GROUP BY no_w_id, no_d_id
        HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)
        ORDER BY no_w_id, no_d_id LIMIT 1
        """,
    ),
    "4: sum(o_ol_cnt) = count(order_line)": (
        "warehouse {} district {}: sum(o_ol_cnt) {}, count(order_line) {}",
        """
        SELECT count(*) OVER (), w_id, d_id, sum(promised), sum(there)
        FROM (
            SELECT o_w_id AS w_id, o_d_id AS d_id, sum(o_ol_cnt) AS promised, 0 AS there
            FROM bmsql_oorder GROUP BY o_w_id, o_d_id
            UNION ALL
            SELECT ol_w_id, ol_d_id, 0, count(*) FROM bmsql_order_line GROUP BY ol_w_id, ol_d_id
        ) AS districts
        GROUP BY w_id, d_id
        HAVING sum(promised) <> sum(there)
        ORDER BY w_id, d_id LIMIT 1
        """,
    ),
}


def hold(ask: Ask) -> list[Condition]:
    """Ask whether each condition holds; about half a second a gigabyte of data."""
    conditions = []
    for says, (example, sql) in _SQL.items():
        rows = ask(sql)
        if rows:
            wrong, *first = rows[0]
            conditions.append(Condition(says, int(wrong), example.format(*first)))
        else:
            conditions.append(Condition(says, 0))
    return conditions
