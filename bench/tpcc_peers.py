"""Scripts for pgbench that do what BenchmarkSQL does: load TPC-C's rows by batches of INSERT, and New-Order
alone.

pgbench is C and makes no random text, so as a peer it is quicker than BenchmarkSQL itself.
"""

from __future__ import annotations

#: As BenchmarkSQL's loader sends and commits them.
BATCH = 100
ITEMS, DISTRICTS, CUSTOMERS, LINES_OF_ORDER = 100_000, 10, 3_000, 10
#: Of each district's orders, those from this on wait for delivery: the last 900.
FIRST_WAITING_BATCH = 21
MOST_LINES = 15

#: Texts as long as TPC-C's are on average; they go with every row, as parameters.
TEXTS = {
    "t14": "x" * 14,
    "t24": "x" * 24,
    "t38": "x" * 38,
    "t400": "x" * 400,
    "zip": "123411111",
    "state": "XX",
    "phone": "1234567890123456",
    "now": "2026-01-01 00:00:00",
}


def load_scripts(workers: int) -> dict[str, tuple[str, int]]:
    """By table: the script of one batch, and how many batches each client (one warehouse a client) does of
    it.
    """
    batches_of_district = CUSTOMERS // BATCH
    position = f"\\set d :n / {batches_of_district} + 1\n\\set first :n % {batches_of_district} * {BATCH}\n"
    return {
        "item": (_script(f"\\set first (:n * {workers} + "
                         f":client_id) * {BATCH}\n", _item), ITEMS // BATCH // workers),
        "stock": (_script(f"\\set first :n * {BATCH}\n", _stock), ITEMS // BATCH),
        "customer": (_script(position, _customer, _history), DISTRICTS * batches_of_district),
        "order": (
            _script(position, _order, *[_line(number) for number in range(1, LINES_OF_ORDER + 1)])
            + f"\\if :first >= {FIRST_WAITING_BATCH * BATCH}\n{_batch(_waiting)}\\endif\nCOMMIT;\n",
            DISTRICTS * batches_of_district,
        ),
    }  # fmt: skip


def _script(position: str, *rows: str) -> str:
    """One transaction: a batch of each kind of row. Orders end with batches of their own."""
    ends = "" if _order in rows else "COMMIT;\n"
    head = "\\set n :n + 1\n\\set w :client_id + 1\n"
    return head + position + "BEGIN;\n" + "".join(_batch(row) for row in rows) + ends


def _batch(row: str) -> str:
    lines = "".join(row.replace("{k}", str(k)) for k in range(1, BATCH + 1))
    return f"\\startpipeline\n{lines}\\endpipeline\n"


_item = (
    "INSERT INTO bmsql_item (i_id, i_im_id, i_name, i_price, i_data) "
    "VALUES (:first::int + {k}, 77, :t14, 12.34, :t38);\n"
)
_stock = (
    "INSERT INTO bmsql_stock (s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, "
    "s_dist_04, s_dist_05, "
    "s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data) VALUES "
    f"(:first::int + {{k}}, :w, 55, {', '.join([':t24'] * 10)}, 0, 0, 0, :t38);\n"
)
_customer = (
    "INSERT INTO bmsql_customer (c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, "
    "c_street_2, c_city, "
    "c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, "
    "c_payment_cnt, "
    "c_delivery_cnt, c_data) VALUES (:first::int + {k}, :d, :w, :t14, 'OE', :t14, :t14, :t14, :t14, "
    ":state, :zip, "
    ":phone, :now, 'GC', 50000, 0.25, -10, 10, 1, 1, :t400);\n"
)
_history = (
    "INSERT INTO bmsql_history (hist_id, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, "
    "h_data) VALUES "
    f"(:w::int * {DISTRICTS * CUSTOMERS} + :d::int * {CUSTOMERS} + :first::int + {{k}}, :first::int + "
    "{k}, :d, :w, :d, "
    ":w, :now, 10, :t14);\n"
)
_order = (
    "INSERT INTO bmsql_oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, "
    "o_all_local) VALUES "
    "(:first::int + {k}, :d, :w, :first::int + {k}, :now, 5, 10, 1);\n"
)
_waiting = "INSERT INTO bmsql_new_order (no_o_id, no_d_id, no_w_id) VALUES (:first::int + {k}, :d, :w);\n"


def _line(number: int) -> str:
    return (
        "INSERT INTO bmsql_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, "
        "ol_delivery_d, "
        f"ol_quantity, ol_amount, ol_dist_info) VALUES (:first::int + {{k}}, :d, :w, {number}, "
        ":first::int + {k}, :w, "
        ":now, 5, 0, :t24);\n"
    )


def new_order(warehouses: int) -> str:
    """New-Order with the statements, pipelines and odds that loadcell's has; the text of a line is always its
    first.
    """
    lines = range(1, MOST_LINES + 1)
    dists = ", ".join(f"s_dist_{district:02}" for district in range(1, DISTRICTS + 1))
    other = f"(:w + random(0, {warehouses - 2})) % {warehouses} + 1" if warehouses > 1 else ":w"
    parts = [
        f"\\set w :client_id % {warehouses} + 1\n\\set d :client_id / {warehouses} % {DISTRICTS} + 1\n",
        f"\\set c ((random(0, 1023) | random(1, {CUSTOMERS})) + 259) % {CUSTOMERS} + 1\n\\set count "
        "random(5, 15)\n",
    ]
    for k in lines:
        parts.append(
            f"\\set i{k} ((random(0, 8191) | random(1, {ITEMS})) + 7911) % {ITEMS} + 1\n\\set q{k} "
            "random(1, 10)\n"
            f"\\set s{k} CASE WHEN random(1, 100) = 1 THEN {other} ELSE :w END\n"
        )
    parts.append(
        "BEGIN;\n"
        "SELECT d_tax, d_next_o_id FROM bmsql_district WHERE d_w_id = :w AND d_id = :d FOR UPDATE \\gset\n"
        "SELECT c_discount, c_last, c_credit, w_tax FROM bmsql_customer JOIN bmsql_warehouse ON "
        "w_id = c_w_id "
        "WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c \\gset\n"
        "UPDATE bmsql_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w AND d_id = :d;\n"
        "INSERT INTO bmsql_oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) "
        "VALUES (:d_next_o_id, :d, :w, :c, CURRENT_TIMESTAMP, :count, 1);\n"
        "INSERT INTO bmsql_new_order (no_o_id, no_d_id, no_w_id) VALUES (:d_next_o_id, :d, :w);\n"
    )
    for k in lines:
        parts.append(
            f"\\if :count >= {k}\n"
            f"SELECT i_price, i_name, i_data FROM bmsql_item WHERE i_id = :i{k} \\gset l{k}_\n"
            f"SELECT s_quantity, s_data, {dists} FROM bmsql_stock WHERE s_w_id = :s{k} AND s_i_id = "
            f":i{k} FOR UPDATE "
            f"\\gset l{k}_\n"
            f"\\set left{k} CASE WHEN :l{k}_s_quantity >= :q{k} + 10 THEN :l{k}_s_quantity - :q{k} "
            f"ELSE :l{k}_s_quantity + 91 - :q{k} END\n"
            f"\\set remote{k} CASE WHEN :s{k} = :w THEN 0 ELSE 1 END\n"
            f"\\set amount{k} :q{k} * :l{k}_i_price\n"
            "\\endif\n"
        )
    parts.append("\\startpipeline\n")
    for k in lines:
        parts.append(
            f"\\if :count >= {k}\n"
            f"UPDATE bmsql_stock SET s_quantity = :left{k}, s_ytd = s_ytd + :q{k}, s_order_cnt = "
            "s_order_cnt + 1, "
            f"s_remote_cnt = s_remote_cnt + :remote{k} WHERE s_w_id = :s{k} AND s_i_id = :i{k};\n"
            "\\endif\n"
        )
    parts.append("\\endpipeline\n\\startpipeline\n")
    for k in lines:
        parts.append(
            f"\\if :count >= {k}\n"
            "INSERT INTO bmsql_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, "
            "ol_supply_w_id, ol_quantity, "
            f"ol_amount, ol_dist_info) VALUES (:d_next_o_id, :d, :w, {k}, :i{k}, :s{k}, :q{k}, "
            f":amount{k}, :l{k}_s_dist_01);\n"
            "\\endif\n"
        )
    parts.append(
        "\\endpipeline\n\\set failing random(1, 100)\n\\if :failing = "
        "1\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n"
    )
    return "".join(parts)
