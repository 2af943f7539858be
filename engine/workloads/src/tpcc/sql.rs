//! Statements of the five transactions, encoded once and shared by all terminals.

use super::DISTRICTS;
use crate::sql::Next;
use crate::sql::SentRequest;
use loadcell_core::record::{Kind, OpId, Operation};
use loadcell_core::target::Dialect;
use loadcell_protocols::{Mode, Part, Statement};

/// Recorded operations: the transaction, then its types in the order of the specification's clauses.
pub const OPERATIONS: [(&str, Kind); 15] = [
    ("transaction", Kind::Transaction),
    ("new_order", Kind::Type),
    ("payment", Kind::Type),
    ("order_status", Kind::Type),
    ("delivery", Kind::Type),
    ("stock_level", Kind::Type),
    ("new_order_rolled_back", Kind::Outcome),
    ("delivery_skipped", Kind::Outcome),
    ("begin", Kind::Other),
    ("select", Kind::Read),
    ("insert", Kind::Write),
    ("update", Kind::Write),
    ("delete", Kind::Write),
    ("commit", Kind::Other),
    ("rollback", Kind::Other),
];

/// New-Orders rolled back for an unused item, as one in a hundred must be.
pub const ROLLED_BACK: OpId = OpId(6);
/// Deliveries without an undelivered order in at least one district.
pub const SKIPPED: OpId = OpId(7);
pub const BEGIN: SentRequest = SentRequest::new(OpId(8), Kind::Other);
pub const SELECT: SentRequest = SentRequest::new(OpId(9), Kind::Read);
pub const INSERT: SentRequest = SentRequest::new(OpId(10), Kind::Write);
pub const UPDATE: SentRequest = SentRequest::new(OpId(11), Kind::Write);
pub const DELETE: SentRequest = SentRequest::new(OpId(12), Kind::Write);
pub const COMMIT: SentRequest = SentRequest::new(OpId(13), Kind::Other);
pub const ROLLBACK: SentRequest = SentRequest::new(OpId(14), Kind::Other);

pub fn operations() -> Vec<Operation> {
    OPERATIONS.map(|(name, kind)| Operation { name, kind }).into()
}

/// All statements; the code that sends one defines its parameters.
pub struct Sql {
    begin: Statement,
    commit: Statement,
    pub rollback: Statement,
    pub new_order: NewOrder,
    pub payment: Payment,
    pub order_status: OrderStatus,
    pub delivery: Delivery,
    pub stock_level: Statement,
    /// Queries by last name, for Payment and Order-Status.
    pub by_last_name: Statement,
    /// Requests that prepare all of them on a new connection.
    pub parse: Vec<u8>,
}

pub struct NewOrder {
    pub district: Statement,
    pub customer: Statement,
    pub next_order: Statement,
    pub order: Statement,
    pub waiting: Statement,
    pub item: Statement,
    pub stock: Statement,
    pub take: Statement,
    pub line: Statement,
}

pub struct Payment {
    pub pay_district: Statement,
    pub district: Statement,
    pub pay_warehouse: Statement,
    pub warehouse: Statement,
    pub customer: Statement,
    pub pay_customer: Statement,
    pub data: Statement,
    pub pay_customer_with_data: Statement,
    pub history: Statement,
}

pub struct OrderStatus {
    pub customer: Statement,
    pub last_order: Statement,
    pub lines: Statement,
}

pub struct Delivery {
    pub oldest: Statement,
    pub take: Statement,
    pub carrier: Statement,
    pub customer: Statement,
    pub lines: Statement,
    pub sum: Statement,
    pub pay: Statement,
}

/// Setup of a MySQL connection. As by default in PostgreSQL, each statement sees what was committed before
/// it: with one snapshot per Delivery, an order taken by another one would remain the oldest forever.
/// Statements sent together with a failed one must not be autocommitted.
const ONCE_IN_MYSQL: [&str; 2] =
    ["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET SESSION autocommit = 0"];

/// Builds statements with unique names.
struct Builder {
    dialect: Dialect,
    mode: Mode,
    parse: Vec<u8>,
    built: u32,
}

impl Builder {
    fn build(&mut self, sql: &str) -> Statement {
        let statement = Statement::new(self.dialect, self.mode, self.built, &Part::cut(sql));
        self.parse.extend_from_slice(statement.parse());
        self.built += 1;
        statement
    }
}

impl Sql {
    /// Append the statement that begins a transaction.
    pub fn begin(&self, out: &mut Vec<u8>) -> Next {
        self.begin.request(out).end();
        Next::Ask(BEGIN)
    }

    /// Append the statement that commits the transaction.
    pub fn commit(&self, out: &mut Vec<u8>) -> Next {
        self.commit.request(out).end();
        Next::Ask(COMMIT)
    }

    pub fn new(dialect: Dialect, mode: Mode) -> Self {
        // Preparing these has no benefit.
        let plain = |text: &str| Statement::new(dialect, Mode::Simple, 0, &Part::cut(text));
        let mut parse = Vec::new();
        if dialect == Dialect::Mysql {
            ONCE_IN_MYSQL.iter().for_each(|text| plain(text).request(&mut parse).end());
        }
        let mut builder = Builder { dialect, mode, parse, built: 0 };
        let mut sql = |text: &str| builder.build(text);
        let dist: Vec<_> = (1..=DISTRICTS).map(|district| format!("s_dist_{district:02}")).collect();
        let new_order = NewOrder {
            district: sql(
                "SELECT d_tax, d_next_o_id FROM bmsql_district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
            ),
            customer: sql("SELECT c_discount, c_last, c_credit, w_tax FROM bmsql_customer \
                 JOIN bmsql_warehouse ON w_id = c_w_id WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"),
            next_order: sql(
                "UPDATE bmsql_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
            ),
            order: sql(
                "INSERT INTO bmsql_oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
                 VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)",
            ),
            waiting: sql("INSERT INTO bmsql_new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)"),
            item: sql("SELECT i_price, i_name, i_data FROM bmsql_item WHERE i_id = ?"),
            stock: sql(&format!(
                "SELECT s_quantity, s_data, {} FROM bmsql_stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
                dist.join(", ")
            )),
            take: sql(
                "UPDATE bmsql_stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
            ),
            line: sql("INSERT INTO bmsql_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
                ol_supply_w_id, \
                 ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, $)"),
        };
        let payment = Payment {
            pay_district: sql("UPDATE bmsql_district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?"),
            district: sql(
                "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM bmsql_district \
                 WHERE d_w_id = ? AND d_id = ?",
            ),
            pay_warehouse: sql("UPDATE bmsql_warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?"),
            warehouse: sql(
                "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM bmsql_warehouse \
                 WHERE w_id = ?",
            ),
            customer: sql(
                "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
                 c_phone, c_since, c_credit_lim, c_discount, c_balance FROM bmsql_customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
            ),
            pay_customer: sql("UPDATE bmsql_customer SET c_balance = c_balance - ?, \
                 c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"),
            data: sql("SELECT c_data FROM bmsql_customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"),
            pay_customer_with_data: sql("UPDATE bmsql_customer SET c_balance = c_balance - ?, \
                 c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, c_data = $ \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"),
            history: sql(
                "INSERT INTO bmsql_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
                 h_data) VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ?, $)",
            ),
        };
        let order_status = OrderStatus {
            customer: sql("SELECT c_first, c_middle, c_last, c_balance FROM bmsql_customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"),
            last_order: sql("SELECT o_id, o_entry_d, o_carrier_id FROM bmsql_oorder \
                 WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? AND o_id = \
                 (SELECT max(o_id) FROM bmsql_oorder WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?)"),
            lines: sql(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM bmsql_order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ? ORDER BY ol_w_id, ol_d_id, ol_o_id,
                     ol_number",
            ),
        };
        let delivery = Delivery {
            oldest: sql(
                "SELECT no_o_id FROM bmsql_new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id",
            ),
            take: sql("DELETE FROM bmsql_new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?"),
            carrier: sql(
                "UPDATE bmsql_oorder SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            ),
            customer: sql("SELECT o_c_id FROM bmsql_oorder WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?"),
            lines: sql("UPDATE bmsql_order_line SET ol_delivery_d = CURRENT_TIMESTAMP \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"),
            sum: sql(
                "SELECT sum(ol_amount) FROM bmsql_order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id \
                    = ?",
            ),
            pay: sql(
                "UPDATE bmsql_customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            ),
        };
        let by_last_name = sql(
            "SELECT c_id FROM bmsql_customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = $ ORDER BY c_first",
        );
        let stock_level =
            sql("SELECT count(*) FROM bmsql_stock WHERE s_w_id = ? AND s_quantity < ? AND s_i_id IN \
             (SELECT ol_i_id FROM bmsql_district JOIN bmsql_order_line ON ol_w_id = d_w_id AND ol_d_id = \
             d_id \
             AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id WHERE d_w_id = ? AND d_id = ?)");
        Self {
            begin: plain("BEGIN"),
            commit: plain("COMMIT"),
            rollback: plain("ROLLBACK"),
            new_order,
            payment,
            order_status,
            delivery,
            stock_level,
            by_last_name,
            parse: builder.parse,
        }
    }
}
